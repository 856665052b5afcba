import { assert, assertAmount } from "../base/assert.ts";
import {
  type ChargedOutcome,
  type HeldFor,
  heldFor,
  type JournaledOutcome,
  type JournalItem,
  type PricedCharge,
  type StoredResponse,
  type UsageRecord,
} from "../store/store.ts";
import type { SettleParts } from "./account.ts";

export interface HoldRequest {
  readonly keyId: string;
  readonly exchangeId: string;
  readonly model: string;
  /** The model name in the request; null if it is the model's id. */
  readonly requestedModel: string | null;
  /** The request's labels, as `base/requests/labels.ts` writes them. */
  readonly labels: string | null;
  /** Nano-credits for credit keys, tokens for token-budget keys. */
  readonly amount: number;
  /** False if it does not count toward the key's limit of requests in flight. */
  readonly isInFlight?: boolean;
}

/** The fields that change when another model runs than the one that was held for. */
export type ReplacedHold = Pick<HoldRequest, "model" | "requestedModel" | "labels" | "amount">;

type HoldState = "open" | "settled" | "released";

type HoldParts = HoldRequest & HeldFor & { readonly openedAtMs: number };

/**
 * An amount set aside for one exchange. It ends exactly once, by `settle` or `release` of its accounts. Before anything is
 * produced, `replace` of its accounts may change what it is for.
 */
export class Hold implements HeldFor {
  /** The exchange's id: an exchange has one hold. */
  readonly id: string;
  readonly keyId: string;
  /** The account that is charged, even if the key moves meanwhile. */
  accountId: string;
  model: string;
  requestedModel: string | null;
  labels: string | null;
  amount: number;
  openedAtMs: number;
  /** Start of the budget period it was admitted in, and is charged to. */
  periodStartMs: number;
  /**
   * Decides which period of each cap it is charged to. Both times change only after a clock was ahead: see
   * `Ledger.returnToPresent`.
   */
  countedAtMs: number;
  /** The amount charged by `settle`; 0 before. */
  charged = 0;
  /** Its row was handed to the journal, with its progress or because it is parked. A shared database has a row for every hold. */
  hasRow = false;
  readonly isInFlight: boolean;
  /** It outlives its request and its process: the end of the request does not end it. */
  isParked = false;
  #state: HoldState = "open";
  #soFar: PricedCharge | null = null;

  constructor(parts: HoldParts) {
    const { exchangeId, keyId, accountId, model, requestedModel, amount, openedAtMs } = parts;
    this.id = exchangeId;
    this.keyId = keyId;
    this.accountId = accountId;
    this.model = model;
    this.requestedModel = requestedModel;
    this.labels = parts.labels;
    this.amount = amount;
    this.openedAtMs = openedAtMs;
    this.periodStartMs = parts.periodStartMs;
    this.countedAtMs = parts.countedAtMs;
    this.isInFlight = parts.isInFlight !== false;
  }

  /** The fields that its charge takes over. */
  get terms(): HeldFor {
    return heldFor(this);
  }

  get state(): HoldState {
    return this.#state;
  }

  /** The charge if no more output follows; null before its first progress. */
  get soFar(): PricedCharge | null {
    return this.#soFar;
  }

  /** Called when its accounts have replaced its reservation by this one. */
  replaceBy(parts: Omit<HoldParts, "exchangeId" | "keyId">): void {
    assert(this.#state === "open" && this.#soFar === null, "a hold is replaced before anything is produced");
    Object.assign(this, parts);
  }

  /** False if it has already ended. Then nothing changes. */
  end(state: "settled" | "released"): boolean {
    if (this.#state !== "open") return false;
    this.#state = state;
    return true;
  }

  /** False if there is nothing new to note. */
  progress(soFar: PricedCharge): boolean {
    if (this.#state !== "open" || soFar.cost <= (this.#soFar?.cost ?? 0)) return false;
    assertAmount(soFar.cost, "cost so far");
    this.#soFar = soFar;
    return true;
  }
}

/** A usage record passed to the ledger, which fills in the amount charged. */
export interface PendingRecord extends UsageRecord {
  costNano: number;
}

export interface Settlement extends ChargedOutcome {
  readonly record: PendingRecord | null;
}

/** The hold that ends, and its usage record with what was charged. */
export interface EndedFor {
  readonly holdId: string;
  readonly hasRow: boolean;
  readonly held: HeldFor;
  readonly atMs: number;
  readonly record: UsageRecord | null;
}

/** A shared database gets the response in the form that it stores. */
type Outcome = Omit<JournaledOutcome, "record" | "response"> & { readonly response?: StoredResponse | null };

/** The records that a charge writes, in every store. */
export function settleItem(
  { holdId, hasRow, held, atMs, record }: EndedFor,
  outcome: Outcome,
  { charged, owed, owedAt, overrun }: SettleParts,
): JournalItem & { kind: "settle" } {
  return {
    kind: "settle",
    holdId,
    hasRow,
    charge: {
      ...held,
      exchangeId: holdId,
      atMs,
      charged,
      owed,
      owedAt,
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
