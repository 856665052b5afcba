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

/** A clock before this date was never set: the program did not exist then. */
export const firstReleaseMs = Date.UTC(2026, 0);

/** Whether a moment lies so far ahead that a clock must have been wrong when it was taken. */
export function isAhead(momentMs: number, nowMs: number): boolean {
  return momentMs > aheadOf(nowMs);
}

/** What counts later than this lies ahead; infinite while the clock is not set. */
export function aheadOf(nowMs: number): number {
  return nowMs < firstReleaseMs ? Number.MAX_SAFE_INTEGER : nowMs + msPerHour;
}

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
