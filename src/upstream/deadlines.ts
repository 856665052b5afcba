import type { Clock } from "../base/clock.ts";

/** Something that must happen before a moment. Moving the moment is assigning the field. */
export interface Watch {
  /** Monotonic; `Infinity` means that nothing is due. */
  dueMs: number;
  /** Called at most once per due moment; the field is `Infinity` by then and may be set again. */
  expired(): void;
  /** Called at every tick, forty times a second. */
  tick(): void;
}

const tickMs = 25;

/**
 * All deadlines of all calls on one timer. A call moves its deadline with every chunk, so a timer each would
 * be made and cleared thousands of times a second; here that is a number assigned, and a look at every open
 * call forty times a second. Deadlines are kept to within a tick, which is plenty for what takes seconds.
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #watches = new Set<Watch>();
  #timer: ReturnType<typeof setInterval> | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  watch(watch: Watch): void {
    this.#watches.add(watch);
    this.#timer ??= setInterval(() => this.#tick(), tickMs);
  }

  forget(watch: Watch): void {
    this.#watches.delete(watch);
  }

  /** The timer stops itself at a tick that finds nothing, so that requests one after another keep one timer. */
  #tick(): void {
    if (this.#watches.size === 0 && this.#timer !== null) {
      clearInterval(this.#timer);
      this.#timer = null;
      return;
    }
    const nowMs = this.#clock.monotonicMs();
    for (const watch of this.#watches) {
      watch.tick();
      if (watch.dueMs > nowMs) continue;
      watch.dueMs = Number.POSITIVE_INFINITY;
      watch.expired();
    }
  }
}
