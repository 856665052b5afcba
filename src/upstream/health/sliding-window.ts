const slots = 10;

/** Counts all events and marked events over a sliding window in ten steps. Uses constant memory. */
export class SlidingWindow {
  readonly #slotMs: number;
  readonly #all = new Float64Array(slots);
  readonly #marked = new Float64Array(slots);
  #current = 0;

  constructor(spanMs: number) {
    this.#slotMs = spanMs / slots;
  }

  add(nowMs: number, marked: boolean): void {
    this.#turn(nowMs);
    const slot = this.#current % slots;
    this.#all[slot] = (this.#all[slot] ?? 0) + 1;
    if (marked) this.mark(nowMs);
  }

  /** Marks an event that was added unmarked, such as an answer that broke off later. */
  mark(nowMs: number): void {
    this.#turn(nowMs);
    const slot = this.#current % slots;
    this.#marked[slot] = (this.#marked[slot] ?? 0) + 1;
  }

  all(nowMs: number): number {
    this.#turn(nowMs);
    return sum(this.#all);
  }

  marked(nowMs: number): number {
    this.#turn(nowMs);
    return sum(this.#marked);
  }

  clear(): void {
    this.#all.fill(0);
    this.#marked.fill(0);
  }

  #turn(nowMs: number): void {
    const now = Math.floor(nowMs / this.#slotMs);
    if (now - this.#current >= slots) this.clear();
    for (let slot = Math.max(this.#current + 1, now - slots + 1); slot <= now; slot += 1) {
      this.#all[slot % slots] = 0;
      this.#marked[slot % slots] = 0;
    }
    if (now > this.#current) this.#current = now;
  }
}

function sum(counts: Float64Array): number {
  let total = 0;
  for (const count of counts) total += count;
  return total;
}

const windowMs = 10_000;
/** A deployment that fails more often than this is tried last (directory.ts), since retries cannot make up for it. */
export const retryShare = 0.2;
/**
 * Always allowed, since five a second do no harm. With little traffic a fifth is less than one retry, and if a
 * deployment breaks under many requests at once, they fail before the window has counted enough of them.
 */
const minRetries = 50;

/** Limits retries to a fifth of the requests of the last ten seconds, because they make an outage worse. */
export class RetryBudget {
  readonly #requests = new SlidingWindow(windowMs);

  countRequest(nowMs: number): void {
    this.#requests.add(nowMs, false);
  }

  /** Takes one retry out of the budget; false if none is left. */
  tryRetry(nowMs: number): boolean {
    const retries = this.#requests.marked(nowMs);
    if (retries >= minRetries && retries + 1 > this.#requests.all(nowMs) * retryShare) return false;
    this.#requests.mark(nowMs);
    return true;
  }
}
