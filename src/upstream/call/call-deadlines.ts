import type { Clock } from "../../base/clock.ts";
import type { Deadline } from "./deadline-timer.ts";

/** 0 in the settings turns a limit off. */
export function orNever(limitMs: number): number {
  return limitMs === 0 ? Number.POSITIVE_INFINITY : limitMs;
}

/** How long a stream may take to end after its terminal event before its connection is given up. */
export const drainMs = 1000;

/** The call that the deadlines belong to. */
export interface DeadlineOwner {
  /** See `Deadline`. */
  tick(nowMs: number): void;
  /** The moment given to `remindAt` has come. */
  reminded(): void;
  /** A deadline was missed; `missed` says which. */
  timedOut(): void;
}

/**
 * The time limits of one call: for the connection, for the first byte, for the gap between two chunks, and for the
 * whole call, which caps the others. Only the earliest is due at a time.
 */
export class CallDeadlines implements Deadline {
  dueMs = Number.POSITIVE_INFINITY;
  /** The deadline that ended the call, if one did. */
  missed: "connection" | "answer" | null = null;

  readonly #clock: Clock;
  readonly #owner: DeadlineOwner;
  #totalDueMs = Number.POSITIVE_INFINITY;
  /** For what is awaited now: the first byte, the next chunk, or only the end. */
  #phaseDueMs = Number.POSITIVE_INFINITY;
  #phaseLimitMs = 0;
  #isConnecting = false;
  #connectLimitMs = 0;
  #hasReminder = false;

  constructor(clock: Clock, owner: DeadlineOwner) {
    this.#clock = clock;
    this.#owner = owner;
  }

  endBy(totalDueMs: number): void {
    this.#totalDueMs = totalDueMs;
  }

  expectWithin(nowMs: number, limitMs: number): void {
    this.#phaseLimitMs = limitMs;
    this.#phaseDueMs = this.dueMs = Math.min(this.#totalDueMs, nowMs + orNever(limitMs));
  }

  /** Leaves only the limit of the whole call, and no reminder: nothing is expected of the provider at the moment. */
  expectOnlyEnd(): void {
    this.#hasReminder = false;
    this.#phaseDueMs = this.dueMs = this.#totalDueMs;
  }

  /** Adds the deadline for establishing the connection to the current one. */
  expectConnection(nowMs: number, limitMs: number): void {
    if (this.#isConnecting) return;
    this.#isConnecting = true;
    this.#connectLimitMs = limitMs;
    this.dueMs = Math.min(this.dueMs, nowMs + orNever(limitMs));
  }

  connected(): void {
    if (!this.#isConnecting) return;
    this.#isConnecting = false;
    this.dueMs = this.#phaseDueMs;
  }

  /** Calls `reminded` at this moment, unless the current deadline comes first. The deadline stays. */
  remindAt(momentMs: number): void {
    if (momentMs >= this.#phaseDueMs) return;
    this.#hasReminder = true;
    this.dueMs = momentMs;
  }

  /** Leaves the limit of the whole call, and reminds after this time, or at the moment that was set before if that is earlier. */
  expectContent(nowMs: number, limitMs: number): void {
    const reminderMs = this.#hasReminder ? this.dueMs : Number.POSITIVE_INFINITY;
    this.expectOnlyEnd();
    this.remindAt(Math.min(reminderMs, nowMs + limitMs));
  }

  tick(nowMs: number): void {
    this.#owner.tick(nowMs);
  }

  /** Restarts the limits of a connection attempt after the process was suspended, because the provider was not slow. */
  hasStoodStill(nowMs: number): void {
    if (!this.#isConnecting) return;
    this.#isConnecting = false;
    this.expectWithin(nowMs, this.#phaseLimitMs);
    this.expectConnection(nowMs, this.#connectLimitMs);
  }

  expired(): void {
    const isReminder = this.#hasReminder && this.#clock.monotonicMs() < this.#phaseDueMs;
    this.#hasReminder = false;
    if (isReminder) {
      this.dueMs = this.#phaseDueMs;
      this.#owner.reminded();
      return;
    }
    this.missed = this.#isConnecting ? "connection" : "answer";
    this.#owner.timedOut();
  }
}
