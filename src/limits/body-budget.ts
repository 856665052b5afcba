import { ChurnMap } from "../base/collections/churn-map.ts";

export interface BodyBudgetLimits {
  /** The memory for all bodies at once. */
  totalBytes(): number;
  /** The largest accepted body; at most the total. */
  largestBytes(): number;
}

/** Share of the total that stays free when a holder takes one body of the maximum size. */
const reservedPart = 1 / 8;

/**
 * Limits the memory of bodies: requests still being read, or responses still being sent. A holder can take half of what
 * the others leave: alone half of the total, a second holder half of the rest, and so on. So small bodies of other
 * holders fit, however many bodies are unfinished. If that is less than the maximum size of a body, a holder can take
 * one such body, as long as a part of the total stays free.
 */
export class BodyBudget {
  readonly #limits: BodyBudgetLimits;
  readonly #byHolder = new ChurnMap<string, number>();
  readonly #waiting = new Set<() => boolean>();
  #taken = 0;

  constructor(limits: BodyBudgetLimits) {
    this.#limits = limits;
  }

  get takenBytes(): number {
    return this.#taken;
  }

  /** A reservation for one body. The caller must `release` it in any case. */
  reserve(holder: string): BodyReservation {
    return new BodyReservation(this, holder);
  }

  /** @internal Through a reservation only. `isForced` also takes memory beyond the limits. */
  take(holder: string, bytes: number, isForced = false): boolean {
    const held = (this.#byHolder.get(holder) ?? 0) + bytes;
    const total = this.#limits.totalBytes();
    const largest = this.#limits.largestBytes();
    const free = total - this.#taken - bytes;
    const reserved = Math.min(total * reservedPart, total - largest);
    if (!isForced && held > free && (held > largest || free < reserved)) return false;
    this.#byHolder.set(holder, held);
    this.#taken += bytes;
    return true;
  }

  /** @internal Through a reservation only. */
  giveBack(holder: string, bytes: number): void {
    const left = (this.#byHolder.get(holder) ?? 0) - bytes;
    if (left > 0) this.#byHolder.set(holder, left);
    else this.#byHolder.delete(holder);
    this.#taken -= bytes;
    this.tryWaiting();
  }

  /** @internal Through a reservation only. */
  tryWaiting(): void {
    for (const attempt of this.#waiting) if (attempt()) this.#waiting.delete(attempt);
  }

  /** @internal Through a reservation only. Repeats the attempt whenever memory is released, until it succeeds. */
  wait(attempt: () => boolean): void {
    if (!attempt()) this.#waiting.add(attempt);
  }
}

export class BodyReservation {
  readonly #budget: BodyBudget;
  readonly #holder: string;
  #bytes = 0;
  #isReleased = false;
  /** The largest amount waited for, and its promise. */
  #wanted = 0;
  #waiting: Promise<boolean> | null = null;

  constructor(budget: BodyBudget, holder: string) {
    this.#budget = budget;
    this.#holder = holder;
  }

  /** Reserves this many more bytes. False if they do not fit, or after `release`. */
  grow(bytes: number): boolean {
    if (this.#isReleased || !this.#budget.take(this.#holder, bytes)) return false;
    this.#bytes += bytes;
    return true;
  }

  /**
   * Resolves once this many bytes are reserved in total, or the reservation is released. Releases what is reserved before
   * waiting for more, to avoid a deadlock. After `maxWaitMs` a caller that `mayExceed` continues without enough memory, and the
   * bytes count all the same: slow readers must not make a finished response fail. For any other caller it resolves to false.
   */
  growWhenFree(bytes: number, maxWaitMs: number, mayExceed = true): Promise<boolean> {
    if (this.#waiting !== null && bytes <= this.#wanted) return this.#waiting;
    this.shrinkTo(0);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const lastMs = performance.now() + maxWaitMs;
    const timer = setTimeout(() => this.#budget.tryWaiting(), maxWaitMs + 1);
    this.#wanted = bytes;
    this.#waiting = promise;
    this.#budget.wait(() => {
      const isOver = this.#isReleased || this.#wanted > bytes;
      const isLate = performance.now() >= lastMs;
      const isTaken = !isOver && this.#budget.take(this.#holder, bytes, isLate && mayExceed);
      if (!isOver && !isTaken && !isLate) return false;
      if (isTaken) this.#bytes += bytes;
      clearTimeout(timer);
      resolve(isOver || isTaken);
      return true;
    });
    return promise;
  }

  /** Releases everything above this. */
  shrinkTo(bytes: number): void {
    const more = this.#bytes - bytes;
    if (more <= 0) return;
    this.#bytes = bytes;
    // What was wanted before has to be reserved again.
    this.#wanted = Math.min(this.#wanted, bytes);
    this.#budget.giveBack(this.#holder, more);
  }

  /** Safe to call more than once. */
  release(): void {
    this.#isReleased = true;
    this.shrinkTo(0);
    this.#budget.tryWaiting();
  }
}
