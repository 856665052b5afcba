/** Something to check regularly while it runs. */
export interface Guarded {
  /** Called every tick with the monotonic time. */
  check(nowMs: number): void;
}

const tickMs = 100;

/**
 * One timer for all open streams: thousands of timers, set and cleared per event, cost more than the events. It only
 * runs while there are streams.
 */
export class Watchdog {
  readonly #monotonicMs: () => number;
  readonly #guarded = new Set<Guarded>();
  #timer: ReturnType<typeof setInterval> | null = null;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  watch(guarded: Guarded): void {
    this.#guarded.add(guarded);
    this.#timer ??= setInterval(() => this.#tick(), tickMs);
  }

  forget(guarded: Guarded): void {
    this.#guarded.delete(guarded);
    if (this.#guarded.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  get size(): number {
    return this.#guarded.size;
  }

  #tick(): void {
    const nowMs = this.#monotonicMs();
    for (const guarded of this.#guarded) guarded.check(nowMs);
  }
}
