import { issueByChain } from "../aws/chain.ts";
import { fixedAwsCredential, issuedAwsCredential } from "../aws/signing-credential.ts";
import type { Credential } from "../credentials/credential.ts";
import type { TokenSources } from "../credentials/token-sources.ts";
import type { ProviderSettings } from "../settings.ts";

/** The alternative to an API key; undefined if there is a key, or nothing at all. */
export function bedrockCredentials(
  { name, options }: ProviderSettings,
  tokens: TokenSources,
): readonly Credential[] | undefined {
  const { region = "", access_key_id: id, secret_access_key: secret, session_token: token } = options;
  const scope = { region, service: options.endpoint === "mantle" ? "bedrock-mantle" : "bedrock" };
  if (id !== undefined && secret !== undefined) {
    const key = { accessKeyId: id, secretAccessKey: secret, sessionToken: token ?? null };
    return [fixedAwsCredential(key, scope)];
  }
  if (options.credentials !== "chain") return undefined;
  const source = tokens.source(name, { issuer: "aws chain", region }, issueByChain(region));
  return [issuedAwsCredential(source, scope)];
}
