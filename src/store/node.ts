import type { StoreStats, Trouble } from "./health.ts";
import type {
  AccountRecord,
  BudgetPeriod,
  CapRecord,
  CapTotals,
  ChargedEnding,
  HeldFor,
  PricedCharge,
  Totals,
} from "./records.ts";
import type { PostgresLocation } from "./settings.ts";
import type { ResponseScope } from "./store.ts";

/** How a gateway joins a database that several share. */
export interface NodeSettings {
  readonly location: PostgresLocation;
  /** For people. Several nodes may have the same. */
  readonly name: string;
  readonly version: string;
  /** The data folder: charges that the database has not acknowledged are kept there. */
  readonly dir: string;
  readonly timing?: NodeTiming | undefined;
  readonly report: (event: NodeEvent) => void;
}

export interface NodeTiming {
  /** How long a node counts as alive after its last sign of life. */
  readonly leaseMs: number;
  /** How long others wait beyond that before they take it over. */
  readonly graceMs: number;
  readonly beatMs: number;
  /** After this a connection counts as dead: the same batch is sent again on a new one. */
  readonly answerMs: number;
}

export const usualTiming: NodeTiming = { leaseMs: 15_000, graceMs: 5_000, beatMs: 1_000, answerMs: 4_000 };

/** What operators should read in the log, by the names that it has there. */
export type NodeEvent =
  | { readonly kind: "joined"; readonly node: number }
  | { readonly kind: "fenced"; readonly node: number }
  | { readonly kind: "took_over"; readonly nodes: readonly number[] }
  | { readonly kind: "cleared"; readonly ended: number; readonly charged: number }
  /** Charges that an earlier process could not make. */
  | { readonly kind: "made_up"; readonly charges: number }
  | { readonly kind: "rejected"; readonly exchange: string; readonly err: unknown }
  /** Another session keeps the key's account locked, so its requests wait and are then refused. */
  | { readonly kind: "blocked"; readonly key: string }
  /** The file for unacknowledged charges cannot be written. */
  | { readonly kind: "unkept"; readonly err: unknown }
  | { readonly kind: "clock_differs"; readonly by_ms: number };

/**
 * One gateway's connection to a database that several share, and that decides about money itself. It has joined under a
 * number that is never used twice. If it does not give a sign of life for too long, another node takes over what it
 * held; it finds itself fenced then, and joins anew.
 */
export interface StoreNode {
  /** Changes when it had to join anew. */
  readonly no: number;
  /** Why no new work may begin; null while it may. */
  readonly trouble: Trouble | null;
  /** What the database's clock, which decides, is ahead of this machine's; 0 while they agree. */
  readonly clockOffsetMs: number;
  readonly stats: Readonly<StoreStats>;

  /** Rejects with `NodeUnavailable` if the database does not answer for about a second. */
  hold(request: HoldOrder): Promise<HoldVerdict>;
  /** Is journaled with the next batch; nobody waits for it. */
  progress(holdId: string, soFar: ProducedSoFar): void;
  /**
   * Ends the hold; resolves when the charge is durable. Rejects with `NodeUnavailable` if that takes too long; the charge
   * is made nevertheless as soon as it can be, at the latest at the next start.
   */
  settle(request: ChargeOrder): Promise<Charged>;
  /** Its row goes with the next batch; nobody waits for it. */
  release(holdId: string, keyId: string): void;

  /** Rejects with `NodeUnavailable`, as `hold` does. */
  claim(request: ClaimOrder): Promise<ClaimVerdict>;
  /**
   * Gives a claim back, unless a charge that stores its response is still on its way. Resolves when others can claim it, or if that
   * takes too long.
   */
  endClaim(claim: ClaimName): Promise<void> | undefined;

  /** Asks for as many tokens of each bucket, or of none. Rejects with `NodeUnavailable`, as `hold` does. */
  takeTokens(buckets: readonly TokenBucket[], amount: number): Promise<TokenVerdict>;
  /** Gives tokens back to each bucket, or takes more if below 0. Nobody waits for it, and it may be lost. */
  returnTokens(buckets: readonly TokenBucket[], unused: number): void;

  /** The accounts of these keys, in their order. */
  readAccounts(keyIds: readonly string[]): Promise<readonly (AccountState | null)[]>;

  /** What would be lost, or made up for only at the next start, if the process ended now; in sentences. */
  describeLosses(): readonly string[];

  /** From here on the node's life is tied to this gateway. */
  attach(gateway: AttachedGateway): void;

  /** Waits for what is on its way, then leaves at once and leaves nothing behind. */
  leave(): Promise<void>;
}

export interface AttachedGateway {
  inFlight(): number;
  /** The node was taken over: whatever runs has lost its hold, and must end. */
  onFenced(): void;
}

/** The database did not answer in time, or does not know this node any more. */
export class NodeUnavailable extends Error {
  constructor() {
    super("The database did not answer in time.");
    this.name = "NodeUnavailable";
  }
}

export interface HoldOrder {
  readonly holdId: string;
  readonly keyId: string;
  readonly amount: number;
  readonly nowMs: number;
  readonly model: string;
  readonly askedModel: string | null;
  readonly labels: string | null;
}

/** What a hold would be charged if nothing more were produced. */
export type ProducedSoFar = Omit<PricedCharge, "listCostNano">;

export type HoldDecision =
  | "held"
  | "too_little"
  | "reserved"
  | "used_up"
  | "disabled"
  | "closed"
  | "suspended"
  | "revoked"
  | "expired"
  | "too_many"
  | "unknown_key";

export interface HoldVerdict {
  readonly decision: HoldDecision;
  /** What may be spent of the bound that refuses, including what is held; infinite without a limit. */
  readonly balance: number;
  /** The least that any bound has left without what is held, this hold included. */
  readonly remaining: number;
  readonly periodStartMs: number;
  readonly countedAtMs: number;
  /** The account that pays, by its number in the database: this process may not know yet that the key has moved. */
  readonly accountNo: number;
  /** By the database's clock. */
  readonly openedAtMs: number;
  /** The bound that refuses; the account's own if none does. */
  readonly bound: VerdictBound;
}

export interface VerdictBound {
  readonly kind: "balance" | "budget" | "key_cap" | "account_cap";
  /** 0 if it is not a cap. */
  readonly capNo: number;
  readonly period: BudgetPeriod;
  readonly limit: number | null;
  readonly used: number;
  readonly periodStartMs: number;
}

export interface ChargeOrder extends ChargedEnding, Omit<HeldFor, "accountId"> {
  readonly holdId: string;
  /** Where it was held. */
  readonly accountNo: number;
  readonly openedAtMs: number;
  readonly atMs: number;
}

export interface Charged {
  readonly charged: number;
  readonly overrun: number;
}

/** What a claim is found by, and who has it. */
export interface ClaimName extends ResponseScope {
  readonly exchangeId: string;
}

export interface ClaimOrder extends ClaimName {
  readonly bodyHash: string;
  readonly atMs: number;
  /** A response stored before is not replayed any more. */
  readonly notBeforeMs: number;
}

export type ClaimVerdict = "run" | "running" | "conflict" | "replay";

/** A bucket of rate tokens, which is refilled with its capacity every minute. */
export interface TokenBucket {
  readonly name: string;
  readonly capacity: number;
}

export interface TokenVerdict {
  readonly granted: boolean;
  /** Tokens left in each of the buckets. */
  readonly levels: readonly number[];
}

export interface AccountState {
  readonly terms: Pick<AccountRecord, "mode" | "isOpen" | "budgetTokens" | "period">;
  readonly totals: Totals;
  readonly held: number;
  readonly keyCaps: readonly CapState[];
  readonly accountCaps: readonly CapState[];
}

export type CapState = CapRecord & CapTotals & { readonly held: number };
