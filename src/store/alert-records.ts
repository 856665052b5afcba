import type { BudgetPeriod, KeyMode } from "../base/key-attributes.ts";

/** What operators should know: bounds that are nearly used up, what gateways have found, and the alerts about it. */
export interface AlertRecords {
  /** Balances, budgets and caps of which 80 % are used, or which may be used up within a week at the rate of the last. */
  drawnBounds(nowMs: number): Promise<Listed<DrawnBound>>;
  /** Keys in use that expire after the first moment, and no later than the second. */
  expiringKeys(afterMs: number, throughMs: number): Promise<Listed<ExpiringKey>>;
  /** What was not charged since the beginning of this moment's hour. */
  overrunSince(sinceMs: number): Promise<Overrun>;

  /** Takes the place of what this source has said before, and is believed until then. What is over is deleted. */
  publish(source: string, findings: string, nowMs: number, untilMs: number): Promise<void>;
  published(nowMs: number): Promise<readonly string[]>;

  /** Whether this gateway is the one that sends alerts for the time to come. Who was stays it by asking again in time. */
  lead(gateway: string, forMs: number): Promise<boolean>;
  /** Alerts that have begun and not ended, by their ids. */
  begun(): Promise<readonly BegunAlert[]>;
  /** One transaction: what has begun and ended, and what is to be sent about it. */
  recordAlerts(changes: AlertChanges): Promise<void>;

  /** In their order. One waits for those before it that are about the same alert. */
  duePosts(nowMs: number, limit: number): Promise<readonly AlertPost[]>;
  postponePost(no: number, dueAtMs: number): Promise<void>;
  removePost(no: number): Promise<void>;
}

/** A list for people: the first so many, and how many there are besides. */
export interface Listed<Item> {
  readonly listed: readonly Item[];
  readonly more: number;
}

export interface DrawnBound {
  readonly bound: "balance" | "budget" | "key_cap" | "account_cap";
  readonly mode: KeyMode;
  readonly accountId: string;
  readonly accountLabel: string | null;
  /** The key that it is for; null, like its prefix and label, for an account that several keys may draw on. */
  readonly keyId: string | null;
  readonly prefix: string | null;
  readonly label: string | null;
  /** Nano-credits or tokens. For a balance all that was bought. */
  readonly limit: number;
  readonly used: number;
  readonly period: BudgetPeriod;
  /** The models that a cap is for; null for all. */
  readonly models: string | null;
  /** Null if it is no cap. */
  readonly capNo: number | null;
  readonly createdAtMs: number;
  /** What was charged today and on the six days before; 0 for a cap. */
  readonly recentlyUsed: number;
}

/** Costs above hold and limits that were not charged. */
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

export interface BegunAlert {
  readonly id: string;
  /** The highest threshold that it has reached; 0 without thresholds. */
  readonly level: number;
  /** What was found, as JSON. */
  readonly finding: string;
}

export interface AlertChanges {
  /** Take the place of those with the same ids. */
  readonly begun: readonly BegunAlert[];
  readonly ended: readonly string[];
  readonly posts: readonly Omit<AlertPost, "no">[];
}

export interface AlertPost {
  readonly no: number;
  readonly alertId: string;
  readonly body: string;
  readonly madeAtMs: number;
}
