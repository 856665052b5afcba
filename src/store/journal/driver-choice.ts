/** The thread that writes batches: the one that relays streams, or a separate one. */
export type Driver = "inline" | "thread";

/**
 * An inline commit of this length delays every stream noticeably. Below it the thread costs more than it saves: with commits
 * of 1 to 2 ms it took 213 instead of 145 µs of CPU for a request.
 */
const slowMs = 4;
/** A few commits of this length suffice to call the disk slow. */
const stallMs = 25;
const mostStalls = 3;
const inlineWindow = 16;
/** The thread costs little and a premature return causes stalls, so returning takes more evidence and some time. */
const threadWindow = 64;
const mostSlowToReturn = 3;
const leastStayMs = 10_000;

/**
 * Decides by the duration of the database's own commits. The disk is slow if most of the last commits were slow or
 * three of them stalled, and fast again if nearly none of many was slow. Single slow commits, as caused by other
 * load on the machine, change nothing.
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

  /** Also called if a switch failed, so that the same observations do not request it again at once. */
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
