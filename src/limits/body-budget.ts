export interface BodyBudgetLimits {
  /** Memory for all bodies that are being read at once. */
  totalBytes(): number;
  /** How much of it one key may take, so that its unfinished bodies leave room for everybody else's. */
  perHolderBytes(): number;
}

/** Bounds the memory of request bodies that are still being read. What is taken is always given back: see `reserve`. */
export class BodyBudget {
  readonly #limits: BodyBudgetLimits;
  readonly #byHolder = new Map<string, number>();
  #taken = 0;

  constructor(limits: BodyBudgetLimits) {
    this.#limits = limits;
  }

  get takenBytes(): number {
    return this.#taken;
  }

  /** For one body; whoever gets it must call `release`, whatever becomes of the body. */
  reserve(holder: string): BodyReservation {
    return new BodyReservation(this, holder);
  }

  /** @internal Through a reservation only. */
  take(holder: string, bytes: number): boolean {
    const held = (this.#byHolder.get(holder) ?? 0) + bytes;
    if (this.#taken + bytes > this.#limits.totalBytes() || held > this.#limits.perHolderBytes()) return false;
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
  }
}

export class BodyReservation {
  readonly #budget: BodyBudget;
  readonly #holder: string;
  #bytes = 0;

  constructor(budget: BodyBudget, holder: string) {
    this.#budget = budget;
    this.#holder = holder;
  }

  /** Takes room for so many more bytes; false when there is none. */
  grow(bytes: number): boolean {
    if (!this.#budget.take(this.#holder, bytes)) return false;
    this.#bytes += bytes;
    return true;
  }

  /** Safe to call more than once. */
  release(): void {
    if (this.#bytes > 0) this.#budget.giveBack(this.#holder, this.#bytes);
    this.#bytes = 0;
  }
}
