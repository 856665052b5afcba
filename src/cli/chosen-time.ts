import { type ChosenRange, chosenRange, iso } from "../admin/moments.ts";
import { since } from "./arguments.ts";
import { option } from "./help.ts";
import { Misuse, utcMinute } from "./terminal/terminal.ts";

const untilHelp = "only requests that ended before, in the same format (default: now)";

/** `--since` and `--until`. */
export const timeFields = timeFieldsFrom("7d");

export function timeFieldsFrom(start: string) {
  return {
    since: option(
      "--since <when>",
      `24h, 7d, yesterday, 2026-10, a date or a time (default: ${start})`,
      (text) => since(text),
    ),
    until: option("--until <when>", untilHelp, (text) => since(text)),
  };
}

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
  return `from ${utcMinute(sinceMs)} to ${utcMinute(untilMs)} UTC`;
}

/** The range as operations take it. */
export function rangeQuery({ sinceMs, untilMs }: ChosenRange): { since: string; until: string } {
  return { since: iso(sinceMs), until: iso(untilMs) };
}
