import { msPerDay } from "../base/clock.ts";
import { Misuse } from "./failure.ts";
import { moment } from "./terminal/format.ts";

/** A stretch of time, without its end. */
export interface ChosenTime {
  readonly sinceMs: number;
  /** Undefined means now. */
  readonly untilMs: number | undefined;
}

const weekMs = 7 * msPerDay;

/** What `--since` and `--until` say. Without the former it is a week. */
export function chosenTime(
  { since, until }: { readonly since?: number; readonly until?: number },
  nowMs: number,
): ChosenTime {
  const sinceMs = since ?? (until ?? nowMs) - weekMs;
  if (until !== undefined && until <= sinceMs) throw new Misuse("--until is not after --since");
  return { sinceMs, untilMs: until };
}

export function timeInWords({ sinceMs, untilMs }: ChosenTime): string {
  const began = `since ${moment(sinceMs)} UTC`;
  return untilMs === undefined ? began : `${began}, until ${moment(untilMs)} UTC`;
}
