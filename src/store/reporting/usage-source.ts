import { msPerDay, msPerHour, msPerMinute } from "../../base/clock.ts";
import type { GroupQuery, StepQuery, TimeRange } from "../reports.ts";

/** Where figures are read from: sums by the minute or by the hour, or the rows that they add up. */
export type SourceName = "minutes" | "hours" | "rows";

/** A range that one source has all of. */
export interface SourceRange extends TimeRange {
  readonly source: SourceName;
}

export type GroupColumn = "model" | "provider" | "key";

/** Less than the sums by the minute are really kept for. */
const minutesAreKeptMs = 170 * msPerMinute;

/**
 * A range in parts that one source each has all of: whole hours from the sums by the hour, and what is left at both ends
 * minute by minute. `stepMs` is the finest time that has to be told apart.
 */
export function partsOf(range: TimeRange, rowsAtOnceMs: number, stepMs = msPerHour): readonly SourceRange[] {
  const { nowMs } = range;
  const sinceMs = Math.floor(range.sinceMs / msPerMinute) * msPerMinute;
  const untilMs = Math.ceil(range.untilMs / msPerMinute) * msPerMinute;
  const hasMinutesFromMs = nowMs === undefined ? Number.POSITIVE_INFINITY : nowMs - minutesAreKeptMs;
  const finely = (fromMs: number, toMs: number): SourceRange[] => {
    if (fromMs >= toMs) return [];
    if (fromMs >= hasMinutesFromMs) return [{ source: "minutes", sinceMs: fromMs, untilMs: toMs }];
    const endMs = Math.min(toMs, fromMs + rowsAtOnceMs);
    return [{ source: "rows", sinceMs: fromMs, untilMs: endMs }, ...finely(endMs, toMs)];
  };
  const firstHourMs = Math.ceil(sinceMs / msPerHour) * msPerHour;
  const lastHourMs = Math.floor(untilMs / msPerHour) * msPerHour;
  const isFine = stepMs < msPerHour || firstHourMs >= lastHourMs || sinceMs >= hasMinutesFromMs;
  if (isFine) return finely(sinceMs, untilMs);
  return [
    ...finely(sinceMs, firstHourMs),
    { source: "hours", sinceMs: firstHourMs, untilMs: lastHourMs },
    ...finely(lastHourMs, untilMs),
  ];
}

export interface SumTable {
  readonly table: string;
  readonly column: "minute" | "hour";
  readonly unitMs: number;
}

/** The coarsest table that can answer; null if that is the rows. */
export function sumTableOf(query: (StepQuery | GroupQuery) & SourceRange, needsKey = false): SumTable | null {
  if (query.source === "rows") return null;
  if (query.source === "minutes") return { table: "usage_minutes", column: "minute", unitMs: msPerMinute };
  const isOfKey = needsKey || query.keyId !== undefined;
  return { table: isOfKey ? "usage_key_hours" : "usage_all_hours", column: "hour", unitMs: msPerHour };
}

export function latencyTableOf({ source }: SourceRange): SumTable | null {
  if (source === "rows") return null;
  return source === "minutes"
    ? { table: "latency_minutes", column: "minute", unitMs: msPerMinute }
    : { table: "latency_all_hours", column: "hour", unitMs: msPerHour };
}

/** Figures by key, over so many hours that whole days are read from the sums by day. */
export function isByKeyOverDays(column: string, { keyId, source }: GroupQuery & SourceRange): boolean {
  return column === "key" && keyId === undefined && source === "hours";
}

/** The whole days within a range; none if `endDay` is `firstDay`. */
export function wholeDays({ sinceMs, untilMs }: TimeRange) {
  const firstDay = Math.ceil(sinceMs / msPerDay);
  return { firstDay, endDay: Math.max(firstDay, Math.floor(untilMs / msPerDay)) };
}
