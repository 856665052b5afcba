import { msPerHour, msPerMinute } from "../../base/clock.ts";
import type { TimeRange } from "../reports.ts";
import type { Detail } from "./dimensions.ts";

/** A range that one source covers completely: totals by the hour, or the rows that they add up. */
export interface SourceRange {
  readonly source: "hours" | "rows";
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** Splits a range of whole minutes: whole hours are read from totals, and the rest, or details that totals lack, from rows. */
export function partsOf(range: TimeRange, details: ReadonlySet<Detail>): readonly SourceRange[] {
  const sinceMs = Math.floor(range.sinceMs / msPerMinute) * msPerMinute;
  const untilMs = Math.ceil(range.untilMs / msPerMinute) * msPerMinute;
  const firstMs = Math.ceil(sinceMs / msPerHour) * msPerHour;
  const endMs = Math.floor(untilMs / msPerHour) * msPerHour;
  const needsRows = details.has("row") || details.has("minute") || firstMs >= endMs;
  const parts: readonly SourceRange[] = needsRows
    ? [{ source: "rows", sinceMs, untilMs }]
    : [
        { source: "rows", sinceMs, untilMs: firstMs },
        { source: "hours", sinceMs: firstMs, untilMs: endMs },
        { source: "rows", sinceMs: endMs, untilMs },
      ];
  return parts.filter((part) => part.sinceMs < part.untilMs);
}
