export interface BodyBudgetLimits {
  /** Memory for all bodies that are being read at once. */
  totalBytes(): number;
  /** The largest body that is accepted; at most the total. */
  largestBytes(): number;
}

/** Share of the total that stays reserved when a holder takes one largest body. */
const reservedPart = 1 / 8;

/**
 * Bounds the memory of request bodies that are still being read. A holder may take as much as it leaves free: alone half
 * of the total, a second one half of the rest, and so on. So however many bodies are left unfinished, there is room for
 * small ones of another holder. Where that would be less than the largest body, a holder may take one of those, as long
 * as a part of the total stays reserved.
 */
export class BodyBudget {
  readonly #limits: BodyBudgetLimits;
  readonly #byHolder = new Map<string, number>();
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

  /** @internal Through a reservation only. */
  take(holder: string, bytes: number): boolean {
    const held = (this.#byHolder.get(holder) ?? 0) + bytes;
    const [total, largest] = [this.#limits.totalBytes(), this.#limits.largestBytes()];
    const free = total - this.#taken - bytes;
    const reserved = Math.min(total * reservedPart, total - largest);
    if (held > free && (held > largest || free < reserved)) return false;
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
    for (const attempt of this.#waiting) if (attempt()) this.#waiting.delete(attempt);
  }

  /** @internal Through a reservation only. Repeats the attempt whenever something is given back, until it succeeds. */
  wait(attempt: () => boolean): void {
    if (!attempt()) this.#waiting.add(attempt);
  }

  get largestBytes(): number {
    return this.#limits.largestBytes();
  }
}

export class BodyReservation implements Disposable {
  readonly #budget: BodyBudget;
  readonly #holder: string;
  #bytes = 0;
  #isReleased = false;

  constructor(budget: BodyBudget, holder: string) {
    this.#budget = budget;
    this.#holder = holder;
  }

  /** Reserves this many more bytes; false if there is no room. */
  grow(bytes: number): boolean {
    if (!this.#budget.take(this.#holder, bytes)) return false;
    this.#bytes += bytes;
    return true;
  }

  /**
   * Resolves once this many more bytes are reserved, or the reservation is released. What is larger than the largest body counts
   * as that, since there might never be more.
   */
  growWhenFree(bytes: number): Promise<void> {
    const counted = Math.min(bytes, this.#budget.largestBytes);
    return new Promise((resolve) => {
      this.#budget.wait(() => {
        if (!this.#isReleased && !this.grow(counted)) return false;
        resolve();
        return true;
      });
    });
  }

  /** Gives back what is more than this. */
  shrinkTo(bytes: number): void {
    const more = this.#bytes - bytes;
    if (more <= 0) return;
    this.#bytes = bytes;
    this.#budget.giveBack(this.#holder, more);
  }

  /** Safe to call more than once. */
  release(): void {
    this.#isReleased = true;
    this.shrinkTo(0);
  }

  [Symbol.dispose](): void {
    this.release();
  }
}
