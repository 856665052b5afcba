import type { BudgetPeriod, KeyMode } from "../base/key-attributes.ts";

/** Data for alerts: limits that are nearly used up, findings of the gateways, and the alerts about them. */
export interface AlertRecords {
  /** Balances, budgets and caps that are 80% used, or will run out within a week at last week's rate. */
  drawnBounds(nowMs: number): Promise<PartialList<DrawnBound>>;
  /** Values that have used 80% of a cap that counts them, at most a hundred of each cap; and caps that count nearly as many as they may. */
  drawnValues(nowMs: number): Promise<DrawnValues>;
  /** Values that have used this share of a cap that limits them, the nearest first; at most a thousand. */
  nearValues(share: number, nowMs: number): Promise<readonly NearValue[]>;
  /** Active keys that expire after `afterMs` and no later than `throughMs`. */
  expiringKeys(afterMs: number, throughMs: number): Promise<PartialList<ExpiringKey>>;
  /** Uncharged amounts since the beginning of the hour of `sinceMs`. */
  overrunSince(sinceMs: number): Promise<Overrun>;
  /** Keys that are suspended because their owner could no longer sign in at or after `sinceMs`. */
  lostSignInsSince(sinceMs: number): Promise<number>;
  /** Number of sign-ins that ended because a refresh token was used again. */
  reusedSignInsSince(sinceMs: number): Promise<number>;

  /** The models of requests since the beginning of the hour of `sinceMs`. */
  modelsRequestedSince(sinceMs: number): Promise<ReadonlySet<string>>;

  /** Marks the alerts of a kind as seen. They are listed, but count for nothing until then. */
  acknowledge(acknowledged: AcknowledgedAlert): Promise<void>;
  /** The kinds that are still acknowledged at this time. */
  acknowledged(nowMs: number): Promise<readonly AcknowledgedAlert[]>;

  /** Replaces this source's earlier findings. They are valid until `untilMs`; expired ones are deleted. */
  publish(source: string, findings: string, nowMs: number, untilMs: number): Promise<void>;
  published(nowMs: number): Promise<readonly string[]>;

  /** Whether this gateway sends alerts for the next `forMs`. The leader stays leader by calling this again in time. */
  lead(gateway: string, forMs: number): Promise<boolean>;
  /** Alerts that are firing, by id. */
  firing(): Promise<readonly FiringAlert[]>;
  /** Writes what fired, what resolved and what to post about it, in one transaction. */
  recordAlerts(changes: AlertChanges): Promise<void>;

  /**
   * Notes which alerts operators see now: others have ended. Keeps the last thousand that ended within 90 days. An alert that changes
   * is still the same.
   */
  noteActive(active: readonly NotedAlert[], nowMs: number): Promise<void>;
  /** The latest first. */
  listPast(limit: number): Promise<readonly PastAlert[]>;

  /** In order. A post waits for earlier posts about the same alert. */
  duePosts(nowMs: number, limit: number): Promise<readonly AlertPost[]>;
  postponePost(no: number, dueAtMs: number): Promise<void>;
  removePost(no: number): Promise<void>;
}

export interface AcknowledgedAlert {
  readonly kind: string;
  /** Named as in the audit log. */
  readonly actor: string;
  readonly untilMs: number;
}

/** The first items of a list, and how many more there are. */
export interface PartialList<Item> {
  readonly listed: readonly Item[];
  readonly more: number;
}

export interface DrawnBound {
  readonly bound: "balance" | "budget" | "key_cap" | "account_cap";
  readonly mode: KeyMode;
  readonly accountId: string;
  readonly accountLabel: string | null;
  /** The key it belongs to. Null, like its prefix and label, for an account that several keys may share. */
  readonly keyId: string | null;
  readonly prefix: string | null;
  readonly label: string | null;
  /** Nano-credits or tokens. For a balance, everything that was bought. */
  readonly limit: number;
  readonly used: number;
  readonly period: BudgetPeriod;
  /** The models that a cap applies to; null for all. */
  readonly models: string | null;
  /** Null unless it is a cap. */
  readonly capNo: number | null;
  readonly createdAtMs: number;
  /** Charges of today and the six days before; 0 for a cap. */
  readonly recentlyUsed: number;
}

/** The key or account that a cap by value is limited to; at most one of them is set. */
interface CapScope {
  readonly keyId: string | null;
  readonly accountId: string | null;
}

/** A value that has used much of its limit. Amounts are nano-credits or tokens. */
export interface DrawnValue extends CapScope {
  readonly capId: string;
  readonly mode: KeyMode;
  readonly label: string;
  /** Empty for requests without the label. */
  readonly value: string;
  readonly limit: number;
  readonly used: number;
  readonly period: Exclude<BudgetPeriod, "none">;
  readonly models: string | null;
}

export interface NearValue extends DrawnValue {
  /** The amount by which its limit is raised, for this value only. */
  readonly raised: number;
  readonly periodStartMs: number;
}

/** Number of values that a cap has counted in its period. */
export interface CapPlaces extends CapScope {
  readonly capId: string;
  readonly label: string;
  readonly period: Exclude<BudgetPeriod, "none">;
  readonly counted: number;
  readonly maxValues: number;
}

export interface DrawnValues extends PartialList<DrawnValue> {
  readonly places: readonly CapPlaces[];
}

/** Costs above the hold and the limits, which were not charged. */
export interface Overrun {
  readonly nano: number;
  readonly tokens: number;
}

export interface ExpiringKey {
  readonly id: string;
  readonly prefix: string;
  readonly label: string | null;
  readonly expiresAtMs: number;
}

export interface FiringAlert {
  readonly id: string;
  /** The highest threshold reached; 0 without thresholds. */
  readonly level: number;
  /** The alert, as JSON. */
  readonly finding: string;
}

export interface NotedAlert {
  readonly id: string;
  /** As JSON. */
  readonly alert: string;
}

export interface PastAlert extends NotedAlert {
  /** When it was first noted. */
  readonly beganAtMs: number;
  readonly endedAtMs: number;
}

export interface AlertChanges {
  /** Replace alerts with the same ids. */
  readonly fired: readonly FiringAlert[];
  readonly resolved: readonly string[];
  readonly posts: readonly Omit<AlertPost, "no">[];
}

export interface AlertPost {
  readonly no: number;
  readonly alertId: string;
  readonly body: string;
  readonly madeAtMs: number;
}
