import type { Environment } from "../../base/environment.ts";
import type { Credential } from "../credentials/credential.ts";
import { tokenCredential } from "../credentials/token-credential.ts";
import type { TokenSources } from "../credentials/token-sources.ts";
import type { ProviderSettings } from "../settings.ts";
import { defaultAuthority, issueByEntra, issueByFederatedToken, resourceOf } from "./entra.ts";
import { issueByManagedIdentity } from "./managed-identity.ts";

/** The alternative to an API key; undefined if there is a key, or nothing at all. */
export function azureCredentials(
  { name, options }: ProviderSettings,
  tokens: TokenSources,
  env: Environment = process.env,
): readonly Credential[] | undefined {
  const { tenant_id: tenantId, client_id: clientId, client_secret: clientSecret, credentials } = options;
  const authority = options.authority ?? env["AZURE_AUTHORITY_HOST"] ?? defaultAuthority;
  if (tenantId !== undefined && clientId !== undefined && clientSecret !== undefined) {
    const application = { authority, tenantId, clientId };
    const basis = { issuer: "entra", ...application, clientSecret };
    const issue = (signal: AbortSignal) => issueByEntra(application, { client_secret: clientSecret }, signal);
    return [tokenCredential(tokens.source(name, basis, issue))];
  }
  if (credentials === "managed_identity") {
    const resource = resourceOf(authority);
    const basis = { issuer: "azure managed identity", resource, clientId };
    const issue = (signal: AbortSignal) => issueByManagedIdentity(resource, clientId, env, signal);
    return [tokenCredential(tokens.source(name, basis, issue))];
  }
  if (credentials === "workload_identity") {
    const application = {
      authority,
      tenantId: tenantId ?? env["AZURE_TENANT_ID"] ?? "",
      clientId: clientId ?? env["AZURE_CLIENT_ID"] ?? "",
    };
    const tokenFile = env["AZURE_FEDERATED_TOKEN_FILE"] ?? "";
    const basis = { issuer: "entra federated", ...application, tokenFile };
    const issue = (signal: AbortSignal) => issueByFederatedToken(application, tokenFile, signal);
    return [tokenCredential(tokens.source(name, basis, issue))];
  }
  return undefined;
}
