import { type ChosenRange, chosenRange, iso } from "../admin/moments.ts";
import { Misuse, moment } from "./terminal/terminal.ts";

/** The formats accepted by `--since` and `--until`, in one place. */
export const sinceHelp = "24h, 7d, yesterday, 2026-10, a date or a time (default: 7d)";
export const untilHelp = "only requests that ended before, in the same format (default: now)";

export interface TimeOptions {
  readonly since?: number;
  readonly until?: number;
}

/** The last week without `--since`. */
export function chosenTime({ since, until }: TimeOptions, nowMs: number): ChosenRange {
  const range = chosenRange(since, until, nowMs);
  if (range === null) throw new Misuse("--until must be after --since");
  return range;
}

export function timeText({ sinceMs, untilMs }: ChosenRange): string {
  return `from ${moment(sinceMs)} to ${moment(untilMs)} UTC`;
}

/** The range as operations take it. */
export function rangeQuery({ sinceMs, untilMs }: ChosenRange): { since: string; until: string } {
  return { since: iso(sinceMs), until: iso(untilMs) };
}
