import { type Clock, firstReleaseMs, msPerMinute } from "./clock.ts";

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
