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
