import { type Credential, type CredentialHeaders, fixedCredential } from "./credential.ts";

/** A vendor's scheme for an API key: one header, the same for every request. */
export type KeyScheme = (apiKey: string) => CredentialHeaders;

export const bearer: KeyScheme = (apiKey) => ({ authorization: `Bearer ${apiKey}` });

/** By the names in the configuration's `auth`. */
export const keySchemes = {
  bearer,
  "x-api-key": (apiKey) => ({ "x-api-key": apiKey }),
  "api-key": (apiKey) => ({ "api-key": apiKey }),
} as const satisfies Readonly<Record<string, KeyScheme>>;

/** An API key as a credential. */
export function keyCredential(headers: CredentialHeaders): Credential {
  const id = Bun.SHA256.hash(Object.values(headers).join("\n"), "hex").slice(0, 16);
  return fixedCredential(id, { headers: () => headers });
}
