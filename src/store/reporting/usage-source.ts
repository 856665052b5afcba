import { msPerDay, msPerHour, msPerMinute } from "../../base/clock.ts";
import type { TimeRange } from "../reports.ts";
import type { Detail, TimeColumn } from "./dimensions.ts";

/** Where totals are read from: by the minute, the hour or the day, or the rows behind them. */
export type SourceName = "minutes" | "hours" | "days" | "rows";

/** A range that one source covers completely. */
export interface SourceRange {
  readonly source: SourceName;
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** Slightly less than the retention of totals by the minute. */
const minutesAreKeptMs = 170 * msPerMinute;

/**
 * Splits a range into parts that one source covers each: whole days or hours from the totals by day or hour, and both
 * ends minute by minute.
 */
export function partsOf(range: TimeRange, details: ReadonlySet<Detail>): readonly SourceRange[] {
  const { nowMs } = range;
  const sinceMs = Math.floor(range.sinceMs / msPerMinute) * msPerMinute;
  const untilMs = Math.ceil(range.untilMs / msPerMinute) * msPerMinute;
  if (details.has("row")) return [{ source: "rows", sinceMs, untilMs }];
  const hasMinutesFromMs = nowMs === undefined ? Number.POSITIVE_INFINITY : nowMs - minutesAreKeptMs;
  const finely = (fromMs: number, toMs: number): SourceRange[] => {
    if (fromMs >= toMs) return [];
    return [{ source: fromMs >= hasMinutesFromMs ? "minutes" : "rows", sinceMs: fromMs, untilMs: toMs }];
  };
  const inHours = (fromMs: number, toMs: number) =>
    around(fromMs, toMs, msPerHour, "hours", details.has("minute") || fromMs >= hasMinutesFromMs, finely);
  return around(sinceMs, untilMs, msPerDay, "days", !isOfDays(details), inHours);
}

/** Totals by the day exist per key, over all models. */
function isOfDays(details: ReadonlySet<Detail>): boolean {
  return details.has("key") && !details.has("model") && !details.has("hour") && !details.has("minute");
}

/** Takes the whole units of a range from one source, and both ends from a finer one. */
function around(
  sinceMs: number,
  untilMs: number,
  unitMs: number,
  source: SourceName,
  isTooCoarse: boolean,
  finer: (fromMs: number, toMs: number) => SourceRange[],
): SourceRange[] {
  const firstMs = Math.ceil(sinceMs / unitMs) * unitMs;
  const endMs = Math.floor(untilMs / unitMs) * unitMs;
  if (isTooCoarse || firstMs >= endMs) return finer(sinceMs, untilMs);
  return [...finer(sinceMs, firstMs), { source, sinceMs: firstMs, untilMs: endMs }, ...finer(endMs, untilMs)];
}

export interface SumTable extends TimeColumn {
  readonly table: string;
  /** Whether its rows are ordered by key rather than by time. */
  readonly isByKey: boolean;
}

/** The coarsest table with this detail; null if only the rows have it. */
export function sumTableOf(source: SourceName, details: ReadonlySet<Detail>): SumTable | null {
  switch (source) {
    case "rows":
      return null;
    case "minutes":
      return { table: "usage_minutes", isByKey: false, ...minute };
    case "hours":
      return details.has("key")
        ? { table: "usage_key_hours", isByKey: true, ...hour }
        : { table: "usage_all_hours", isByKey: false, ...hour };
    case "days":
      return { table: "usage_key_days", isByKey: true, column: "day", unitMs: msPerDay };
  }
}

export function latencyTableOf(source: SourceName): SumTable | null {
  if (source === "rows") return null;
  return source === "minutes"
    ? { table: "latency_minutes", isByKey: false, ...minute }
    : { table: "latency_all_hours", isByKey: false, ...hour };
}

const minute = { column: "minute", unitMs: msPerMinute } as const;
const hour = { column: "hour", unitMs: msPerHour } as const;
