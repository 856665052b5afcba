import type { AttemptRecord } from "../base/attempt.ts";
import type { Usage, UsageBasis } from "../base/usage.ts";
import type { Figures } from "./figures.ts";
import type { Ending, Entry, EntryKind } from "./records.ts";

/**
 * Read-only questions of operators. Each is answered in a few milliseconds whatever the history, because it blocks the
 * thread that moves streams: from sums where there are some, and from the rows themselves piece by piece, giving way
 * between the pieces.
 */
export interface Reports {
  /** Figures in steps of time, oldest first; a step without any is left out. */
  usageInSteps(query: StepQuery): Promise<readonly StepFigures[]>;
  /** Figures by what was used or who used it. */
  usageBy(column: "model" | "provider" | "key", query: GroupQuery): Promise<readonly GroupFigures[]>;
  /** How many exchanges of each step fell into which band of time, in the order of the bands. */
  latencyInSteps(query: StepQuery): Promise<readonly LatencyBand[]>;
  /** What each of these keys spent on each day (UTC days since 1970); days without use are left out. */
  keyDays(keyIds: readonly string[], fromDay: number, throughDay: number): Promise<readonly KeyDay[]>;

  /** Newest first. A search that takes long ends early, with a cursor to go on from. */
  exchanges(query: ExchangeQuery): Promise<Cut<ListedExchange, string>>;
  /** What is kept of an exchange. `entryId` says where to look. */
  exchange(exchangeId: string, entryId: number | null): Promise<FiledExchange | null>;
  /** When the oldest kept ending happened, and how many there are; the count is exact to a few. */
  endingsKept(): Promise<EndingsKept>;
  /** Newest first. */
  entries(query: EntrySearch): Promise<Cut<Entry, number>>;
}

/** Sums by the minute are kept for the last hours; before that there are only whole hours. */
export type Resolution = "minute" | "hour";

const msPerMinute = 60_000;
const msPerHour = 3_600_000;
const minutesAreKeptMs = 2 * msPerHour;

export interface TimeRange {
  readonly sinceMs: number;
  /** Not included. */
  readonly untilMs: number;
  readonly resolution: Resolution;
}

/** The range that reports count for a time that somebody asked for: whole minutes if it is recent, else whole hours. */
export function countedRange(sinceMs: number, untilMs: number, nowMs: number): TimeRange {
  const resolution = sinceMs >= nowMs - minutesAreKeptMs ? "minute" : "hour";
  const unitMs = resolution === "minute" ? msPerMinute : msPerHour;
  return {
    sinceMs: Math.floor(sinceMs / unitMs) * unitMs,
    untilMs: (Math.floor(untilMs / unitMs) + 1) * unitMs,
    resolution,
  };
}

export interface StepQuery extends TimeRange {
  /** A whole number of minutes or hours. */
  readonly stepMs: number;
  readonly keyId?: string | undefined;
}

export interface GroupQuery extends TimeRange {
  readonly keyId?: string | undefined;
  /** Only so many, by spend and list cost, largest first; otherwise all, by name. */
  readonly largest?: number | undefined;
}

export interface StepFigures extends Figures {
  readonly startMs: number;
}

export interface GroupFigures extends Figures {
  /** A model, a provider or a key's id; empty where an exchange ended before it was known. */
  readonly group: string;
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

/** An exchange in a list: from its usage record, or from what is kept of how it ended. */
export interface ListedExchange {
  readonly exchangeId: string;
  readonly keyId: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly route: string;
  readonly model: string;
  readonly provider: string;
  readonly upstreamModel: string;
  readonly stream: boolean;
  readonly outcome: Ending;
  readonly status: number | null;
  readonly code: string | null;
  readonly message: string | null;
  /** The entry of its charge; null where nothing was charged. */
  readonly entryId: number | null;
  /** Null without a usage record. */
  readonly usage: Usage | null;
  readonly basis: UsageBasis | null;
  /** What was charged, in the unit of the key's mode. */
  readonly charged: number;
  readonly listCostNano: number | null;
  readonly firstByteMs: number | null;
  readonly totalMs: number | null;
  readonly attempts: number;
  /** How many more like it are counted with it, but not kept one by one. */
  readonly alike: number;
}

export interface FiledExchange {
  /** Null for one of which only the ledger knows: it was cancelled or interrupted, and the rest was pruned. */
  readonly exchange: ListedExchange | null;
  readonly attempts: readonly AttemptRecord[];
  readonly entries: readonly Entry[];
}

export interface EndingsKept {
  readonly oldestAtMs: number | null;
  readonly count: number;
}

export interface ExchangeQuery {
  /** As returned with the page before. */
  readonly cursor?: string | undefined;
  readonly limit: number;
  readonly keyId?: string | undefined;
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  readonly route?: string | undefined;
  readonly outcome?: Ending | undefined;
  /** The error's code; only those that have one. */
  readonly code?: string | undefined;
  /** Exchanges that ended before this moment are not looked for. */
  readonly sinceMs?: number | undefined;
}

export interface EntrySearch {
  readonly beforeId?: number | undefined;
  readonly limit: number;
  readonly keyId?: string | undefined;
  readonly kind?: EntryKind | undefined;
}

export interface Cut<Row, Cursor> {
  readonly rows: readonly Row[];
  /** Where to go on; null when there is nothing more. */
  readonly next: Cursor | null;
}
