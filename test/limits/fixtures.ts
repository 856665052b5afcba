import type { Clock } from "../../src/base/clock.ts";

/** A clock that moves only when told to. */
export class StillClock implements Clock {
  nowMs = 1_000_000;
  calendarMs = 1_700_000_000_000;

  monotonicMs(): number {
    return this.nowMs;
  }

  wallMs(): number {
    return this.calendarMs;
  }

  advance(ms: number): void {
    this.nowMs += ms;
    this.calendarMs += ms;
  }
}
