import type { Clock } from "../../base/clock.ts";
import { Bag } from "../../base/collections/churn-map.ts";
import { afterArrivals } from "../../base/loop/deadline.ts";

/** 0 in the settings turns a limit off. */
export function orNever(limitMs: number): number {
  return limitMs === 0 ? Number.POSITIVE_INFINITY : limitMs;
}

/** How long a stream can take to end after its terminal event before its connection is given up. */
export const drainMs = 1000;

/** The call that the deadlines belong to. */
export interface DeadlineOwner {
  /** See `Deadline`. */
  tick(nowMs: number): void;
  /** The moment passed to `remindAt` has come. */
  reminded(): void;
  /** A deadline was missed; `missed` names it. */
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
  /** For the event that is awaited now: the first byte, the next chunk, or only the end. */
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

/** A deadline that can be moved by assigning `dueMs`. */
interface Deadline {
  /** Monotonic; `Infinity` if nothing is due. */
  dueMs: number;
  /** Called once when due. `dueMs` is `Infinity` by then, and may be set again. */
  expired(): void;
  /** Called at every tick. */
  tick(nowMs: number): void;
  /** Called before the tick, if the process has not run for a while. */
  hasStoodStill(nowMs: number): void;
}

/** Checking 1,000 open streams at each tick takes 1% of a core. */
const tickMs = 50;
/** A longer gap between two ticks means that the process was suspended or very busy. */
const stillMs = 500;

/**
 * Keeps the deadlines of all calls with one timer. A call moves its deadline with every chunk, and with a timer per
 * call that would mean thousands of timers set and cleared each second. Here it is an assignment, plus a check of every
 * open call at each tick. Deadlines fire a few ticks late, which is fine for limits of seconds.
 */
export class DeadlineTimer {
  readonly #clock: Clock;
  readonly #open = new Bag<Deadline>();
  #lastTickMs = 0;
  #timer: ReturnType<typeof setInterval> | null = null;
  /** A tick has found a due deadline. Received bytes are read first, because they may move it. */
  #isJudging = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(deadline: Deadline): void {
    this.#open.add(deadline);
    if (this.#timer === null) this.#start();
  }

  #start(): void {
    this.#lastTickMs = this.#clock.monotonicMs();
    this.#timer = setInterval(() => this.#tick(), tickMs);
  }

  remove(deadline: Deadline): void {
    this.#open.delete(deadline);
  }

  /** Stops the interval only at a tick that finds no deadline, so that consecutive requests share one interval. */
  #tick(): void {
    if (this.#open.size === 0 && this.#timer !== null) {
      clearInterval(this.#timer);
      this.#timer = null;
      return;
    }
    const nowMs = this.#clock.monotonicMs();
    const sinceLastTickMs = nowMs - this.#lastTickMs;
    this.#lastTickMs = nowMs;
    if (sinceLastTickMs > stillMs) for (const deadline of this.#open) deadline.hasStoodStill(nowMs);
    if (lookAt(this.#open, nowMs) && !this.#isJudging) this.#judge(nowMs);
  }

  #judge(foundAtMs: number): void {
    this.#isJudging = true;
    afterArrivals(() => {
      this.#isJudging = false;
      const nowMs = this.#clock.monotonicMs();
      expire(this.#open, foundAtMs, nowMs);
    });
  }
}

/** Ticks each, and returns whether one is due. */
function lookAt(deadlines: Iterable<Deadline>, nowMs: number): boolean {
  let isDue = false;
  for (const deadline of deadlines) {
    deadline.tick(nowMs);
    if (deadline.dueMs <= nowMs) isDue = true;
  }
  return isDue;
}

/** Ends the calls whose deadline had passed, unless bytes read since have moved it. */
function expire(deadlines: Iterable<Deadline>, foundAtMs: number, nowMs: number): void {
  for (const deadline of deadlines) {
    if (deadline.dueMs > foundAtMs) continue;
    deadline.tick(nowMs);
    if (deadline.dueMs > foundAtMs) continue;
    deadline.dueMs = Number.POSITIVE_INFINITY;
    deadline.expired();
  }
}
