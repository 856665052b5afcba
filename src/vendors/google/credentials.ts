import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../base/clock.ts";
import { rememberDocument } from "../../base/secrets/remember-document.ts";
import type { Environment } from "../../base/system/environment.ts";
import { type Credential, CredentialUnavailable } from "../credentials/credential.ts";
import { type HeaderToken, tokenCredential } from "../credentials/token-credential.ts";
import { bearerTokenIn, callTokenHost, readTokenFile } from "../credentials/token-host.ts";
import type { IssuedToken } from "../credentials/token-source.ts";
import type { TokenSources } from "../credentials/token-sources.ts";
import { issueByFederation } from "./external-account.ts";
import { issueByKey, readGoogleKey } from "./service-account.ts";

/** Values of `credentials` in place of a key file. */
export const googleCredentialKeywords = ["metadata", "adc"] as const;

/** `credentials` is a key file's text, or one of these keywords. */
export function googleCredential(
  provider: string,
  credentials: string,
  tokens: TokenSources,
  env: Environment = process.env,
): Credential {
  const basis = { issuer: "google", credentials };
  const issue = (signal: AbortSignal) => {
    if (credentials === "metadata") return issueByMetadata(env, signal);
    return credentials === "adc" ? issueByDefault(env, signal) : issueByText(credentials, env, signal);
  };
  return tokenCredential(tokens.source(provider, basis, issue));
}

async function issueByText(
  text: string,
  env: Environment,
  signal: AbortSignal,
): Promise<IssuedToken<HeaderToken>> {
  const key = readGoogleKey(text);
  if (typeof key === "string") throw new CredentialUnavailable(`the key file ${key}`);
  if (key.type === "external_account") return issueByFederation(key, env, signal);
  return issueByKey(key, systemClock.wallMs(), signal);
}

/** Application default credentials: the file that a variable names, gcloud's own, or the metadata server. */
async function issueByDefault(env: Environment, signal: AbortSignal): Promise<IssuedToken<HeaderToken>> {
  const credentialsFile = env["GOOGLE_APPLICATION_CREDENTIALS"];
  if (credentialsFile) {
    const text = await readTokenFile(credentialsFile, "the file in GOOGLE_APPLICATION_CREDENTIALS");
    return issueByFile(text, env, signal);
  }
  const folder = env["CLOUDSDK_CONFIG"] ?? join(env["HOME"] ?? homedir(), ".config", "gcloud");
  const file = join(folder, "application_default_credentials.json");
  const text = await readFile(file, "utf8").catch(() => null);
  return text === null ? issueByMetadata(env, signal) : issueByFile(text, env, signal);
}

/** The loader of the configuration has not seen this file. */
function issueByFile(text: string, env: Environment, signal: AbortSignal): Promise<IssuedToken<HeaderToken>> {
  rememberDocument(text);
  return issueByText(text, env, signal);
}

/** The token of the machine that the gateway runs on. https://cloud.google.com/compute/docs/metadata */
async function issueByMetadata(env: Environment, signal: AbortSignal): Promise<IssuedToken<HeaderToken>> {
  // Google's own libraries read this variable as well.
  const host = env["GCE_METADATA_HOST"] ?? "metadata.google.internal";
  const answer = await callTokenHost(
    {
      method: "GET",
      url: `http://${host}/computeMetadata/v1/instance/service-accounts/default/token`,
      headers: { "metadata-flavor": "Google" },
      isLocal: true,
    },
    signal,
  );
  if (answer.status === 200) return bearerTokenIn(answer);
  throw new CredentialUnavailable(
    answer.status === 404
      ? "this machine has no service account; assign one"
      : `the metadata server returned ${answer.status}`,
  );
}
