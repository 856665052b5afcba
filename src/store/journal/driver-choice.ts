/** Where batches are written: in the thread that moves the streams, or in one of their own. */
export type Driver = "inline" | "thread";

/** A commit of this length is felt by every stream when it is written inline. */
const slowMs = 1;
/** A few commits of this length are a disk in trouble: nobody waits for more evidence. */
const stallMs = 25;
const mostStalls = 3;
const inlineWindow = 16;
/** A thread costs little, a wrong return costs stalls; so it takes more to come back, and some time. */
const threadWindow = 64;
const mostSlowToReturn = 3;
const leastStayMs = 10_000;

/**
 * Decides by what SQLite's own commits took. A disk is slow when most of the last commits were slow or three of
 * them were stalls, and quick again when nearly none of many was. A neighbour who is busy just now makes single
 * commits slow, and changes nothing.
 */
export class DriverChoice {
  readonly #now: () => number;
  #driver: Driver;
  #changedAtMs: number;
  #recentMs: number[] = [];

  constructor(driver: Driver, now: () => number = () => performance.now()) {
    this.#driver = driver;
    this.#now = now;
    this.#changedAtMs = now();
  }

  get driver(): Driver {
    return this.#driver;
  }

  observe(commitMs: number): void {
    this.#recentMs.push(commitMs);
    const window = this.#driver === "inline" ? inlineWindow : threadWindow;
    if (this.#recentMs.length > window) this.#recentMs.shift();
    const isFull = this.#recentMs.length === window;
    if (this.#driver === "inline" ? this.#isTooSlow(isFull) : isFull && this.#isQuickAgain()) {
      this.decide(this.#driver === "inline" ? "thread" : "inline");
    }
  }

  /** Also for a change that could not be made: what was seen before it does not ask for it again at once. */
  decide(driver: Driver): void {
    this.#driver = driver;
    this.#changedAtMs = this.#now();
    this.#recentMs = [];
  }

  #isTooSlow(isFull: boolean): boolean {
    return this.#count(stallMs) >= mostStalls || (isFull && this.#count(slowMs) > inlineWindow / 2);
  }

  #isQuickAgain(): boolean {
    return this.#count(slowMs) <= mostSlowToReturn && this.#now() - this.#changedAtMs >= leastStayMs;
  }

  #count(atLeastMs: number): number {
    let count = 0;
    for (const commitMs of this.#recentMs) if (commitMs >= atLeastMs) count += 1;
    return count;
  }
}
