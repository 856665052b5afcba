import type { Environment } from "../../base/environment.ts";
import { CredentialUnavailable } from "../credentials/credential.ts";
import type { HeaderToken } from "../credentials/token-credential.ts";
import { askTokenHost, bearerTokenIn } from "../credentials/token-host.ts";
import type { Issued } from "../credentials/token-source.ts";

/** Google's own libraries read this variable as well. */
function addressOf(env: Environment): string {
  return `http://${env["GCE_METADATA_HOST"] ?? "metadata.google.internal"}/computeMetadata/v1`;
}

/** The token of the machine that the gateway runs on. https://cloud.google.com/compute/docs/metadata */
export async function issueByMetadata(env: Environment, signal: AbortSignal): Promise<Issued<HeaderToken>> {
  const answer = await askTokenHost(
    {
      method: "GET",
      url: `${addressOf(env)}/instance/service-accounts/default/token`,
      headers: { "metadata-flavor": "Google" },
      isLocal: true,
    },
    signal,
  );
  if (answer.status === 200) return bearerTokenIn(answer);
  throw new CredentialUnavailable(
    answer.status === 404
      ? "this machine has no service account; give it one"
      : `the metadata server answered ${answer.status}`,
  );
}
