import type { ChargedUnits, Rates } from "../base/money/rates.ts";
import type { AttemptRecord } from "../base/requests/attempt.ts";
import type { StoredLabels } from "../base/requests/labels.ts";
import type { Usage, UsageBasis } from "../base/usage/usage.ts";
import type { AttemptSums, Entry, EntryKind, OutcomeRecord, RequestOutcome } from "./records.ts";
import type { AccountStatement, StatementQuery } from "./reporting/statement.ts";
import type { UsageTotals } from "./usage-totals.ts";

export type { AccountStatement, StatementLine, StatementQuery } from "./reporting/statement.ts";

/** Read-only queries for operators. They may take long, but not on the thread that relays streams. */
export interface Reports {
  /** Totals per time step, oldest first. Empty steps are omitted. */
  usageInSteps(query: StepQuery): Promise<readonly StepTotals[]>;
  /** Totals grouped by one dimension. */
  usageBy(dimension: string, query: GroupQuery): Promise<readonly GroupTotals[]>;
  /** Totals grouped by several dimensions, by their names (see `reporting/dimensions.ts`). */
  usageByAll(dimensions: readonly string[], query: GroupQuery): Promise<readonly GroupedTotals[]>;
  /** A page of these groups, and the total of all groups. */
  usagePage(dimensions: readonly string[], query: GroupPageQuery): Promise<GroupPage>;
  /** Only steps with requests, in order. */
  usageSeries(dimensions: readonly string[], query: SeriesQuery): Promise<readonly SeriesTotals[]>;
  /** Number of requests by step and latency band, in the order of the bands. */
  latencyInSteps(query: StepQuery): Promise<readonly LatencyBand[]>;
  /** Spend of each of these keys per day (UTC days since 1970). Days without use are omitted. */
  keyDays(keyIds: readonly string[], fromDay: number, throughDay: number): Promise<readonly KeyDay[]>;
  /** The last day (UTC, since 1970) on which each key was used, rejected requests included. Unused keys are omitted. */
  keyLastDays(keyIds: readonly string[]): Promise<ReadonlyMap<string, number>>;

  /** Newest first. A search that takes too long ends early and returns a cursor to continue from. */
  exchanges(query: ExchangeQuery): Promise<CursorPage<ListedExchange, string>>;
  /** Everything stored about an exchange. `entryId` makes the lookup faster. */
  exchange(exchangeId: string, entryId: number | null): Promise<FiledExchange | null>;
  /** The ids of the exchanges with this client-provided id, newest first. */
  exchangesCalled(callerId: string, limit: number): Promise<readonly string[]>;
  /** The request log's oldest time and its size, which may be off by a few. */
  requestLogSize(): Promise<RequestLogSize>;
  /** Charges and credits of each account over a time range. Reads all earlier entries. */
  statements(query: StatementQuery): Promise<readonly AccountStatement[]>;
  /** The cost of a range's charges at other prices. Reads every charge. */
  compareCosts(query: ComparisonQuery, prices: ComparedPrices): Promise<ComparedCosts>;
  /** Newest first. */
  entries(query: EntrySearch): Promise<CursorPage<Entry, number>>;
  /** The attempts at a provider on these days (UTC, since 1970), the last included, in order and page by page. */
  attemptPages(provider: string, fromDay: number, throughDay: number): AsyncGenerator<readonly AttemptSums[]>;
}

/** A range of whole minutes; times within a minute are rounded down. */
export interface TimeRange {
  readonly sinceMs: number;
  /** Exclusive. */
  readonly untilMs: number;
}

/** What to count; by default everything. */
export interface UsageFilter {
  readonly keyId?: string | undefined;
  /** Only requests billed to this account, by any of its keys. */
  readonly accountId?: string | undefined;
  /** Reading stops once it has fired. */
  readonly signal?: AbortSignal | undefined;
}

export type ComparisonQuery = TimeRange & UsageFilter;

/** The rates of one tier of a model; plain data, because it is sent to the thread of reports. */
export interface ComparedRates {
  readonly usual: Rates["picoUsd"];
  /** For calls with more input; null if they cost the same. */
  readonly long: { readonly above: number; readonly picoUsd: Rates["picoUsd"] } | null;
}

/** The prices to compare charges with: another model's. */
export interface ComparedPrices {
  readonly microUsdPerCredit: number;
  /** Costs nothing, with any usage. */
  readonly isFree: boolean;
  readonly usual: ComparedRates;
  /** The rates of each tier that has its own prices. */
  readonly byTier: Readonly<Record<string, ComparedRates>>;
}

export interface ComparedCosts {
  /** Charged requests that could be compared. */
  readonly requests: number;
  /** The cost at the rates of the charges, and at the other prices. */
  readonly ownNano: number;
  readonly comparedNano: number;
  /** Number of charges that could not be compared, by the unit that the other model has no price for. */
  readonly notComparable: Readonly<Record<string, number>>;
}

export interface StepQuery extends TimeRange, UsageFilter {
  /** A whole number of minutes, or of hours. */
  readonly stepMs: number;
}

export interface GroupQuery extends TimeRange, UsageFilter {
  /** Return this many groups, ordered by spend, or by list cost without spend, largest first. By default all, by name. */
  readonly largest?: number | undefined;
}

export interface GroupPageQuery extends TimeRange, UsageFilter {
  /** Only requests of this session, as the client sent it. */
  readonly session?: string | undefined;
  readonly order: "name" | "worth";
  readonly skip: number;
  readonly limit: number;
}

/** Some groups over time. */
export interface SeriesQuery extends TimeRange, UsageFilter {
  readonly step: "hour" | "day";
  /** The values of the groups. */
  readonly series: readonly (readonly (string | null)[])[];
}

export interface SeriesTotals extends UsageTotals {
  readonly startMs: number;
  /** The place of the group in `series`. */
  readonly place: number;
}

export interface GroupPage {
  readonly groups: readonly GroupedTotals[];
  /** The number of all groups. */
  readonly count: number;
  readonly total: UsageTotals;
}

export interface StepTotals extends UsageTotals {
  readonly startMs: number;
}

export interface GroupTotals extends UsageTotals {
  /** A model, a provider or a key's id; empty if the request ended before it was known. */
  readonly group: string;
}

export interface GroupedTotals extends UsageTotals {
  /** The value of each dimension; null for none. */
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

/** An exchange in a list, from its usage record or the request log. */
export interface ListedExchange extends Omit<OutcomeRecord, "atMs" | "attemptDetails" | "labels"> {
  readonly endedAtMs: number;
  /** The entry of its charge; null without a charge. */
  readonly entryId: number | null;
  /** Null without a usage record. */
  readonly usage: Usage | null;
  /** Charged units in addition to tokens; null for only tokens. */
  readonly units: ChargedUnits | null;
  readonly basis: UsageBasis | null;
  /** The charge, in the unit of the key's mode. */
  readonly charged: number;
  readonly listCostNano: number | null;
  readonly labels: StoredLabels;
}

export interface FiledExchange {
  /** Null if only the ledger has it: a cancelled or interrupted exchange whose log row was pruned. */
  readonly exchange: ListedExchange | null;
  readonly attempts: readonly AttemptRecord[];
  readonly entries: readonly Entry[];
}

export interface RequestLogSize {
  /** The id of the oldest; 0 if there are none. */
  readonly firstId: number;
  readonly oldestAtMs: number | null;
  readonly count: number;
}

export interface ExchangeQuery {
  /** The cursor returned with the previous page. */
  readonly cursor?: string | undefined;
  readonly limit: number;
  readonly keyId?: string | undefined;
  /** A served model, or an unknown name that a client requested. */
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  readonly route?: string | undefined;
  readonly outcome?: RequestOutcome | undefined;
  /** The error code; matches only exchanges that have one. */
  readonly code?: string | undefined;
  /** Part of a key's label or owner, the beginning of its id or prefix, part of an error code, or `tag=value`. */
  readonly search?: string | undefined;
  /** Only exchanges with all of these labels, by their stored names. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Exchanges that ended earlier are not searched. */
  readonly sinceMs?: number | undefined;
  /** Exchanges that ended at this time or later are skipped. */
  readonly untilMs?: number | undefined;
}

export interface EntrySearch {
  readonly beforeId?: number | undefined;
  readonly limit: number;
  readonly keyId?: string | undefined;
  readonly accountId?: string | undefined;
  readonly kind?: EntryKind | undefined;
}

export interface CursorPage<Row, Cursor> {
  readonly rows: readonly Row[];
  /** The cursor to continue with; null on the last page. */
  readonly next: Cursor | null;
}
