import { msPerDay, msPerHour, msPerMinute } from "../base/clock.ts";

/**
 * Parses times as operators write them, at the command line and in the admin API. Ranges are exact to the minute, and
 * their end is exclusive.
 */

const unitMs: Readonly<Record<string, number>> = {
  s: 1000,
  m: msPerMinute,
  h: msPerHour,
  d: msPerDay,
  w: 7 * msPerDay,
};

export const momentText =
  "a duration such as 7d or 24h, `yesterday`, `today`, a month such as 2026-10, a date such as 2026-10-31, or a time in UTC such as 2026-10-31T15:00";

/** `7d`, `12h`, `30m`, `90s`, `2w` in milliseconds; null for any other form. */
export function durationMs(text: string): number | null {
  const [, digits, unit] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  return digits === undefined || unit === undefined ? null : Number(digits) * (unitMs[unit] ?? 0);
}

/** The end of the current minute, so that a range up to now includes what has just ended. */
function endOfMinute(nowMs: number): number {
  return (Math.floor(nowMs / msPerMinute) + 1) * msPerMinute;
}

/** A moment in the past, in whole minutes; null if it cannot be parsed. A day or a month means its start. */
export function pastMoment(text: string, nowMs: number): number | null {
  const atMs = momentFrom(text, endOfMinute(nowMs), nowMs);
  return atMs === null ? null : wholeMinute(atMs);
}

/** A past time, exact to the millisecond, for deletions: rounding would delete more or less than requested. */
export function exactMoment(text: string, nowMs: number): number | null {
  return momentFrom(text, nowMs, nowMs);
}

/** `endMs`: the moment that durations are counted back from. */
function momentFrom(text: string, endMs: number, nowMs: number): number | null {
  const today = Math.floor(nowMs / msPerDay) * msPerDay;
  const agoMs = text === "now" ? 0 : durationMs(text);
  if (agoMs !== null) return Math.max(0, endMs - agoMs);
  if (text === "today") return today;
  if (text === "yesterday") return today - msPerDay;
  const atMs = isoMs(text);
  return atMs === null || atMs < 0 ? null : atMs;
}

/** The moment for a text that was checked before; undefined without a text. */
export function momentOf(text: string | undefined, nowMs: number): number | undefined {
  return text === undefined ? undefined : (pastMoment(text, nowMs) ?? undefined);
}

/** An ISO month, date or time, in UTC unless it has a zone. Null if it is malformed, or the day does not exist. */
export function isoMs(text: string): number | null {
  if (!/^\d{4}-\d{2}(-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?)?)?$/.test(text))
    return null;
  const hasZone = /(Z|[+-]\d{2}:\d{2})$/.test(text) || !text.includes("T");
  const ms = Date.parse(hasZone ? text : `${text}Z`);
  return Number.isNaN(ms) || !isDayOfMonth(text.slice(0, 10)) ? null : ms;
}

/** `Date.parse` reads February 30 as March 2. */
function isDayOfMonth(date: string): boolean {
  return new Date(date).toISOString().startsWith(date);
}

function wholeMinute(ms: number): number {
  return Math.floor(ms / msPerMinute) * msPerMinute;
}

export interface ChosenRange {
  readonly sinceMs: number;
  /** Not included. */
  readonly untilMs: number;
}

const weekMs = 7 * msPerDay;

/** The requested range in whole minutes: by default the last week, up to now. Null if it ends before it starts. */
export function chosenRange(
  since: number | undefined,
  until: number | undefined,
  nowMs: number,
): ChosenRange | null {
  // A range in the future is empty, not an error.
  const untilMs = until ?? Math.max(endOfMinute(nowMs), (since ?? 0) + msPerMinute);
  const sinceMs = since ?? Math.max(0, untilMs - weekMs);
  return sinceMs < untilMs ? { sinceMs, untilMs } : null;
}

export function iso(ms: number): string {
  return new Date(ms).toISOString();
}

export function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : iso(ms);
}
