import type { Database, Statement } from "bun:sqlite";
import { utcDay } from "../../../base/clock.ts";
import { unaffordableNano } from "../../../base/money/money.ts";

/** What a charge adds to the sums of its key. */
export interface KeyCharge {
  readonly keyNo: number;
  readonly atMs: number;
  readonly charged: number;
  /** Null without a usage record; the tokens are 0 then. */
  readonly costNano: number | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

interface KeyDelta {
  readonly keyNo: number;
  readonly day: number;
  charged: number;
  requests: number;
  inputTokens: number;
  outputTokens: number;
  lastCostNano: number | null;
}

/** Adds up what charges change in the sums of their keys. */
export class KeySums {
  #latest = new Map<number, KeyDelta>();
  /** In the order of their charges. */
  readonly #deltas: KeyDelta[] = [];
  readonly #update: Statement;

  constructor(database: Database) {
    this.#update = database.query(updateKey);
  }

  add({ keyNo, atMs, charged, costNano, inputTokens, outputTokens }: KeyCharge): void {
    const delta = this.#deltaOf(keyNo, utcDay(atMs));
    delta.charged += charged;
    if (costNano === null) return;
    delta.requests += 1;
    delta.inputTokens += inputTokens;
    delta.outputTokens += outputTokens;
    delta.lastCostNano = costNano;
  }

  /** Inside the caller's transaction; `clear` follows once that is committed. */
  write(): void {
    for (const { keyNo, day, charged, requests, inputTokens, outputTokens, lastCostNano } of this.#deltas) {
      this.#update.run(charged, day, requests, inputTokens, outputTokens, lastCostNano, keyNo);
    }
  }

  clear(): void {
    this.#latest = new Map();
    this.#deltas.length = 0;
  }

  /** One for each day; and one more before a double cannot hold its sum exactly. */
  #deltaOf(keyNo: number, day: number): KeyDelta {
    const known = this.#latest.get(keyNo);
    if (known !== undefined && known.day === day && known.charged <= unaffordableNano) return known;
    const none = { charged: 0, requests: 0, inputTokens: 0, outputTokens: 0, lastCostNano: null };
    const delta: KeyDelta = { keyNo, day, ...none };
    this.#latest.set(keyNo, delta);
    this.#deltas.push(delta);
    return delta;
  }
}

const updateKey = `
UPDATE key_sums SET
  spent = spent + ?1,
  day_spend = CASE WHEN ?2 = day THEN day_spend + ?1 WHEN ?2 > day THEN ?1 ELSE day_spend END,
  day = max(day, ?2),
  requests = requests + ?3,
  input_tokens = input_tokens + ?4,
  output_tokens = output_tokens + ?5,
  last_cost_nano = coalesce(?6, last_cost_nano)
WHERE key_no = ?7`;
