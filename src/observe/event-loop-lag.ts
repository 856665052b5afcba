const everyMs = 250;
const windowMs = 10_000;

/** The longest time within the last seconds for which the event loop did not get to a timer that was due. */
export class EventLoopLag {
  readonly #timer: Timer;
  readonly #now: () => number;
  #dueMs: number;
  #windowEndMs: number;
  #longestMs = 0;
  #longestBeforeMs = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#dueMs = now() + everyMs;
    this.#windowEndMs = now() + windowMs;
    this.#timer = setInterval(() => this.measure(), everyMs);
    this.#timer.unref();
  }

  get longestMs(): number {
    return Math.max(this.#longestMs, this.#longestBeforeMs);
  }

  measure(): void {
    const now = this.#now();
    if (now >= this.#windowEndMs) {
      this.#longestBeforeMs = this.#longestMs;
      this.#longestMs = 0;
      this.#windowEndMs = now + windowMs;
    }
    this.#longestMs = Math.max(this.#longestMs, now - this.#dueMs);
    this.#dueMs = now + everyMs;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
