import type { Clock } from "../../base/clock.ts";

/** A deadline that can be moved by assigning `dueMs`. */
export interface Deadline {
  /** Monotonic; `Infinity` if nothing is due. */
  dueMs: number;
  /** Called once when due. `dueMs` is `Infinity` by then, and may be set again. */
  expired(): void;
  /** Called at every tick: 40 times a second, and 10 times once it is relaxed. */
  tick(nowMs: number): void;
}

const tickMs = 25;
const ticksPerRelaxedTick = 4;

/**
 * Keeps the deadlines of all calls with one timer. A call moves its deadline with every chunk, and with a timer per
 * call that would mean thousands of timers made and cleared each second. Here it is an assignment, plus a look at
 * every open call at each tick. Deadlines are up to one tick late, which is fine for limits of seconds.
 *
 * Streams that have begun are many and last long, and are looked at less often: at 40 times a second, the looks took
 * as much time as the relaying of 20 events a second.
 */
export class DeadlineTimer {
  readonly #clock: Clock;
  readonly #prompt = new Set<Deadline>();
  readonly #relaxed = new Set<Deadline>();
  #ticks = 0;
  #timer: ReturnType<typeof setInterval> | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(deadline: Deadline): void {
    this.#prompt.add(deadline);
    if (this.#timer === null) this.#start();
  }

  #start(): void {
    this.#timer = setInterval(() => this.#tick(), tickMs);
  }

  /** From now on it is looked at less often. Does nothing if it was removed. */
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
    this.#ticks += 1;
    lookAt(this.#prompt, nowMs);
    if (this.#ticks % ticksPerRelaxedTick === 0) lookAt(this.#relaxed, nowMs);
  }
}

function lookAt(deadlines: ReadonlySet<Deadline>, nowMs: number): void {
  for (const deadline of deadlines) {
    deadline.tick(nowMs);
    if (deadline.dueMs > nowMs) continue;
    deadline.dueMs = Number.POSITIVE_INFINITY;
    deadline.expired();
  }
}
