const tickMs = 100;

/**
 * How far the event loop is behind. A tick that comes late has waited for work that could not keep up; the
 * worst of the last few ticks is what counts, so that one long pause is over as soon as it is over.
 */
export class LoopLag {
  readonly #monotonicMs: () => number;
  #lagMs = 0;
  #dueMs = 0;
  #timer: ReturnType<typeof setInterval> | null = null;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  start(): void {
    this.#dueMs = this.#monotonicMs() + tickMs;
    this.#timer ??= setInterval(() => this.tick(), tickMs);
    this.#timer.unref();
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** Called by the timer. */
  tick(): void {
    const nowMs = this.#monotonicMs();
    const lateMs = Math.max(0, nowMs - this.#dueMs);
    this.#lagMs = Math.max(lateMs, this.#lagMs / 2);
    this.#dueMs = nowMs + tickMs;
  }

  get lagMs(): number {
    return this.#lagMs;
  }
}
