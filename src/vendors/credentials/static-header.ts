import type { Credential, CredentialHeaders, CredentialUse } from "./credential.ts";

/** How a vendor takes an API key: as one header, the same for every request. */
export type KeyScheme = (apiKey: string) => CredentialHeaders;

export const bearer: KeyScheme = (apiKey) => ({ authorization: `Bearer ${apiKey}` });

/** By the names that the configuration's `auth` has for them. */
export const keySchemes = {
  bearer,
  "x-api-key": (apiKey) => ({ "x-api-key": apiKey }),
  "api-key": (apiKey) => ({ "api-key": apiKey }),
} as const satisfies Readonly<Record<string, KeyScheme>>;

/** A credential that never changes. */
export class StaticCredential implements Credential, CredentialUse {
  readonly id: string;
  readonly #headers: CredentialHeaders;

  constructor(headers: CredentialHeaders) {
    this.id = Bun.SHA256.hash(Object.values(headers).join("\n"), "hex").slice(0, 16);
    this.#headers = headers;
  }

  use(): CredentialUse {
    return this;
  }

  prepare(): null {
    return null;
  }

  headers(): CredentialHeaders {
    return this.#headers;
  }

  accepted(): void {}

  expired(): boolean {
    return false;
  }
}
