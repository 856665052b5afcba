import { coversModel } from "../base/models/model-pattern.ts";
import type { BoundKind, BoundState, Denial, HeldAmount, StepDown } from "../base/money/bound.ts";
import { type LaterUse, laterUseOf, usedIn } from "../base/money/later-use.ts";
import { nextPeriodStart, periodStart } from "../base/money/period.ts";
import { readLabels } from "../base/requests/labels.ts";
import type { CapSums } from "../store/shared-batch.ts";
import type { CapRecord, CapTotals, HeldFor } from "../store/store.ts";

/** The models that a hold or a charge counts by. */
export interface CountedModels {
  readonly model: string;
  /** The requested one, if a fallback serves; else null. */
  readonly fallbackFrom: string | null;
}

export function coversCounted(pattern: string | null, { model, fallbackFrom }: CountedModels): boolean {
  return coversModel(pattern, model) || (fallbackFrom !== null && coversModel(pattern, fallbackFrom));
}

/** What is known of a hold or a charge. */
export type LabelledItem = Pick<HeldFor, "model" | "labels">;

export function countedModels({ model, labels }: LabelledItem): CountedModels {
  const fallbackFrom = labels === null ? null : readLabels(labels).fallbackFrom;
  return { model, fallbackFrom };
}

/** A cap that counts each value of a label separately, or one value. */
export interface CapGroup {
  /** Remembers the value's counter, now that it counts something. */
  keep(counter: Cap): void;
  /** Number of values with a charge or an open hold in this period; null if it limits one value alone. */
  places(periodStartMs: number): number | null;
  readonly maxValues: number;
  /** The model that a denied request runs on instead; null if it is rejected. */
  readonly stepDown: StepDown | null;
}

export interface CountedValue {
  readonly value: string;
  readonly label: string;
  readonly group: CapGroup;
}

/** An operator's raise of a value's limit, in the period that begins at `extraPeriodMs`. */
export interface Raise {
  readonly extra: number;
  readonly extraPeriodMs: number;
}

const notRaised: Raise = { extra: 0, extraPeriodMs: 0 };

/** A cap of a key or an account in memory, or of a value, with what its current period has used and reserved. */
export class Cap {
  record: CapRecord;
  readonly bound: Exclude<BoundKind, "balance" | "budget">;
  /** Null for a cap that counts everything. */
  readonly counted: CountedValue | null;
  /** A raise for only this value. */
  raise = notRaised;
  /** Another cap replaces it, so it only counts. */
  isReplaced = false;
  #periodStartMs: number;
  #used: number;
  #later: readonly LaterUse[];
  #held: number;

  constructor(
    record: CapRecord,
    bound: Cap["bound"],
    totals: Omit<CapTotals, "no">,
    held = 0,
    counted: CountedValue | null = null,
  ) {
    this.record = record;
    this.bound = bound;
    this.counted = counted;
    this.#periodStartMs = totals.periodStartMs;
    this.#used = totals.used;
    this.#later = laterUseOf(totals.laterUsed);
    this.#held = held;
  }

  get periodStartMs(): number {
    return this.#periodStartMs;
  }

  /** The cap's stored totals. */
  get sums(): CapSums {
    return { no: this.record.no, periodStartMs: this.#periodStartMs, used: this.#used, held: this.#held };
  }

  /** Takes the state from the store; nothing is reserved afterwards. */
  recount({ periodStartMs, used, laterUsed }: Omit<CapTotals, "no">): void {
    this.#periodStartMs = periodStartMs;
    this.#used = used;
    this.#later = laterUseOf(laterUsed);
    this.#held = 0;
  }

  /** By the model that serves, or the requested one where a fallback serves. */
  covers(models: CountedModels): boolean {
    return coversCounted(this.record.models, models);
  }

  /** Only moves forward, so that setting the clock back grants nothing twice. */
  advance(countedAtMs: number): void {
    const startMs = periodStart(this.record.period, countedAtMs);
    if (startMs <= this.#periodStartMs) return;
    this.#periodStartMs = startMs;
    this.#used = usedIn(this.#later, startMs);
    this.#held = 0;
  }

  /** Whether it counts anything in a period that begins then. Only such values take a place. */
  isCounting(periodStartMs: number): boolean {
    return this.#periodStartMs === periodStartMs && (this.#used > 0 || this.#held > 0);
  }

  /** Whether nothing is lost if it is forgotten: its period has ended, or what it reserved was released without a charge. */
  isIdle(periodStartMs: number): boolean {
    if (this.#held > 0 || this.#periodStartMs > periodStartMs) return false;
    return this.#periodStartMs < periodStartMs || (this.#used === 0 && this.#later.length === 0);
  }

  denies(amount: number): Denial | null {
    if (this.isReplaced) return null;
    if (this.#isWithoutPlace()) return "used_up";
    if (this.#used >= this.#limit()) return "used_up";
    const left = this.#left();
    if (left < amount) return "too_little";
    return left - this.#held < amount ? "reserved" : null;
  }

  reserve(hold: HeldAmount): void {
    this.counted?.group.keep(this);
    if (this.isCurrent(hold)) this.#held += hold.amount;
  }

  release(hold: HeldAmount): void {
    if (this.isCurrent(hold)) this.#held -= hold.amount;
  }

  /** The maximum that settling this hold can charge, before it is released. */
  affordable(hold: HeldAmount): number {
    if (this.isReplaced) return Number.POSITIVE_INFINITY;
    // The rest of a past period is no longer known, but it covered this hold.
    if (!this.isCurrent(hold)) return hold.isLost ? Number.POSITIVE_INFINITY : hold.amount;
    return hold.amount + Math.max(0, this.#left() - this.#held);
  }

  /** A charge of an earlier period changes nothing. A charge of a later one, from before a crash, starts that period. */
  charge(charged: number, countedAtMs: number): void {
    this.counted?.group.keep(this);
    this.advance(countedAtMs);
    if (periodStart(this.record.period, countedAtMs) === this.#periodStartMs) this.#used += charged;
  }

  /** The amount that can still be held. */
  remaining(): number {
    if (this.isReplaced) return Number.POSITIVE_INFINITY;
    return Math.max(0, this.#left() - this.#held);
  }

  /** The state at this time, whose period may not have begun yet. Without a time, the current state. */
  state(countedAtMs = 0): BoundState {
    const { period, models } = this.record;
    const startMs = Math.max(periodStart(period, countedAtMs), this.#periodStartMs);
    const isCurrent = startMs === this.#periodStartMs;
    const limit = this.#limit(startMs);
    const used = isCurrent ? this.#used : usedIn(this.#later, startMs);
    return {
      bound: this.bound,
      ...(this.counted && { value: this.counted.value || null, label: this.counted.label }),
      ...(this.counted?.group.stepDown && { stepDown: this.counted.group.stepDown }),
      ...(this.#isWithoutPlace() && { maxValues: this.counted?.group.maxValues ?? 0 }),
      period,
      models,
      limit,
      extra: limit - this.record.limit,
      used,
      held: isCurrent ? this.#held : 0,
      left: Math.max(0, limit - used),
      resetsAtMs: nextPeriodStart(period, startMs),
    };
  }

  isCurrent({ countedAtMs }: HeldAmount): boolean {
    return periodStart(this.record.period, countedAtMs) === this.#periodStartMs;
  }

  #limit(periodStartMs = this.#periodStartMs): number {
    const { limit, extra, extraPeriodMs } = this.record;
    const raised = extraPeriodMs === periodStartMs ? limit + extra : limit;
    return this.raise.extraPeriodMs === periodStartMs ? raised + this.raise.extra : raised;
  }

  /** A new value, and as many as may be counted are. */
  #isWithoutPlace(): boolean {
    if (this.counted === null || this.isCounting(this.#periodStartMs)) return false;
    const { group } = this.counted;
    const places = group.places(this.#periodStartMs);
    return places !== null && places >= group.maxValues;
  }

  #left(): number {
    return Math.max(0, this.#limit() - this.#used);
  }
}
