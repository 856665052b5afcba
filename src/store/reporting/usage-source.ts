import { msPerDay, msPerHour, msPerMinute } from "../../base/clock.ts";
import type { GroupQuery, StepQuery, TimeRange } from "../reports.ts";

/** A table of sums: by the minute, by the hour, or by the hour and key. */
export interface UsageSource {
  readonly table: string;
  readonly column: "minute" | "hour";
  readonly unitMs: number;
}

/** The coarsest table that can answer. */
export function usageSourceOf(query: StepQuery | GroupQuery, needsKey = false): UsageSource {
  if (query.resolution === "minute") return { table: "usage_minutes", column: "minute", unitMs: msPerMinute };
  const isOfKey = needsKey || query.keyId !== undefined;
  return { table: isOfKey ? "usage_key_hours" : "usage_all_hours", column: "hour", unitMs: msPerHour };
}

export function latencySourceOf({ resolution }: StepQuery): UsageSource {
  return resolution === "minute"
    ? { table: "latency_minutes", column: "minute", unitMs: msPerMinute }
    : { table: "latency_all_hours", column: "hour", unitMs: msPerHour };
}

/** Figures by key, over so many hours that whole days are read from the sums by day. */
export function isByKeyOverDays(column: string, { keyId, resolution }: GroupQuery): boolean {
  return column === "key" && keyId === undefined && resolution === "hour";
}

/** A range in whole units, and the same in milliseconds. */
export function wholeUnits({ sinceMs, untilMs }: TimeRange, unitMs: number) {
  const [from, to] = [Math.floor(sinceMs / unitMs), Math.ceil(untilMs / unitMs)];
  return { from, to, sinceMs: from * unitMs, untilMs: to * unitMs };
}

/** The whole days within a range; none if `endDay` is `firstDay`. */
export function wholeDays({ sinceMs, untilMs }: TimeRange) {
  const firstDay = Math.ceil(sinceMs / msPerDay);
  return { firstDay, endDay: Math.max(firstDay, Math.floor(untilMs / msPerDay)) };
}
