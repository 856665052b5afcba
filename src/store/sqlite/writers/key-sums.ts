import type { Database, Statement } from "bun:sqlite";
import { utcDay } from "../../../base/clock.ts";
import { totalInput } from "../../../base/usage/usage.ts";
import type { ChargeEntry, UsageRecord } from "../../records.ts";
import { laterUsed } from "../later-used.ts";

interface Delta {
  readonly keyNo: number;
  readonly day: number;
  spent: number;
  requests: number;
  inputTokens: number;
  outputTokens: number;
  lastCostNano: number | null;
}

/** Adds up what a batch changes in the totals of each key, so that each key is updated once per batch. */
export class KeySums {
  readonly #byKey = new Map<number, Delta>();
  readonly #update: Statement;

  constructor(database: Database) {
    this.#update = database.query(updateKey);
  }

  add(keyNo: number, { charged, atMs }: ChargeEntry, record: UsageRecord | null): void {
    const delta = this.#deltaOf(keyNo, utcDay(atMs), charged);
    delta.spent += charged;
    if (record === null) return;
    delta.requests += 1;
    delta.inputTokens += totalInput(record.usage);
    delta.outputTokens += record.usage.outputTokens;
    delta.lastCostNano = record.costNano;
  }

  /** Must run inside the batch's transaction. */
  write(): void {
    for (const delta of this.#byKey.values()) this.#apply(delta);
    this.forget();
  }

  /** Call it after a rollback. */
  forget(): void {
    this.#byKey.clear();
  }

  /** A delta belongs to one day. Another day, or a sum that a double cannot hold exactly, is written at once. */
  #deltaOf(keyNo: number, day: number, charged: number): Delta {
    const known = this.#byKey.get(keyNo);
    if (known !== undefined) {
      if (known.day === day && Number.isSafeInteger(known.spent + charged)) return known;
      this.#apply(known);
    }
    const delta = { keyNo, day, spent: 0, requests: 0, inputTokens: 0, outputTokens: 0, lastCostNano: null };
    this.#byKey.set(keyNo, delta);
    return delta;
  }

  #apply({ keyNo, day, spent, requests, inputTokens, outputTokens, lastCostNano }: Delta): void {
    this.#update.run(keyNo, day, spent, requests, inputTokens, outputTokens, lastCostNano);
  }
}

/** A day that begins takes what a clock that was ahead has spent on it before. */
const updateKey = `
UPDATE key_sums SET day = max(day, ?2), day_spend = iif(?2 > day, ${laterUsed("later_spend", "= ?2")}, day_spend) + iif(?2 >= day, ?3, 0), spent = spent + ?3,
  requests = requests + ?4, input_tokens = input_tokens + ?5, output_tokens = output_tokens + ?6,
  last_cost_nano = coalesce(?7, last_cost_nano)
WHERE key_no = ?1`;
