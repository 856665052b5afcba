import type { HeldFor, JournaledOutcome, JournalItem, StoredResponse, UsageRecord } from "../store/store.ts";
import type { SettleParts } from "./account.ts";

/** The hold that ends, and its usage record with what was charged. */
export interface EndedFor {
  readonly holdId: string;
  readonly hasProgress: boolean;
  readonly held: HeldFor;
  readonly atMs: number;
  readonly record: UsageRecord | null;
}

/** A shared database gets the response in the form that it stores. */
type Outcome = Omit<JournaledOutcome, "record" | "response"> & { readonly response?: StoredResponse | null };

/** The records that a charge writes, in every store. */
export function settleItem(
  { holdId, hasProgress, held, atMs, record }: EndedFor,
  outcome: Outcome,
  { charged, owed, overrun }: SettleParts,
): JournalItem & { kind: "settle" } {
  return {
    kind: "settle",
    holdId,
    hasProgress,
    charge: {
      ...held,
      exchangeId: holdId,
      atMs,
      charged,
      owed,
      overrun,
      basis: outcome.basis,
      outcome: outcome.outcome,
      provider: outcome.provider,
      rates: outcome.rates,
      quantities: outcome.quantities,
      listCostNano: outcome.listCostNano,
    },
    record,
    response: outcome.response ?? null,
    turns: outcome.turns,
    outcomeRecord: outcome.outcomeRecord && { ...outcome.outcomeRecord, atMs },
    attempts: outcome.attempts,
  };
}
