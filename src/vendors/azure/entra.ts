import { rememberIssuedSecret } from "../../base/secrets/secrets.ts";
import { clockProblem } from "../credentials/clock-problem.ts";
import { CredentialUnavailable } from "../credentials/credential.ts";
import type { HeaderToken } from "../credentials/token-credential.ts";
import {
  bearerTokenIn,
  callTokenHost,
  readTokenFile,
  type TokenResponse,
} from "../credentials/token-host.ts";
import type { IssuedToken } from "../credentials/token-source.ts";

export const defaultAuthority = "https://login.microsoftonline.com";

/** The resource that tokens are issued for, by the cloud that the authority belongs to. */
export function resourceOf(authority: string): string {
  if (authority.endsWith(".us")) return "https://cognitiveservices.azure.us";
  return authority.endsWith(".cn")
    ? "https://cognitiveservices.azure.cn"
    : "https://cognitiveservices.azure.com";
}

export interface EntraApplication {
  readonly authority: string;
  readonly tenantId: string;
  readonly clientId: string;
}

/** A token file written by the platform replaces the secret, as on Kubernetes. */
export async function issueByFederatedToken(
  application: EntraApplication,
  tokenFile: string,
  signal: AbortSignal,
): Promise<IssuedToken<HeaderToken>> {
  const assertion = await readTokenFile(tokenFile, "the file in AZURE_FEDERATED_TOKEN_FILE");
  rememberIssuedSecret(assertion);
  return issueByEntra(
    application,
    {
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      client_assertion: assertion,
    },
    signal,
  );
}

/** `proof` is the application's secret, or what replaces it. https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow */
export async function issueByEntra(
  { authority, tenantId, clientId }: EntraApplication,
  assertion: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<IssuedToken<HeaderToken>> {
  const answer = await callTokenHost(
    {
      method: "POST",
      url: `${authority.replace(/\/+$/, "")}/${encodeURIComponent(tenantId)}/oauth2/v2.0/token`,
      form: {
        grant_type: "client_credentials",
        client_id: clientId,
        scope: `${resourceOf(authority)}/.default`,
        ...assertion,
      },
    },
    signal,
  );
  if (answer.status === 200) return bearerTokenIn(answer);
  throw new CredentialUnavailable(`Entra ${whyRejected(answer)}`);
}

/** Entra's error numbers that an operator can act on. https://learn.microsoft.com/entra/identity-platform/reference-error-codes */
const reasons: ReadonlyMap<number, string> = new Map([
  [7000215, "rejects client_secret; use the secret's value, not its id"],
  [7000222, "reports that client_secret has expired; create a new one"],
  [700016, "does not know client_id in this tenant"],
  [90002, "does not know tenant_id"],
  [900023, "does not know tenant_id"],
  [700024, "reports that the federated token is not valid now; check the clock"],
  [70021, "has no federated identity for this workload"],
  [700213, "has no federated identity for this workload"],
]);

function whyRejected(answer: TokenResponse): string {
  const codes = Array.isArray(answer.body["error_codes"]) ? answer.body["error_codes"] : [];
  for (const code of codes) {
    const reason = typeof code === "number" ? reasons.get(code) : undefined;
    if (reason !== undefined) return reason;
  }
  const clock = clockProblem(answer.clockBehindMs);
  const advice = clock ?? "check tenant_id, client_id and client_secret";
  return answer.status < 500
    ? `did not issue a token (${answer.status}); ${advice}`
    : `returned ${answer.status}`;
}
