const everyMs = 250;
const windowMs = 10_000;

/** How long the event loop did not get to a timer that was due: it had more work than it could do. */
export class EventLoopLag {
  readonly #timer: Timer;
  readonly #now: () => number;
  #dueMs: number;
  #windowEndMs: number;
  #longestMs = 0;
  #longestBeforeMs = 0;
  #recentMs = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#dueMs = now() + everyMs;
    this.#windowEndMs = now() + windowMs;
    this.#timer = setInterval(() => this.measure(), everyMs);
    this.#timer.unref();
  }

  /** The longest within the last seconds, for people who look now and then. */
  get longestMs(): number {
    return Math.max(this.#longestMs, this.#longestBeforeMs);
  }

  /** As of now: it is forgotten soon after the loop has caught up. */
  get recentMs(): number {
    return this.#recentMs;
  }

  measure(): void {
    const now = this.#now();
    const lateMs = Math.max(0, now - this.#dueMs);
    this.#recentMs = Math.max(lateMs, this.#recentMs / 2);
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
