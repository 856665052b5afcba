import type { BoundState, Denial } from "../base/money/bound.ts";
import type { StoreProblem, StoreStats } from "./health.ts";
import type {
  AccountRecord,
  CapRecord,
  CapTotals,
  ChargedOutcome,
  HeldFor,
  PricedCharge,
  Totals,
} from "./records.ts";
import type { ResponseScope } from "./store.ts";

export interface NodeTiming {
  /** How long a node counts as alive after its last heartbeat. */
  readonly leaseMs: number;
  /** How long others wait after that before they take it over. */
  readonly graceMs: number;
  readonly beatMs: number;
  /** After this time a connection counts as dead, and the same batch is sent again on a new one. */
  readonly replyMs: number;
}

export const usualTiming: NodeTiming = { leaseMs: 15_000, graceMs: 5_000, beatMs: 1_000, replyMs: 4_000 };

/** Events for the log, with the field names used there. */
export type NodeEvent =
  | { readonly kind: "joined"; readonly node: number }
  | { readonly kind: "fenced"; readonly node: number }
  | { readonly kind: "took_over"; readonly nodes: readonly number[] }
  | { readonly kind: "cleared"; readonly ended: number; readonly charged: number }
  /** Charges of an earlier process that were made at this start. */
  | { readonly kind: "made_up"; readonly charges: number }
  | { readonly kind: "rejected"; readonly exchange: string; readonly err: unknown }
  /** Another session has the key's account locked, so its requests wait and are then rejected. */
  | { readonly kind: "blocked"; readonly key: string }
  /** The file for unacknowledged charges cannot be written. */
  | { readonly kind: "unkept"; readonly err: unknown }
  | { readonly kind: "clock_differs"; readonly by_ms: number };

/**
 * One gateway's connection to a shared database. The node has joined under a number
 * that is never used twice. Without a heartbeat for too long, another node takes over its holds; it is then fenced
 * and joins again.
 */
export interface StoreNode {
  /** Changes when the node has to join again. */
  readonly no: number;
  /** Why the node accepts no new requests; null while it does. */
  readonly problem: StoreProblem | null;
  /** How far the database's clock, which is authoritative, is ahead of this machine's; 0 while they agree. */
  readonly clockOffsetMs: number;
  readonly stats: Readonly<StoreStats>;

  /** Rejects with `NodeUnavailable` if the database does not respond for about a second. */
  hold(request: HoldOrder): Promise<HoldVerdict>;
  /** Journaled with the next batch, which is not awaited. */
  progress(holdId: string, soFar: ProducedSoFar): void;
  /**
   * Ends the hold; resolves when the charge is durable. Rejects with `NodeUnavailable` if that takes too long. The
   * charge is still made as soon as possible, at the latest at the next start.
   */
  settle(request: ChargeOrder): Promise<ChargeResult>;
  /** Deletes the hold's row with the next batch. Rejects with `NodeUnavailable` if that takes long; then it is deleted later. */
  release(holdId: string, keyId: string): Promise<void>;

  /** Rejects with `NodeUnavailable`, as `hold` does. */
  claim(request: ClaimOrder): Promise<ClaimVerdict>;
  /**
   * Releases a claim, unless a charge that stores its response is still being written. Resolves when others can claim
   * it, or if that takes too long.
   */
  endClaim(claim: ClaimName): Promise<void> | undefined;

  /** Takes the amount from every bucket, or from none. Rejects with `NodeUnavailable`, as `hold` does. */
  takeTokens(buckets: readonly TokenBucket[], amount: number): Promise<TokenVerdict>;
  /** Returns tokens to each bucket, or takes more if below 0. Not awaited, and may be lost. */
  returnTokens(buckets: readonly TokenBucket[], unused: number): void;

  /** The accounts of these keys, in order. */
  readAccounts(keyIds: readonly string[]): Promise<readonly (AccountState | null)[]>;

  /** One sentence for each thing that would be lost, or only recovered at the next start, if the process ended now. */
  describeLosses(): readonly string[];

  /** Ties the node to this gateway. */
  attach(gateway: AttachedGateway): void;

  /** Waits for pending writes, then leaves at once without leaving anything open. */
  leave(): Promise<void>;
}

export interface AttachedGateway {
  inFlight(): number;
  /** The node was taken over: running requests have lost their holds and must end. */
  onFenced(): void;
}

/** The database did not respond in time, or no longer knows this node. */
export class NodeUnavailable extends Error {
  constructor() {
    super("The database did not respond in time.");
    this.name = "NodeUnavailable";
  }
}

export interface HoldOrder {
  readonly holdId: string;
  readonly keyId: string;
  readonly amount: number;
  readonly nowMs: number;
  readonly model: string;
  readonly requestedModel: string | null;
  readonly labels: string | null;
  /** False if it does not count toward the key's limit of requests in flight. */
  readonly isInFlight?: boolean;
  /** The exchange has a hold already, which this one replaces. */
  readonly replaces?: true;
}

/** The charge of a hold if no more output follows. */
export type ProducedSoFar = Omit<PricedCharge, "listCostNano">;

/** Why a key cannot be used. */
export type UnusableKey =
  | ("disabled" | "closed" | "suspended" | "revoked" | "expired")
  | ("too_many" | "unknown_key");

export interface HeldVerdict {
  readonly decision: "held";
  /** Smallest remaining amount over all limits, after all holds including this one; infinite without a limit. */
  readonly remaining: number;
  readonly periodStartMs: number;
  readonly countedAtMs: number;
  /** The billed account's number in the database: this process may not know yet that the key has moved. */
  readonly accountNo: number;
  /** By the database's clock. */
  readonly openedAtMs: number;
}

export type HoldVerdict = HeldVerdict | DeniedVerdict;

export type DeniedVerdict =
  /** The limit that denies it. */
  | { readonly decision: Denial; readonly state: BoundState }
  | { readonly decision: UnusableKey }
  /** A cap counts each value of the label, and the request has none. */
  | { readonly decision: "label_required"; readonly label: string }
  /** The hold to replace has ended, because the node was taken over. */
  | { readonly decision: "gone" };

export interface ChargeOrder extends ChargedOutcome, Omit<HeldFor, "accountId"> {
  readonly holdId: string;
  /** The account that holds the amount. */
  readonly accountNo: number;
  readonly openedAtMs: number;
  readonly atMs: number;
}

export interface ChargeResult {
  readonly charged: number;
  readonly overrun: number;
}

/** Identifies a claim, and the request that has it. */
export interface ClaimName extends ResponseScope {
  readonly exchangeId: string;
}

export interface ClaimOrder extends ClaimName {
  readonly bodyHash: string;
  readonly atMs: number;
  /** Responses stored before this time are not replayed. */
  readonly notBeforeMs: number;
}

export type ClaimVerdict = "run" | "running" | "conflict" | "replay";

/** A bucket of rate tokens that refills by its capacity every minute. */
export interface TokenBucket {
  readonly name: string;
  readonly capacity: number;
}

export interface TokenVerdict {
  readonly granted: boolean;
  /** Remaining tokens of each bucket. */
  readonly levels: readonly number[];
}

export interface AccountState {
  readonly terms: Pick<AccountRecord, "mode" | "isPostpaid" | "budgetTokens" | "period">;
  readonly totals: Totals;
  readonly held: number;
  readonly keyCaps: readonly CapState[];
  readonly accountCaps: readonly CapState[];
}

export type CapState = CapRecord & CapTotals & { readonly held: number };
