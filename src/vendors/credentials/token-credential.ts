import { assert } from "../../base/assert.ts";
import { type Credential, type CredentialHeaders, type CredentialUse, onlyCredential } from "./credential.ts";
import type { TokenSource } from "./token-source.ts";

/** A token that is sent as headers. */
export interface HeaderToken {
  readonly headers: CredentialHeaders;
}

/** One request's use of a temporary credential: the current one, or one that it has waited for. */
export abstract class TokenUse<Token extends object> implements CredentialUse {
  readonly #source: TokenSource<Token>;
  #token: Token | null;

  constructor(source: TokenSource<Token>) {
    this.#source = source;
    this.#token = source.current();
  }

  abstract headers(): CredentialHeaders;

  protected get token(): Token {
    assert(this.#token !== null, "the token was waited for");
    return this.#token;
  }

  prepare(): Promise<void> | null {
    return this.#token === null ? this.#wait() : null;
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

class HeaderTokenUse extends TokenUse<HeaderToken> {
  headers(): CredentialHeaders {
    return this.token.headers;
  }
}

/** A credential whose headers are issued by a token host, and change every hour or so. */
export function tokenCredential(source: TokenSource<HeaderToken>): Credential {
  return { id: onlyCredential, use: () => new HeaderTokenUse(source) };
}
