/**
 * Two clocks, because they answer different questions. `wallMs` is the calendar (expiry dates, budget
 * periods, timestamps) and may jump; `monotonicMs` only moves forward and is what deadlines and token
 * buckets use, so that a jump of the clock grants no free requests.
 */
export interface Clock {
  wallMs(): number;
  monotonicMs(): number;
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

export const msPerMinute = 60_000;
export const msPerHour = 60 * msPerMinute;
export const msPerDay = 24 * msPerHour;

/** The number of the UTC day, counted from 1970-01-01. */
export function utcDay(wallMs: number): number {
  return Math.floor(wallMs / msPerDay);
}

/** The date of a UTC day, such as `2026-11-16`. */
export function dateOfDay(day: number): string {
  return new Date(day * msPerDay).toISOString().slice(0, 10);
}
