import type { AttemptRecord } from "../base/requests/attempt.ts";
import type { KeptLabels } from "../base/requests/labels.ts";
import type { ChargedUnits } from "../base/usage/metered-units.ts";
import type { Usage, UsageBasis } from "../base/usage/usage.ts";
import type { Figures } from "./figures.ts";
import type { AttemptSums, Ending, Entry, EntryKind, ExchangeEnding } from "./records.ts";
import type { AccountStatement, StatementQuery } from "./reporting/statement.ts";

export type { AccountStatement, StatementLine, StatementQuery } from "./reporting/statement.ts";

/**
 * Read-only queries for operators. They run on the thread that relays streams, so each blocks it for a few milliseconds
 * at most, however long the history is: they read sums where they can, and rows in chunks, yielding in between.
 */
export interface Reports {
  /** Figures per time step, oldest first. Steps without any are omitted. */
  usageInSteps(query: StepQuery): Promise<readonly StepFigures[]>;
  /** Figures grouped by one of the dimensions. */
  usageBy(dimension: string, query: GroupQuery): Promise<readonly GroupFigures[]>;
  /** Figures grouped by several dimensions at once, by their names (see `reporting/dimensions.ts`). */
  usageByAll(dimensions: readonly string[], query: GroupQuery): Promise<readonly GroupedFigures[]>;
  /** Some of these groups, and the sum of all of them. */
  usagePage(dimensions: readonly string[], query: GroupPageQuery): Promise<GroupPage>;
  /** How many exchanges of each step fell into which band of time, in the order of the bands. */
  latencyInSteps(query: StepQuery): Promise<readonly LatencyBand[]>;
  /** What each of these keys spent per day (UTC days since 1970). Days without use are omitted. */
  keyDays(keyIds: readonly string[], fromDay: number, throughDay: number): Promise<readonly KeyDay[]>;
  /** The last day (UTC, since 1970) on which each of these keys was used, refused calls included. Without use it is omitted. */
  keyLastDays(keyIds: readonly string[]): Promise<ReadonlyMap<string, number>>;

  /** Newest first. A search that takes too long ends early and returns a cursor to continue from. */
  exchanges(query: ExchangeQuery): Promise<Cut<ListedExchange, string>>;
  /** What is kept of an exchange. `entryId` makes finding it faster. */
  exchange(exchangeId: string, entryId: number | null): Promise<FiledExchange | null>;
  /** The ids of the exchanges that a client gave this id, newest first. */
  exchangesCalled(callerId: string, limit: number): Promise<readonly string[]>;
  /** The time of the oldest ending and their number, which may be off by a few. */
  endingsKept(): Promise<EndingsKept>;
  /** What each account is charged and credited with in a time. Reads all entries before, a few at a time. */
  statements(query: StatementQuery): Promise<readonly AccountStatement[]>;
  /** Newest first. */
  entries(query: EntrySearch): Promise<Cut<Entry, number>>;
  /** What a provider was asked for on these days (UTC, since 1970), the last included; in their order. */
  attemptSums(provider: string, fromDay: number, throughDay: number): Promise<readonly AttemptSums[]>;
  /** The same, so many at a time. */
  attemptPages(provider: string, fromDay: number, throughDay: number): AsyncGenerator<readonly AttemptSums[]>;
}

/** In whole minutes; what is between is part of the minute that it is in. */
export interface TimeRange {
  readonly sinceMs: number;
  /** Not included. */
  readonly untilMs: number;
  /** Sums by the minute are kept for the last hours. If this is missing, none are used. */
  readonly nowMs?: number | undefined;
}

/** What is counted; by default everything. */
export interface UsageFilter {
  readonly keyId?: string | undefined;
  /** What this account paid for, whichever of its keys asked. */
  readonly accountId?: string | undefined;
  /** No more is read once it has fired. */
  readonly signal?: AbortSignal | undefined;
}

export interface StepQuery extends TimeRange, UsageFilter {
  /** A whole number of minutes, or of hours. */
  readonly stepMs: number;
}

export interface GroupQuery extends TimeRange, UsageFilter {
  /** Return this many, by spend, or by list cost where there is none, largest first. By default all, by name. */
  readonly largest?: number | undefined;
}

export interface GroupPageQuery extends TimeRange, UsageFilter {
  readonly order: "name" | "worth";
  readonly skip: number;
  readonly limit: number;
}

export interface GroupPage {
  readonly groups: readonly GroupedFigures[];
  /** Of all groups. */
  readonly count: number;
  readonly total: Figures;
}

export interface StepFigures extends Figures {
  readonly startMs: number;
}

export interface GroupFigures extends Figures {
  /** A model, a provider or a key's id; empty where an exchange ended before it was known. */
  readonly group: string;
}

export interface GroupedFigures extends Figures {
  /** The value of each dimension; null where there is none. */
  readonly groups: readonly (string | null)[];
}

export interface KeyDay {
  readonly keyId: string;
  readonly day: number;
  readonly spendNano: number;
  readonly spendTokens: number;
}

export interface LatencyBand {
  readonly startMs: number;
  readonly measure: "first_byte" | "total";
  readonly upToMs: number;
  readonly requests: number;
}

/** An exchange in a list, from its usage record or its ending. */
export interface ListedExchange extends Omit<ExchangeEnding, "atMs" | "attemptDetails" | "labels"> {
  readonly endedAtMs: number;
  /** The entry of its charge; null where nothing was charged. */
  readonly entryId: number | null;
  /** Null without a usage record. */
  readonly usage: Usage | null;
  /** What was charged beside tokens; null where it was tokens alone. */
  readonly units: ChargedUnits | null;
  readonly basis: UsageBasis | null;
  /** What was charged, in the unit of the key's mode. */
  readonly charged: number;
  readonly listCostNano: number | null;
  readonly labels: KeptLabels;
}

export interface FiledExchange {
  /** Null if only the ledger has it: it was cancelled or interrupted, and its ending was pruned. */
  readonly exchange: ListedExchange | null;
  readonly attempts: readonly AttemptRecord[];
  readonly entries: readonly Entry[];
}

export interface EndingsKept {
  /** The id of the oldest; 0 if there are none. */
  readonly firstId: number;
  readonly oldestAtMs: number | null;
  readonly count: number;
}

export interface ExchangeQuery {
  /** As returned with the previous page. */
  readonly cursor?: string | undefined;
  readonly limit: number;
  readonly keyId?: string | undefined;
  /** One that is served, or an unknown name that a client asked for. */
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  readonly route?: string | undefined;
  readonly outcome?: Ending | undefined;
  /** The error's code; only those that have one. */
  readonly code?: string | undefined;
  /** A key by a part of its label or owner or the beginning of its id or prefix, a part of a code, or `tag=value`. */
  readonly search?: string | undefined;
  /** Only those with all of these labels, by the names that they are kept under. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Exchanges that ended earlier are not searched. */
  readonly sinceMs?: number | undefined;
  /** Those that ended at this time or later are passed over. */
  readonly untilMs?: number | undefined;
}

export interface EntrySearch {
  readonly beforeId?: number | undefined;
  readonly limit: number;
  readonly keyId?: string | undefined;
  readonly accountId?: string | undefined;
  readonly kind?: EntryKind | undefined;
}

export interface Cut<Row, Cursor> {
  readonly rows: readonly Row[];
  /** Where to continue; null on the last page. */
  readonly next: Cursor | null;
}
