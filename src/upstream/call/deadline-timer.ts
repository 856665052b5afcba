import type { Clock } from "../../base/clock.ts";
import { Bag } from "../../base/collections/churn-map.ts";
import { afterArrivals } from "../../base/loop/deadline.ts";

/** A deadline that can be moved by assigning `dueMs`. */
export interface Deadline {
  /** Monotonic; `Infinity` if nothing is due. */
  dueMs: number;
  /** Called once when due. `dueMs` is `Infinity` by then, and may be set again. */
  expired(): void;
  /** Called at every tick: 40 times a second, and 10 times once it is relaxed. */
  tick(nowMs: number): void;
  /** Called before the tick, if the process has not run for a while; not once it is relaxed. */
  hasStoodStill(nowMs: number): void;
}

const tickMs = 25;
const ticksPerRelaxedTick = 4;
/** A longer gap between two ticks means that the process was suspended or very busy. */
const stillMs = 500;

/**
 * Keeps the deadlines of all calls with one timer. A call moves its deadline with every chunk, and with a timer per
 * call that would mean thousands of timers set and cleared each second. Here it is an assignment, plus a check of every
 * open call at each tick. Deadlines fire a few ticks late, which is fine for limits of seconds.
 *
 * Streams that have begun are many and last long, so they are checked less often: at 40 times a second, the checks took
 * as much time as relaying 20 events a second.
 */
export class DeadlineTimer {
  readonly #clock: Clock;
  readonly #prompt = new Bag<Deadline>();
  readonly #relaxed = new Bag<Deadline>();
  #ticks = 0;
  #lastTickMs = 0;
  #timer: ReturnType<typeof setInterval> | null = null;
  /** A tick has found a due deadline. Received bytes are read first, because they may move it. */
  #isJudging = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(deadline: Deadline): void {
    this.#prompt.add(deadline);
    if (this.#timer === null) this.#start();
  }

  #start(): void {
    this.#lastTickMs = this.#clock.monotonicMs();
    this.#timer = setInterval(() => this.#tick(), tickMs);
  }

  /** Checks it less often from now on. Does nothing if it was removed. */
  relax(deadline: Deadline): void {
    if (this.#prompt.delete(deadline)) this.#relaxed.add(deadline);
  }

  remove(deadline: Deadline): void {
    if (!this.#prompt.delete(deadline)) this.#relaxed.delete(deadline);
  }

  /** Stops the interval only at a tick that finds no deadline, so that consecutive requests share one interval. */
  #tick(): void {
    if (this.#prompt.size === 0 && this.#relaxed.size === 0 && this.#timer !== null) {
      clearInterval(this.#timer);
      this.#timer = null;
      return;
    }
    const nowMs = this.#clock.monotonicMs();
    const sinceLastTickMs = nowMs - this.#lastTickMs;
    this.#lastTickMs = nowMs;
    this.#ticks += 1;
    if (sinceLastTickMs > stillMs) for (const deadline of this.#prompt) deadline.hasStoodStill(nowMs);
    const isPromptDue = lookAt(this.#prompt, nowMs);
    const isRelaxedDue = this.#ticks % ticksPerRelaxedTick === 0 && lookAt(this.#relaxed, nowMs);
    if ((isPromptDue || isRelaxedDue) && !this.#isJudging) this.#judge(nowMs);
  }

  #judge(foundAtMs: number): void {
    this.#isJudging = true;
    afterArrivals(() => {
      this.#isJudging = false;
      const nowMs = this.#clock.monotonicMs();
      expire(this.#prompt, foundAtMs, nowMs);
      expire(this.#relaxed, foundAtMs, nowMs);
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
