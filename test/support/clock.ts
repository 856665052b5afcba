import type { Clock } from "../../src/base/clock.ts";

/** A clock that a test advances. The wall clock can jump on its own, as real ones do. */
export class FakeClock implements Clock {
  #wallMs: number;
  #monotonicMs = 0;

  constructor(start: string | number = "2026-11-15T12:00:00Z") {
    this.#wallMs = new Date(start).getTime();
  }

  wallMs(): number {
    return this.#wallMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  /** Time passes, on both. */
  advance(ms: number): void {
    this.#wallMs += ms;
    this.#monotonicMs += ms;
  }

  /** Sets the wall clock; no time passes. */
  jumpWall(ms: number): void {
    this.#wallMs += ms;
  }
}
