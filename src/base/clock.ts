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
const firstReleaseMs = Date.UTC(2026, 0);

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

/** How long a clock that was set back must stay there until it is accepted. */
export const doubtedForMs = msPerMinute;

/**
 * A wall clock that ignores a clock that is set back briefly, as happens at a start before the time is synchronized: it
 * continues from the latest time that it has shown. After a minute the earlier time is accepted, so that a clock that
 * was ahead can return.
 */
export class SteadyClock implements Clock {
  readonly #clock: Clock;
  #latestMs: number;
  /** When the clock was first behind, and the time that it showed then. Null while it is not behind. */
  #doubt: { readonly sinceMs: number; readonly shownMs: number } | null = null;

  /** `latestMs` is the latest time that the last process has shown. */
  constructor(clock: Clock, latestMs = 0) {
    this.#clock = clock;
    this.#latestMs = latestMs;
  }

  wallMs(): number {
    const nowMs = this.#clock.wallMs();
    if (nowMs < this.#latestMs) return this.#whileBehind(nowMs);
    this.#doubt = null;
    this.#latestMs = nowMs;
    return nowMs;
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  #whileBehind(nowMs: number): number {
    const monotonicMs = this.#clock.monotonicMs();
    this.#doubt ??= { sinceMs: monotonicMs, shownMs: this.#latestMs };
    const { sinceMs, shownMs } = this.#doubt;
    const passedMs = monotonicMs - sinceMs;
    // A clock from before the first release was never set.
    const isBelieved = passedMs >= doubtedForMs && nowMs >= firstReleaseMs;
    if (isBelieved) this.#doubt = null;
    this.#latestMs = isBelieved ? nowMs : Math.floor(shownMs + passedMs);
    return this.#latestMs;
  }
}
