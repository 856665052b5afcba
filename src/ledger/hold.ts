import type { UsageBasis } from "../base/usage.ts";
import type { ExchangeEnding, Outcome, StoredResponse, UsageRecord } from "../store/store.ts";
import type { Account } from "./account.ts";

export interface HoldRequest {
  readonly keyId: string;
  readonly exchangeId: string;
  readonly model: string;
  /** Nano-credits for credit keys, tokens for token-budget keys. */
  readonly amount: number;
}

export interface Hold {
  /** The same as the exchange's: an exchange has one hold. */
  readonly id: string;
  readonly keyId: string;
  readonly amount: number;
  /** Start of the budget period it was admitted in, and is charged to. */
  readonly periodStartMs: number;
  readonly state: "open" | "settled" | "released";
  /** What settling it took from the balance; 0 before. */
  readonly charged: number;
}

/**
 * A usage record that is handed over to the ledger, which writes into it this settlement's outcome and basis, and
 * what was really charged.
 */
export interface RecordInMaking extends UsageRecord {
  outcome: Outcome;
  basis: UsageBasis;
  costNano: number;
}

export interface Settlement {
  /** The real cost: nano-credits, or tokens for token-budget keys. */
  readonly cost: number;
  readonly basis: UsageBasis;
  readonly outcome: Outcome;
  /** Who was asked last. */
  readonly provider: string;
  /** What the use of a token-budget key would have cost; null for credit keys, and where there is no price. */
  readonly listCostNano: number | null;
  readonly record: RecordInMaking | null;
  readonly response: StoredResponse | null;
  /** Null for an exchange that completed at the first attempt. */
  readonly ending: ExchangeEnding | null;
}

/** A hold as the ledger itself sees it. */
export interface OpenHold extends Hold {
  state: Hold["state"];
  charged: number;
  readonly account: Account;
  readonly model: string;
  readonly openedAtMs: number;
  chargeSoFar: number;
  /** Monotonic time of the last progress handed to the journal; null when there is no row. */
  journaledAtMs: number | null;
}
