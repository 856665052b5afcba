const everyMs = 250;
const windowMs = 10_000;

/** A lag counts as overload if the process was busy for at least this share of it. */
const busyShare = 0.5;

/** Measures how late the event loop runs a timer. It is late when there is more work than the loop can do. */
export class EventLoopLag {
  /**
   * The lag caused by too much work. A process or machine that was suspended is late too, but used no CPU and catches up by
   * the next measurement: a lag without work only counts as far as two measurements in a row show it. Halves with each
   * measurement.
   */
  overloadMs = 0;
  readonly #timer: Timer;
  readonly #now: () => number;
  readonly #workedMs: () => number;
  #dueMs: number;
  #windowEndMs: number;
  #maxMs = 0;
  #maxBeforeMs = 0;
  #lastMs = 0;
  #lastWorkedMs: number;

  /** `workedMs` returns the CPU time used so far. */
  constructor(now: () => number = () => performance.now(), workedMs: () => number = processorMs) {
    this.#now = now;
    this.#workedMs = workedMs;
    this.#lastWorkedMs = workedMs();
    this.#dueMs = now() + everyMs;
    this.#windowEndMs = now() + windowMs;
    this.#timer = setInterval(() => this.measure(), everyMs);
    this.#timer.unref();
  }

  /** The longest lag of the last 10 to 20 seconds, for metrics that are scraped now and then. */
  get maxMs(): number {
    return Math.max(this.#maxMs, this.#maxBeforeMs);
  }

  measure(): void {
    const now = this.#now();
    const lateMs = Math.max(0, now - this.#dueMs);
    const workedMs = this.#workedMs();
    const hasWorked = workedMs - this.#lastWorkedMs >= lateMs * busyShare;
    const countedMs = hasWorked ? lateMs : Math.min(lateMs, this.#lastMs);
    this.overloadMs = Math.max(countedMs, this.overloadMs / 2);
    this.#lastMs = lateMs;
    this.#lastWorkedMs = workedMs;
    if (now >= this.#windowEndMs) {
      this.#maxBeforeMs = this.#maxMs;
      this.#maxMs = 0;
      this.#windowEndMs = now + windowMs;
    }
    this.#maxMs = Math.max(this.#maxMs, lateMs);
    this.#dueMs = now + everyMs;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
