import { msPerDay } from "../../src/base/clock.ts";
import type {
  AccountRecord,
  AccountTotals,
  CapRecord,
  CapTotals,
  ValueCapRecord,
} from "../../src/store/store.ts";

/** What is set aside, or was taken, and when that counts. */
export interface BilledItem {
  readonly keyId: string;
  readonly accountId: string;
  readonly model: string;
  readonly labels: string | null;
  readonly countedAtMs: number;
  readonly periodStartMs: number;
}

/** What decides about the limits that it falls under. */
export type Spender = Pick<BilledItem, "keyId" | "accountId" | "model" | "labels">;

export interface ModelHold extends BilledItem {
  readonly id: string;
  readonly amount: number;
}

/** What was charged in a period that begins then. */
type UsedIn = (startMs: number) => number;

/** What counts in a period because a clock returned to it. The database says which charges do. */
function returnedTo(startMs: number, laterUsed: string | null | undefined): number {
  const later: { used: number; in: number }[] = JSON.parse(laterUsed ?? "[]");
  return later.reduce((sum, each) => (each.in === startMs ? sum + each.used : sum), 0);
}

/** Periods begin with a UTC day, a Monday or a month, or never. */
function startOf(period: string, atMs: number): number {
  const date = new Date(atMs);
  const day = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate());
  if (period === "day") return day;
  if (period === "week") return day - ((date.getUTCDay() + 6) % 7) * msPerDay;
  return period === "month" ? Date.UTC(date.getUTCFullYear(), date.getUTCMonth()) : 0;
}

/** The end of a period; infinite if it never ends. */
export function endOf(period: string, startMs: number): number {
  if (period === "none") return Number.POSITIVE_INFINITY;
  const days = period === "day" ? 1 : period === "week" ? 7 : 31;
  return startOf(period, startMs + days * msPerDay);
}

/** By the model that runs, or the one that was requested. */
export function coversModels(pattern: string | null, { model, labels }: Spender): boolean {
  const start = pattern?.replace("*", "") ?? "";
  const requested: string = JSON.parse(labels ?? "{}").fallback_from ?? model;
  return [model, requested].some((name) => name.startsWith(start));
}

/** Of a key or of an account. */
export class CapModel {
  record: CapRecord;
  readonly ownerId: string;
  period: number;
  used = 0;
  readonly #usedIn: (cap: CapModel) => number;
  #later: string | null | undefined;

  constructor(record: CapRecord, ownerId: string, period: number, usedIn: (cap: CapModel) => number) {
    this.#usedIn = usedIn;
    this.record = record;
    this.ownerId = ownerId;
    this.period = period;
  }

  /** For all models, or for those that begin as its pattern does. */
  covers(spender: Spender): boolean {
    const isOwned = this.ownerId === spender.keyId || this.ownerId === spender.accountId;
    return isOwned && coversModels(this.record.models, spender);
  }

  isCurrent({ countedAtMs }: Pick<BilledItem, "countedAtMs">): boolean {
    return startOf(this.record.period, countedAtMs) === this.period;
  }

  see(atMs: number): void {
    const start = startOf(this.record.period, atMs);
    if (start <= this.period) return;
    this.period = start;
    this.used = this.#usedIn(this) + returnedTo(start, this.#later);
  }

  /** As it will be at a time whose period may not have begun yet. */
  at(atMs: number): CapModel {
    const then = new CapModel(this.record, this.ownerId, this.period, this.#usedIn);
    then.#later = this.#later;
    then.used = this.used;
    then.see(atMs);
    return then;
  }

  get limit(): number {
    const { limit, extra, extraPeriodMs } = this.record;
    return extraPeriodMs === this.period ? limit + extra : limit;
  }

  get left(): number {
    return Math.max(0, this.limit - this.used);
  }

  restart({ periodStartMs, used, laterUsed }: Omit<CapTotals, "no">): void {
    this.period = periodStartMs;
    this.used = used;
    this.#later = laterUsed;
  }
}

/** The value that a limit counts a request by; null if it counts it by none. */
export function valueFor(cap: ValueCapRecord, { keyId, accountId, labels }: Spender): string | null {
  if (labels === null || (cap.keyId ?? keyId) !== keyId || (cap.accountId ?? accountId) !== accountId)
    return null;
  const value: string = JSON.parse(labels)[cap.label] || (cap.isOptional ? "" : null);
  return cap.value === null || cap.value === value ? value : null;
}

/** Of one value, in a limit that counts each or this one. */
export class ValueModel extends CapModel {
  declare record: ValueCapRecord;
  readonly value: string;
  raise = { extra: 0, extraPeriodMs: 0 };

  constructor(record: ValueCapRecord, value: string, period: number, usedIn: (cap: CapModel) => number) {
    super(record, "", period, usedIn);
    this.value = value;
  }

  override covers(spender: Spender): boolean {
    return coversModels(this.record.models, spender) && valueFor(this.record, spender) === this.value;
  }

  override get limit(): number {
    return super.limit + (this.raise.extraPeriodMs === this.period ? this.raise.extra : 0);
  }
}

export class AccountModel {
  record: AccountRecord;
  posted = 0;
  used = 0;
  period = 0;
  periodUsed = 0;
  countedAtMs = 0;

  readonly #usedIn: UsedIn;
  #later: string | null | undefined;

  constructor(record: AccountRecord, usedIn: UsedIn) {
    this.#usedIn = usedIn;
    this.record = record;
  }

  get isCredit(): boolean {
    return this.record.mode === "credit";
  }

  get balance(): number {
    const { isPostpaid, budgetTokens } = this.record;
    if (isPostpaid) return Number.POSITIVE_INFINITY;
    return this.isCredit ? this.posted : Math.max(0, (budgetTokens ?? 0) - this.periodUsed);
  }

  see(atMs: number): void {
    const start = this.isCredit ? 0 : startOf(this.record.period, atMs);
    this.begin(start);
  }

  begin(start: number): void {
    if (start <= this.period) return;
    this.period = start;
    this.periodUsed = this.#usedIn(start) + returnedTo(start, this.#later);
  }

  /** After a crash the database says what happened. */
  restart(record: AccountRecord, totals: AccountTotals): void {
    this.record = record;
    this.posted = this.isCredit ? totals.posted : 0;
    this.used = totals.used;
    this.period = totals.periodStartMs;
    this.periodUsed = totals.periodUsed;
    this.#later = totals.laterUsed;
    this.countedAtMs = totals.countedAtMs;
  }
}
