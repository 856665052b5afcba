import type { Entry, EntryKind, Outcome, UsageRecord } from "./records.ts";

/**
 * Read-only questions of the dashboard. Each is answered in a few milliseconds whatever the history, because
 * it blocks the thread that moves streams: from sums where there are some, and from the entries themselves
 * piece by piece, giving way between the pieces.
 */
export interface Reports {
  /** Sums of whole hours in steps, oldest first; a step without usage is left out. */
  usageInSteps(query: StepQuery): Promise<readonly StepSums[]>;
  /** How many requests of each step fell into which band of time, in the order of the bands. */
  latencyInSteps(query: StepQuery): Promise<readonly LatencyBand[]>;
  /** The largest spenders first. */
  topBy(column: "model" | "provider", query: RangeQuery): Promise<readonly GroupSums[]>;
  /** In whole days, up to a second late; `group` is the key's id. */
  topKeys(query: RangeQuery): Promise<readonly GroupSums[]>;
  /** What each of these keys spent on each day (UTC days since 1970), up to a second late; days without use are left out. */
  keyDays(keyIds: readonly string[], fromDay: number, throughDay: number): Promise<readonly KeyDay[]>;

  /** Newest first. A search that takes long ends early, with a cursor to go on from. */
  exchanges(query: ExchangeQuery): Promise<Cut<FiledUsage>>;
  /** The exchange's record, if it has one, and its entries. `entryId` says where to look. */
  exchange(exchangeId: string, entryId: number | null): Promise<FiledExchange | null>;
  /** Newest first. */
  entries(query: EntrySearch): Promise<Cut<Entry>>;
}

export interface RangeQuery {
  readonly sinceMs: number;
  /** Not included. */
  readonly untilMs: number;
  readonly limit: number;
}

export interface StepQuery {
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly stepHours: number;
}

export interface Sums {
  readonly requests: number;
  readonly failures: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costNano: number;
}

export interface StepSums extends Sums {
  /** Hours since 1970 divided by the step: the step's number. */
  readonly step: number;
}

export interface GroupSums extends Sums {
  readonly group: string;
}

export interface KeyDay {
  readonly keyId: string;
  readonly day: number;
  readonly costNano: number;
  readonly tokens: number;
}

export interface LatencyBand {
  readonly step: number;
  readonly measure: "first_byte" | "total";
  readonly upToMs: number;
  readonly requests: number;
}

/** A usage record with the id of the entry that it shares a row with. */
export interface FiledUsage extends UsageRecord {
  readonly entryId: number;
}

export interface FiledExchange {
  readonly record: FiledUsage | null;
  readonly entries: readonly Entry[];
}

export interface ExchangeQuery {
  readonly beforeId?: number | undefined;
  readonly limit: number;
  readonly keyId?: string | undefined;
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  readonly route?: string | undefined;
  readonly outcome?: Outcome | undefined;
  /** Records before this moment are not looked for. */
  readonly sinceMs?: number | undefined;
}

export interface EntrySearch {
  readonly beforeId?: number | undefined;
  readonly limit: number;
  readonly keyId?: string | undefined;
  readonly kind?: EntryKind | undefined;
}

export interface Cut<Row> {
  readonly rows: readonly Row[];
  /** Where to go on; null when there is nothing more. */
  readonly nextBeforeId: number | null;
}
