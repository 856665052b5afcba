import { assert } from "../../base/assert.ts";
import type { Credential, CredentialHeaders, CredentialUse } from "./credential.ts";
import type { TokenSource } from "./token-source.ts";

/** A token that is sent as headers. */
export interface HeaderToken {
  readonly headers: CredentialHeaders;
}

/** A credential whose headers are issued by a token host, and change every hour or so. */
export class TokenCredential implements Credential {
  readonly #source: TokenSource<HeaderToken>;

  constructor(source: TokenSource<HeaderToken>) {
    this.#source = source;
  }

  use(): CredentialUse {
    return new TokenUse(this.#source);
  }
}

class TokenUse implements CredentialUse {
  readonly #source: TokenSource<HeaderToken>;
  #token: HeaderToken | null;

  constructor(source: TokenSource<HeaderToken>) {
    this.#source = source;
    this.#token = source.current();
  }

  prepare(): Promise<void> | null {
    return this.#token === null ? this.#wait() : null;
  }

  headers(): CredentialHeaders {
    assert(this.#token !== null, "the token was waited for");
    return this.#token.headers;
  }

  accepted(): void {
    if (this.#token !== null) this.#source.accepted(this.#token);
  }

  expired(): boolean {
    return this.#token !== null && this.#source.expired(this.#token);
  }

  async #wait(): Promise<void> {
    this.#token = await this.#source.get();
  }
}
