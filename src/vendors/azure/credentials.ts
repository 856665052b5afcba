import type { Environment } from "../../base/system/environment.ts";
import { type Credential, CredentialUnavailable } from "../credentials/credential.ts";
import { type HeaderToken, tokenCredential } from "../credentials/token-credential.ts";
import { bearerTokenIn, callTokenHost, type TokenRequest } from "../credentials/token-host.ts";
import type { IssuedToken } from "../credentials/token-source.ts";
import type { TokenSources } from "../credentials/token-sources.ts";
import type { ProviderSettings } from "../provider.ts";
import { defaultAuthority, issueByEntra, issueByFederatedToken, resourceOf } from "./entra.ts";

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

/** https://learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token */
const metadataServer = "http://169.254.169.254/metadata/identity/oauth2/token";

/** The token of the machine or the app that the gateway runs on. */
async function issueByManagedIdentity(
  resource: string,
  clientId: string | undefined,
  env: Environment,
  signal: AbortSignal,
): Promise<IssuedToken<HeaderToken>> {
  const answer = await callTokenHost(requestFor(resource, clientId, env), signal);
  if (answer.status === 200) return bearerTokenIn(answer);
  throw new CredentialUnavailable(
    answer.status === 400 && clientId === undefined
      ? "this machine has no managed identity, or several; assign one, or set client_id"
      : `the managed identity's host returned ${answer.status}`,
  );
}

/** App Service, Functions and Container Apps have an endpoint of their own. */
function requestFor(resource: string, clientId: string | undefined, env: Environment): TokenRequest {
  const { IDENTITY_ENDPOINT: endpoint, IDENTITY_HEADER: header } = env;
  const isApp = endpoint !== undefined && header !== undefined;
  const url = new URL(isApp ? endpoint : metadataServer);
  url.searchParams.set("api-version", isApp ? "2019-08-01" : "2018-02-01");
  url.searchParams.set("resource", resource);
  if (clientId !== undefined) url.searchParams.set("client_id", clientId);
  const headers = isApp ? { "x-identity-header": header } : { metadata: "true" };
  return { method: "GET", url: url.href, headers, isLocal: true };
}
