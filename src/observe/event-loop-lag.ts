const everyMs = 250;
const windowMs = 10_000;

/** Measures how late the event loop runs a timer. It is late when there is more work than the loop can do. */
export class EventLoopLag {
  readonly #timer: Timer;
  readonly #now: () => number;
  #dueMs: number;
  #windowEndMs: number;
  #longestMs = 0;
  #longestBeforeMs = 0;
  #lastMs = 0;
  #lastingMs = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#dueMs = now() + everyMs;
    this.#windowEndMs = now() + windowMs;
    this.#timer = setInterval(() => this.measure(), everyMs);
    this.#timer.unref();
  }

  /** The longest lag of the last 10 to 20 seconds, for metrics that are scraped now and then. */
  get longestMs(): number {
    return Math.max(this.#longestMs, this.#longestBeforeMs);
  }

  /**
   * The lag of two measurements in a row. A process that was suspended, or a machine that stood still, is late once and has
   * caught up by the next measurement; one with too much work is late each time. Decays by half per measurement.
   */
  get lastingMs(): number {
    return this.#lastingMs;
  }

  measure(): void {
    const now = this.#now();
    const lateMs = Math.max(0, now - this.#dueMs);
    this.#lastingMs = Math.max(Math.min(lateMs, this.#lastMs), this.#lastingMs / 2);
    this.#lastMs = lateMs;
    if (now >= this.#windowEndMs) {
      this.#longestBeforeMs = this.#longestMs;
      this.#longestMs = 0;
      this.#windowEndMs = now + windowMs;
    }
    this.#longestMs = Math.max(this.#longestMs, lateMs);
    this.#dueMs = now + everyMs;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
