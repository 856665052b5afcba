import { assert } from "../../base/assert.ts";
import type { CredentialHeaders, CredentialUse } from "./credential.ts";
import type { TokenSource } from "./token-source.ts";

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
