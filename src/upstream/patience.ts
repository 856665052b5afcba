import type { Clock } from "../base/clock.ts";
import type { Watch } from "./deadlines.ts";

/** In the settings 0 turns a limit off. */
export function orNever(limitMs: number): number {
  return limitMs === 0 ? Number.POSITIVE_INFINITY : limitMs;
}

/** Who is being patient. */
export interface Waiter {
  /** Looks whether anything has changed; called forty times a second. */
  tick(): void;
  giveUp(): void;
}

/**
 * How long one call may take, phase by phase: connection, first byte, gap, and the end of it all, which no
 * phase outlasts. One number is due at a time; running out of patience aborts the call and says why.
 */
export class Patience implements Watch {
  dueMs = Number.POSITIVE_INFINITY;
  /** Why the call was given up, if it was. */
  lost: "too_slow" | "not_there" | null = null;

  readonly #clock: Clock;
  readonly #waiter: Waiter;
  #lastDueMs = Number.POSITIVE_INFINITY;
  #phaseDueMs = Number.POSITIVE_INFINITY;
  /** True while no connection stands. */
  #isConnecting = false;
  #goOn: (() => void) | null = null;

  constructor(clock: Clock, waiter: Waiter) {
    this.#clock = clock;
    this.#waiter = waiter;
  }

  endBy(lastDueMs: number): void {
    this.#lastDueMs = lastDueMs;
  }

  expectWithin(nowMs: number, limitMs: number): void {
    this.#phaseDueMs = this.dueMs = Math.min(this.#lastDueMs, nowMs + orNever(limitMs));
  }

  /** Nothing is awaited but the end: what is slow now is not the provider. */
  rest(): void {
    this.#phaseDueMs = this.dueMs = this.#lastDueMs;
  }

  /** Within the current phase: a connection has to stand soon, or nobody is there. */
  expectConnection(nowMs: number, limitMs: number): void {
    if (this.#isConnecting) return;
    this.#isConnecting = true;
    this.dueMs = Math.min(this.dueMs, nowMs + orNever(limitMs));
  }

  connected(): void {
    if (!this.#isConnecting) return;
    this.#isConnecting = false;
    this.dueMs = this.#phaseDueMs;
  }

  /** Calls back at a moment within the current phase, which goes on. */
  remindAt(momentMs: number, goOn: () => void): void {
    if (momentMs >= this.#phaseDueMs) return;
    this.#goOn = goOn;
    this.dueMs = momentMs;
  }

  /** What was to be reminded of has come. */
  noReminder(): void {
    this.#goOn = null;
    this.dueMs = this.#phaseDueMs;
  }

  tick(): void {
    this.#waiter.tick();
  }

  expired(): void {
    const goOn = this.#goOn;
    this.#goOn = null;
    if (goOn !== null && this.#clock.monotonicMs() < this.#phaseDueMs) {
      this.dueMs = this.#phaseDueMs;
      goOn();
      return;
    }
    this.lost = this.#isConnecting ? "not_there" : "too_slow";
    this.#waiter.giveUp();
  }
}
