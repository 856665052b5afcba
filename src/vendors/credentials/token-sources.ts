import { type Clock, systemClock } from "../../base/clock.ts";
import type { CredentialUnavailable } from "./credential.ts";
import { type Issue, TokenSource } from "./token-source.ts";

export interface TokenSourcesOptions {
  readonly clock?: Clock;
  /** A token could not be refreshed in the background. `account` is what the operator calls the provider. */
  onRefreshFailed?(account: string, error: CredentialUnavailable): void;
}

interface Entry {
  readonly source: TokenSource<object>;
  isUsed: boolean;
}

/**
 * The token sources of all providers, by what their tokens are issued for. It outlives a reload of the configuration:
 * a provider with the same credentials keeps using the tokens it has.
 */
export class TokenSources {
  readonly #clock: Clock;
  readonly #onRefreshFailed: NonNullable<TokenSourcesOptions["onRefreshFailed"]>;
  readonly #entries = new Map<string, Entry>();

  constructor({ clock = systemClock, onRefreshFailed = () => {} }: TokenSourcesOptions = {}) {
    this.#clock = clock;
    this.#onRefreshFailed = onRefreshFailed;
  }

  /**
   * The source for these credentials. `basis` is everything that its tokens depend on; two providers with the same basis
   * share one. The kind of token is part of the basis, which is why the cast below holds.
   */
  source<Token extends object>(
    account: string,
    basis: { readonly issuer: string; readonly [name: string]: unknown },
    issue: Issue<Token>,
  ): TokenSource<Token> {
    const key = new Bun.CryptoHasher("sha256").update(JSON.stringify(basis)).digest("hex");
    const entry = this.#entries.getOrInsertComputed(key, () => {
      const onRefreshFailed = (error: CredentialUnavailable) => this.#onRefreshFailed(account, error);
      const source = new TokenSource<Token>(issue, { clock: this.#clock, onRefreshFailed });
      return { source: source as TokenSource<object>, isUsed: true };
    });
    entry.isUsed = true;
    return entry.source as TokenSource<Token>;
  }

  /** Stops sources that were not requested since the last call: the configuration no longer uses them. */
  stopUnused(): void {
    for (const [key, entry] of this.#entries) {
      if (entry.isUsed) entry.isUsed = false;
      else {
        entry.source.stop();
        this.#entries.delete(key);
      }
    }
  }

  stop(): void {
    for (const { source } of this.#entries.values()) source.stop();
    this.#entries.clear();
  }
}
