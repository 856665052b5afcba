import { assert } from "../base/assert.ts";
import { GatewayError } from "../base/errors.ts";
import { noUsage, totalTokens, type Usage, type UsageBasis } from "../base/usage.ts";
import { cost } from "../catalog/price.ts";
import type { Hold, Ledger } from "../ledger/ledger.ts";
import type { KeyRecord, Outcome, StoredResponse } from "../store/store.ts";
import type { Exchange } from "./exchange.ts";
import type { Produced } from "./produced.ts";

/** Counts text and requests with the local tokenizer; never rejects. */
export interface TokenCounter {
  text(texts: string[]): Promise<number>;
  request(body: Uint8Array): Promise<number>;
}

/** What is known of the call's tokens when it ends. */
export interface Evidence {
  /** The provider's final figures. */
  readonly usage: Usage | null;
  /** What it had told before the stream broke off. */
  readonly partialUsage: Usage | null;
  readonly produced: Produced;
  readonly requestBytes: Uint8Array;
}

/** What a bill needs of the gateway. */
export interface BillTerms {
  readonly ledger: Ledger;
  readonly tokens: TokenCounter;
}

/**
 * The money side of one exchange, from its hold to its end. It ends exactly once: whoever calls second
 * finds the hold closed and changes nothing.
 */
export class Bill {
  readonly #terms: BillTerms;
  readonly #microUsdPerCredit: number;
  readonly #exchange: Exchange;
  readonly #key: KeyRecord;
  readonly #hold: Hold;

  constructor(terms: BillTerms, microUsdPerCredit: number, exchange: Exchange, key: KeyRecord, hold: Hold) {
    this.#terms = terms;
    this.#microUsdPerCredit = microUsdPerCredit;
    this.#exchange = exchange;
    this.#key = key;
    this.#hold = hold;
  }

  get isOpen(): boolean {
    return this.#hold.state === "open";
  }

  /** Gives the hold back; nothing is charged. A provider's failure is counted in the operator's figures. */
  release(error?: unknown): void {
    const isProvidersFault = error instanceof GatewayError && error.status >= 500;
    this.#terms.ledger.release(this.#hold, isProvidersFault ? this.#exchange.failure() : undefined);
  }

  /** Journals what has been produced so far, so that a crash does not give it away. */
  progress(produced: Produced, told: Usage | null, estimatedInput: number): void {
    const input = told ?? { ...noUsage, inputTokens: estimatedInput };
    const outputTokens = Math.max(input.outputTokens, produced.estimate());
    this.#terms.ledger.progress(this.#hold, this.#costOf({ ...input, outputTokens }));
  }

  /** Charges for the call; resolves when that is durable, and never throws. What the provider has counted is charged at once. */
  settle(
    outcome: Outcome,
    evidence: Evidence,
    status: number,
    response: StoredResponse | null,
  ): Promise<unknown> {
    const told = evidence.usage;
    if (told !== null) {
      try {
        return this.#charge(outcome, told, "measured", status, response);
      } catch (error) {
        return Promise.reject(error);
      }
    }
    return count(evidence, this.#terms.tokens).then((usage) =>
      this.#charge(outcome, usage, "estimated", status, response),
    );
  }

  #charge(
    outcome: Outcome,
    usage: Usage,
    basis: UsageBasis,
    status: number,
    response: StoredResponse | null,
  ): Promise<unknown> {
    const exchange = this.#exchange;
    exchange.usage = usage;
    exchange.basis = basis;
    const settling = this.#terms.ledger.settle(this.#hold, {
      cost: this.#costOf(usage),
      basis,
      outcome,
      record: outcome === "cancelled" ? null : exchange.usageRecord(outcome, status),
      response,
    });
    exchange.charged = this.#hold.charged;
    return settling;
  }

  #costOf(usage: Usage): number {
    if (this.#key.mode === "token_budget") return totalTokens(usage);
    assert(this.#exchange.deployment !== null, "what a call costs depends on who has answered it");
    return cost(usage, this.#exchange.deployment.price, this.#microUsdPerCredit);
  }
}

/**
 * Where the provider has not told its own figures (an explicit 0 is one): a local count of what was really
 * received; after a stream that broke off, the provider's figures for the input and a count of the output.
 */
async function count(evidence: Evidence, tokens: TokenCounter): Promise<Usage> {
  const counted = await evidence.produced.count(tokens.text);
  const told = evidence.partialUsage;
  if (told !== null) return { ...told, outputTokens: Math.max(told.outputTokens, counted) };
  const inputTokens = await tokens.request(evidence.requestBytes);
  return { ...noUsage, inputTokens, outputTokens: counted };
}
