import type { Clock } from "../../base/clock.ts";

/** A deadline that can be moved by assigning `dueMs`. */
export interface Deadline {
  /** Monotonic; `Infinity` if nothing is due. */
  dueMs: number;
  /** Called once when due. `dueMs` is `Infinity` by then, and may be set again. */
  expired(): void;
  /** Called at every tick, 40 times a second. */
  tick(): void;
}

const tickMs = 25;

/**
 * Keeps the deadlines of all calls with one timer. A call moves its deadline with every chunk, and with a timer per
 * call that would mean thousands of timers made and cleared each second. Here it is an assignment, plus a look at
 * every open call 40 times a second. Deadlines are up to one tick late, which is fine for limits of seconds.
 */
export class DeadlineTimer {
  readonly #clock: Clock;
  readonly #deadlines = new Set<Deadline>();
  #timer: ReturnType<typeof setInterval> | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(deadline: Deadline): void {
    this.#deadlines.add(deadline);
    this.#timer ??= setInterval(() => this.#tick(), tickMs);
  }

  remove(deadline: Deadline): void {
    this.#deadlines.delete(deadline);
  }

  /** Stops the interval only at a tick that finds no deadline, so that consecutive requests share one interval. */
  #tick(): void {
    if (this.#deadlines.size === 0 && this.#timer !== null) {
      clearInterval(this.#timer);
      this.#timer = null;
      return;
    }
    const nowMs = this.#clock.monotonicMs();
    for (const deadline of this.#deadlines) {
      deadline.tick();
      if (deadline.dueMs > nowMs) continue;
      deadline.dueMs = Number.POSITIVE_INFINITY;
      deadline.expired();
    }
  }
}
