import { strict as assert } from "node:assert";
import { newId } from "../../src/base/id.ts";
import type {
  AccountRecord,
  AccountTotals,
  AuditedEntry,
  CapRecord,
  CapTotals,
  Changes,
  KeyRecord,
  Snapshot,
  ValueCapRecord,
  ValueTotals,
} from "../../src/store/store.ts";
import {
  AccountModel,
  type BilledItem,
  CapModel,
  coversModels,
  endOf,
  type ModelHold,
  type Spender,
  ValueModel,
  valueFor,
} from "./account-model.ts";

interface Denial {
  /** 1 used up, 2 too little, 3 reserved by other holds. */
  readonly rank: number;
  readonly endsMs: number;
}

interface ModelCharge {
  readonly charged: number;
  /** The part above the caps of a postpaid account, which is an entry of its own. */
  readonly owed: number;
}

/** What a rejection must say: its code, and when the limit that it names resets. */
export interface ExpectedRefusal {
  readonly code: string;
  readonly endsMs: number;
}

/**
 * What the protocol says about keys, accounts and caps, written a second time and as plainly as possible, without
 * regard to speed: the ledger must always agree with it.
 */
export class AccountsModel {
  readonly accounts = new Map<string, AccountModel>();
  readonly keys = new Map<string, KeyRecord>();
  /** By their numbers. */
  caps: readonly CapModel[] = [];
  /** Limits by value, and what they have counted. */
  valueCaps: readonly ValueCapRecord[] = [];
  values: ValueModel[] = [];
  /** Of the ids of limits by value that this history makes: several may share a database. */
  readonly capPrefix = newId("cap_");
  readonly holds = new Map<string, ModelHold>();
  /** All that was charged, by exchange, and by when it counts if that has two parts: a new cap counts what was taken in its period before. */
  readonly #charged = new Map<string, BilledItem & { readonly amount: number }>();
  /** When the hold that was asked for last counts. */
  #askedAtMs = 0;
  /** When the database let a cap begin, by its number, and how much had been charged by then. */
  readonly #begunValues = new Map<number, { readonly periodMs: number; readonly charges: number }>();
  readonly #begun = new Map<number, { readonly periodMs: number; readonly charges: number }>();

  account(id: string): AccountModel {
    const account = this.accounts.get(id);
    assert(account !== undefined);
    return account;
  }

  capsOf(drawn: Spender): readonly CapModel[] {
    return [...this.caps.filter((cap) => cap.covers(drawn)), ...this.#valuesOf(drawn)];
  }

  /** Of every limit by value that counts it; a new value begins with nothing. */
  #valuesOf(drawn: Spender): readonly ValueModel[] {
    const { record } = this.account(drawn.accountId);
    return this.valueCaps.flatMap((cap) => {
      const value = cap.mode === record.mode && coversModels(cap.models, drawn) ? valueFor(cap, drawn) : null;
      return value === null ? [] : this.#counter(cap, value);
    });
  }

  #counter(cap: ValueCapRecord, value: string): ValueModel {
    const counter = this.values.find((each) => each.record.no === cap.no && each.value === value);
    return counter ?? new ValueModel(cap, value, 0, (made) => this.#usedOf(made));
  }

  /** The counters that a hold or a charge counts in are there from now on. */
  #keep(caps: readonly CapModel[]): void {
    for (const cap of caps)
      if (cap instanceof ValueModel && !this.values.includes(cap)) this.values.push(cap);
  }

  /** Another limit, of this value alone, holds in its place. */
  #isReplaced(cap: CapModel): boolean {
    if (!(cap instanceof ValueModel) || cap.record.value !== null) return false;
    const kind = ({ keyId, accountId, label, period, models, mode }: ValueCapRecord) =>
      JSON.stringify([keyId, accountId, label, period, models, mode]);
    return this.valueCaps.some((other) => other.value === cap.value && kind(other) === kind(cap.record));
  }

  #isWithoutPlace(cap: CapModel): boolean {
    if (!(cap instanceof ValueModel) || cap.record.value !== null) return false;
    const others = this.values.filter(
      ({ record, period }) => record.no === cap.record.no && period === cap.period,
    );
    const counting = others.filter((each) => each.used > 0 || this.heldOf(each) > 0);
    return !counting.includes(cap) && counting.length >= cap.record.maxValues;
  }

  /** A label that it lacks. */
  #isUnlabelled(drawn: Spender): boolean {
    const { record } = this.account(drawn.accountId);
    return this.valueCaps.some(
      (cap) =>
        cap.value === null &&
        !cap.isOptional &&
        cap.label !== "owner" &&
        cap.mode === record.mode &&
        drawn.labels !== null &&
        coversModels(cap.models, drawn) &&
        (cap.keyId ?? drawn.keyId) === drawn.keyId &&
        (cap.accountId ?? drawn.accountId) === drawn.accountId &&
        valueFor(cap, drawn) === null,
    );
  }

  heldOf(bound: AccountModel | CapModel): number {
    let sum = 0;
    for (const hold of this.holds.values()) {
      const isHeld =
        bound instanceof CapModel
          ? bound.covers(hold) &&
            bound.isCurrent(hold) &&
            (!(bound instanceof ValueModel) || bound.record.mode === this.account(hold.accountId).record.mode)
          : hold.accountId === bound.record.id && hold.periodStartMs === bound.period;
      if (isHeld) sum += hold.amount;
    }
    return sum;
  }

  /** The least that any of the bounds leaves. */
  remaining(drawn: Spender): number {
    const account = this.account(drawn.accountId);
    const free = this.capsOf(drawn)
      .filter((cap) => !this.#isReplaced(cap))
      .map((cap) => cap.left - this.heldOf(cap));
    return Math.max(0, Math.min(account.balance - this.heldOf(account), ...free));
  }

  /** Moves on to the periods of this moment, and says what a hold must be answered with; null if it is admitted. */
  ask(spender: Spender, amount: number, nowMs: number): ExpectedRefusal | null {
    const account = this.account(spender.accountId);
    if (this.#isUnlabelled(spender)) return { code: "invalid_request", endsMs: Infinity };
    const caps = this.capsOf(spender);
    const countedAtMs = Math.max(nowMs, account.countedAtMs, ...caps.map(({ period }) => period));
    this.#askedAtMs = countedAtMs;
    account.see(countedAtMs);
    for (const cap of caps) cap.see(countedAtMs);
    const denials = [
      this.#deniedByAccount(account, amount),
      ...caps.map((cap) => this.#deniedBy(cap, amount)),
    ]
      .filter((denial) => denial !== null)
      .toSorted((one, other) => one.rank - other.rank || (other.endsMs > one.endsMs ? 1 : -1));
    const [first] = denials;
    if (first === undefined) return null;
    const { rank, endsMs } = first;
    if (rank === 3) return { code: "balance_temporarily_reserved", endsMs };
    // A limit that never resets is like spent credit.
    return { code: rank === 1 && endsMs < Infinity ? "limit_reached" : "insufficient_credit", endsMs };
  }

  #deniedByAccount(account: AccountModel, amount: number): Denial | null {
    const { balance, isCredit, period, record } = account;
    const endsMs = isCredit ? Infinity : endOf(record.period, period);
    if (balance < amount) return { rank: isCredit || balance > 0 ? 2 : 1, endsMs };
    return balance - this.heldOf(account) < amount ? { rank: 3, endsMs } : null;
  }

  #deniedBy(cap: CapModel, amount: number): Denial | null {
    if (this.#isReplaced(cap)) return null;
    const endsMs = endOf(cap.record.period, cap.period);
    if (this.#isWithoutPlace(cap)) return { rank: 1, endsMs };
    if (cap.used >= cap.limit) return { rank: 1, endsMs };
    if (cap.left < amount) return { rank: 2, endsMs };
    return cap.left - this.heldOf(cap) < amount ? { rank: 3, endsMs } : null;
  }

  /** The same for what replaces a hold, without which it is decided. */
  askInstead(hold: ModelHold, spender: Spender, amount: number, nowMs: number): ExpectedRefusal | null {
    this.holds.delete(hold.id);
    const expected = this.ask(spender, amount, nowMs);
    this.holds.set(hold.id, hold);
    return expected;
  }

  open(hold: ModelHold): void {
    const account = this.account(hold.accountId);
    assert.equal(hold.countedAtMs, this.#askedAtMs, "it counts at another time");
    account.countedAtMs = hold.countedAtMs;
    const caps = this.capsOf(hold);
    for (const cap of caps) cap.see(hold.countedAtMs);
    for (const cap of caps) assert(cap.isCurrent(hold), "it counts in another period");
    this.#keep(caps);
    this.holds.set(hold.id, hold);
  }

  release(id: string): void {
    this.holds.delete(id);
  }

  /**
   * What settling must charge: the hold's amount plus what is not reserved, within every limit. A postpaid account owes the rest. If a
   * limit is in another period than the hold, a prepaid account pays what is above the hold out of what is free now.
   */
  settle(hold: ModelHold, cost: number, waived: number, nowMs: number): ModelCharge {
    const account = this.account(hold.accountId);
    const caps = this.capsOf(hold);
    const isOver = hold.periodStartMs !== account.period || caps.some((cap) => !cap.isCurrent(hold));
    if (account.record.isPostpaid || !isOver || cost - waived <= hold.amount)
      return this.#settle(hold, cost - waived);
    const own = this.#settle(hold, hold.amount);
    const countedAtMs = Math.max(nowMs, account.countedAtMs, ...caps.map(({ period }) => period));
    account.see(countedAtMs);
    for (const cap of caps) cap.see(countedAtMs);
    account.countedAtMs = countedAtMs;
    const late = { ...hold, id: `${hold.id} late`, amount: 0, periodStartMs: account.period, countedAtMs };
    const { charged: owed } = this.#settle(late, cost - waived - hold.amount);
    return { charged: own.charged + owed, owed };
  }

  #settle(hold: ModelHold, cost: number): ModelCharge {
    const account = this.account(hold.accountId);
    const isPast = hold.periodStartMs !== account.period;
    const free = Math.max(0, account.balance - this.heldOf(account));
    const most = isPast ? hold.amount : hold.amount + free;
    const allowed = account.isCredit ? Math.min(most, account.balance) : most;
    const payable = Math.max(0, Math.min(cost, allowed));
    let covered = payable;
    const caps = this.capsOf(hold);
    this.#keep(caps);
    for (const cap of caps.filter((each) => !this.#isReplaced(each))) {
      const more = cap.isCurrent(hold) ? Math.max(0, cap.left - this.heldOf(cap)) : 0;
      covered = Math.min(covered, hold.amount + more);
    }
    const charged = account.record.isPostpaid ? payable : covered;
    this.holds.delete(hold.id);
    account.posted -= charged;
    account.used += charged;
    if (!isPast) account.periodUsed += charged;
    for (const cap of caps) {
      if (cap instanceof ValueModel) cap.see(hold.countedAtMs);
      if (cap.isCurrent(hold)) cap.used += charged;
    }
    this.#charged.set(hold.id, { ...hold, amount: charged });
    return { charged, owed: charged - covered };
  }

  /** What operators have changed. `begun` has a total of every cap that is new. */
  apply(changes: Pick<Changes, "accounts" | "keys" | "entries"> & Partial<Pick<Changes, "valueCaps">>): void {
    for (const record of changes.accounts) {
      const account = this.accounts.get(record.id) ?? this.#newAccount(record);
      this.accounts.set(record.id, account);
      account.record = record;
      this.#setCaps(record.id, record.caps);
    }
    for (const key of changes.keys) {
      this.keys.set(key.id, key);
      this.#setCaps(key.id, key.caps);
    }
    if (changes.valueCaps !== undefined) this.#setValueCaps(changes.valueCaps);
    for (const { accountId, amount } of changes.entries) this.account(accountId).posted += amount;
  }

  #setValueCaps({ caps, raises }: Changes["valueCaps"]): void {
    const known = new Map(this.valueCaps.map((cap) => [cap.no, cap]));
    const isSame = (cap: ValueCapRecord) =>
      known.get(cap.no)?.period === cap.period && known.get(cap.no)?.models === cap.models;
    this.valueCaps = caps;
    this.values = this.values.filter((value) =>
      caps.some((cap) => cap.no === value.record.no && isSame(cap)),
    );
    for (const value of this.values)
      value.record = caps.find(({ no }) => no === value.record.no) ?? value.record;
    for (const cap of caps.filter((each) => !isSame(each))) this.#countValues(cap);
    for (const { capNo, value, extra, extraPeriodMs } of raises) {
      const cap = caps.find(({ no }) => no === capNo);
      if (cap === undefined) continue;
      const counter = this.#counter(cap, value);
      counter.raise = { extra, extraPeriodMs };
      this.#keep([counter]);
    }
  }

  /** What its period has seen before it was there. */
  #countValues(cap: ValueCapRecord): void {
    const { periodMs, charges } = this.#begunValues.get(cap.no) ?? { periodMs: 0, charges: 0 };
    const seen = [...this.#charged.values(), ...this.holds.values()];
    const applies = (item: BilledItem) =>
      this.account(item.accountId).record.mode === cap.mode && coversModels(cap.models, item);
    const values = new Set(seen.filter(applies).map((item) => valueFor(cap, item)));
    for (const value of values) {
      if (value === null) continue;
      const counter = new ValueModel(cap, value, periodMs, (made) => this.#usedOf(made));
      counter.used = this.#usedFrom(counter);
      const late = [...this.#charged.values()].slice(charges);
      for (const item of [...late, ...this.holds.values()])
        if (counter.covers(item) && applies(item)) counter.see(item.countedAtMs);
      this.values.push(counter);
    }
  }

  /** A limit by value that the database has just begun to count, in the period that begins then. */
  beginValues({ no }: ValueCapRecord, periodMs: number): void {
    this.#begunValues.set(no, { periodMs, charges: this.#charged.size });
  }

  /** Caps that the database has just made, and where their periods begin. */
  begin(totals: readonly CapTotals[]): void {
    const charges = this.#charged.size;
    for (const { no, periodStartMs: periodMs } of totals)
      if (!this.#begun.has(no)) this.#begun.set(no, { periodMs, charges });
  }

  #setCaps(ownerId: string, records: readonly CapRecord[]): void {
    const before = new Map(this.caps.map((cap) => [cap.record.no, cap]));
    const now = records.map((record) => {
      const known = before.get(record.no);
      if (known === undefined) return this.#newCap(record, ownerId);
      known.record = record;
      return known;
    });
    this.caps = [...this.caps.filter((cap) => cap.ownerId !== ownerId), ...now];
  }

  #newCap(record: CapRecord, ownerId: string): CapModel {
    const { periodMs, charges } = this.#begun.get(record.no) ?? { periodMs: 0, charges: 0 };
    const cap = new CapModel(record, ownerId, periodMs, (made) => this.#usedOf(made));
    cap.used = this.#usedFrom(cap);
    // The database knew the cap already when these were charged.
    for (const charge of [...this.#charged.values()].slice(charges))
      if (cap.covers(charge)) cap.see(charge.countedAtMs);
    for (const hold of this.holds.values()) if (cap.covers(hold)) cap.see(hold.countedAtMs);
    return cap;
  }

  #newAccount(record: AccountRecord): AccountModel {
    return new AccountModel(record, (startMs) => {
      const charges = [...this.#charged.values()].filter(({ accountId }) => accountId === record.id);
      return sumOf(charges.filter(({ periodStartMs }) => periodStartMs === startMs));
    });
  }

  /** Charges count in their own period. */
  #usedOf(cap: CapModel): number {
    return sumOf(this.#countedBy(cap).filter((charge) => cap.isCurrent(charge)));
  }

  /** A new limit also counts charges of later periods. */
  #usedFrom(cap: CapModel): number {
    return sumOf(this.#countedBy(cap).filter(({ countedAtMs }) => countedAtMs >= cap.period));
  }

  #countedBy(cap: CapModel) {
    return [...this.#charged.values()].filter(
      (charge) =>
        cap.covers(charge) &&
        (!(cap instanceof ValueModel) || cap.record.mode === this.account(charge.accountId).record.mode),
    );
  }

  /** The clock was set back: the database says what counts now, and what runs does so too. */
  return(now: Pick<Snapshot, "accountTotals" | "capTotals" | "valueTotals">): void {
    for (const totals of now.accountTotals) {
      const account = this.account(totals.accountId);
      account.restart(account.record, totals);
    }
    for (const { no, ...totals } of now.capTotals)
      this.caps.find((cap) => cap.record.no === no)?.restart(totals);
    this.#restartValues(now.valueTotals);
    for (const hold of this.holds.values()) {
      const account = this.account(hold.accountId);
      account.countedAtMs = Math.max(account.countedAtMs, hold.countedAtMs);
      account.begin(hold.periodStartMs);
      const caps = this.capsOf(hold);
      for (const cap of caps) cap.see(hold.countedAtMs);
      this.#keep(caps);
    }
  }

  #restartValues(all: readonly ValueTotals[]): void {
    this.values = all.flatMap((totals) => {
      const cap = this.valueCaps.find(({ no }) => no === totals.capNo);
      if (cap === undefined) return [];
      const counter = new ValueModel(cap, totals.value, 0, (made) => this.#usedOf(made));
      counter.restart(totals);
      counter.raise = totals;
      return counter;
    });
  }

  /** After a crash the database says what happened; nothing is held any more. */
  restart(
    now: {
      readonly accounts: readonly AccountRecord[];
      readonly keys: readonly KeyRecord[];
      readonly accountTotals: readonly AccountTotals[];
      readonly capTotals: readonly CapTotals[];
      readonly valueCaps: readonly ValueCapRecord[];
      readonly valueTotals: readonly ValueTotals[];
    },
    charges: readonly AuditedEntry[],
    interrupted: readonly (BilledItem & { readonly holdId: string })[],
  ): void {
    const drawn = new Map<string, BilledItem>(this.holds);
    for (const [part, item] of this.#charged) drawn.set(part.split(" ")[0] ?? "", item);
    for (const hold of interrupted) drawn.set(hold.holdId, hold);
    this.#charged.clear();
    for (const { exchangeId, amount, periodStartMs, countedAtMs } of charges) {
      const known = drawn.get(exchangeId ?? "");
      // What is above a hold may count in another period than the hold.
      const part = `${exchangeId} ${countedAtMs}`;
      const before = this.#charged.get(part)?.amount ?? 0;
      if (known === undefined || countedAtMs === null) continue;
      // What was interrupted counts at the restart if its clock was ahead.
      this.#charged.set(part, { ...known, periodStartMs, countedAtMs, amount: before - amount });
    }
    this.holds.clear();
    this.apply({ accounts: now.accounts, keys: now.keys, entries: [] });
    this.valueCaps = now.valueCaps;
    this.#restartValues(now.valueTotals);
    for (const totals of now.accountTotals) {
      const account = this.account(totals.accountId);
      account.restart(account.record, totals);
    }
    for (const { no, ...totals } of now.capTotals)
      this.caps.find((cap) => cap.record.no === no)?.restart(totals);
  }
}

function sumOf(charges: readonly { readonly amount: number }[]): number {
  return charges.reduce((sum, { amount }) => sum + amount, 0);
}
