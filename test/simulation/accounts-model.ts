import { strict as assert } from "node:assert";
import type {
  AccountRecord,
  AccountTotals,
  AuditedEntry,
  CapRecord,
  CapTotals,
  Changes,
  KeyRecord,
  Snapshot,
} from "../../src/store/store.ts";
import {
  AccountModel,
  type BilledItem,
  CapModel,
  endOf,
  type ModelHold,
  type Spender,
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
  readonly holds = new Map<string, ModelHold>();
  /** All that was charged, by exchange: a new cap counts what was taken in its period before. */
  readonly #charged = new Map<string, BilledItem & { readonly amount: number }>();
  /** When the hold that was asked for last counts. */
  #askedAtMs = 0;
  /** When the database let a cap begin, by its number, and how much had been charged by then. */
  readonly #begun = new Map<number, { readonly periodMs: number; readonly charges: number }>();

  account(id: string): AccountModel {
    const account = this.accounts.get(id);
    assert(account !== undefined);
    return account;
  }

  capsOf(drawn: Spender): readonly CapModel[] {
    return this.caps.filter((cap) => cap.covers(drawn));
  }

  heldOf(bound: AccountModel | CapModel): number {
    let sum = 0;
    for (const hold of this.holds.values()) {
      const isHeld =
        bound instanceof CapModel
          ? bound.covers(hold) && bound.isCurrent(hold)
          : hold.accountId === bound.record.id && hold.periodStartMs === bound.period;
      if (isHeld) sum += hold.amount;
    }
    return sum;
  }

  /** The least that any of the bounds leaves. */
  remaining(drawn: Spender): number {
    const account = this.account(drawn.accountId);
    const free = this.capsOf(drawn).map((cap) => cap.left - this.heldOf(cap));
    return Math.max(0, Math.min(account.balance - this.heldOf(account), ...free));
  }

  /** Moves on to the periods of this moment, and says what a hold must be answered with; null if it is admitted. */
  ask(spender: Spender, amount: number, nowMs: number): ExpectedRefusal | null {
    const account = this.account(spender.accountId);
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
    const endsMs = endOf(cap.record.period, cap.period);
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
    for (const cap of this.capsOf(hold)) assert(cap.isCurrent(hold), "it counts in another period");
    this.holds.set(hold.id, hold);
  }

  release(id: string): void {
    this.holds.delete(id);
  }

  /** What settling must charge: the hold's amount plus what is not reserved, within every limit. A postpaid account owes the rest. */
  settle(hold: ModelHold, cost: number, waived: number): ModelCharge {
    const account = this.account(hold.accountId);
    const isPast = hold.periodStartMs !== account.period;
    const free = Math.max(0, account.balance - this.heldOf(account));
    const most = isPast ? hold.amount : hold.amount + free;
    const allowed = account.isCredit ? Math.min(most, account.balance) : most;
    const payable = Math.max(0, Math.min(cost - waived, allowed));
    let covered = payable;
    const caps = this.capsOf(hold);
    for (const cap of caps) {
      const more = cap.isCurrent(hold) ? Math.max(0, cap.left - this.heldOf(cap)) : 0;
      covered = Math.min(covered, hold.amount + more);
    }
    const charged = account.record.isOpen ? payable : covered;
    this.holds.delete(hold.id);
    account.posted -= charged;
    account.used += charged;
    if (!isPast) account.periodUsed += charged;
    for (const cap of caps) if (cap.isCurrent(hold)) cap.used += charged;
    this.#charged.set(hold.id, { ...hold, amount: charged });
    return { charged, owed: charged - covered };
  }

  /** What operators have changed. `begun` has a total of every cap that is new. */
  apply(changes: Pick<Changes, "accounts" | "keys" | "entries">): void {
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
    for (const { accountId, amount } of changes.entries) this.account(accountId).posted += amount;
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
    cap.used = this.#usedOf(cap);
    // The database knew the cap already when these were charged.
    for (const charge of [...this.#charged.values()].slice(charges))
      if (cap.covers(charge)) cap.see(charge.countedAtMs);
    for (const hold of this.holds.values()) if (cap.covers(hold)) cap.see(hold.countedAtMs);
    return cap;
  }

  #newAccount(record: AccountRecord): AccountModel {
    return new AccountModel(record, (startMs) => {
      const charges = [...this.#charged.values()].filter(({ accountId }) => accountId === record.id);
      return sumOf(charges.filter(({ periodStartMs }) => periodStartMs >= startMs));
    });
  }

  /** Charges count in their own period; until it begins, in the current one. */
  #usedOf(cap: CapModel): number {
    return sumOf(
      [...this.#charged.values()].filter((charge) => cap.covers(charge) && charge.countedAtMs >= cap.period),
    );
  }

  /** The clock was set back: the database says what counts now, and what runs does so too. */
  return(now: Pick<Snapshot, "accountTotals" | "capTotals">): void {
    for (const totals of now.accountTotals) {
      const account = this.account(totals.accountId);
      account.restart(account.record, totals);
    }
    for (const { no, ...totals } of now.capTotals)
      this.caps.find((cap) => cap.record.no === no)?.restart(totals);
    for (const hold of this.holds.values()) {
      const account = this.account(hold.accountId);
      account.countedAtMs = Math.max(account.countedAtMs, hold.countedAtMs);
      account.begin(hold.periodStartMs);
      for (const cap of this.capsOf(hold)) cap.see(hold.countedAtMs);
    }
  }

  /** After a crash the database says what happened; nothing is held any more. */
  restart(
    now: {
      readonly accounts: readonly AccountRecord[];
      readonly keys: readonly KeyRecord[];
      readonly accountTotals: readonly AccountTotals[];
      readonly capTotals: readonly CapTotals[];
    },
    charges: readonly AuditedEntry[],
    interrupted: readonly (BilledItem & { readonly holdId: string })[],
  ): void {
    const drawn = new Map<string, BilledItem>([...this.#charged, ...this.holds]);
    for (const hold of interrupted) drawn.set(hold.holdId, hold);
    this.#charged.clear();
    for (const { exchangeId, amount, periodStartMs, countedAtMs } of charges) {
      const known = drawn.get(exchangeId ?? "");
      const before = this.#charged.get(exchangeId ?? "")?.amount ?? 0;
      if (known === undefined || countedAtMs === null) continue;
      // What was interrupted counts at the restart if its clock was ahead.
      this.#charged.set(exchangeId ?? "", { ...known, periodStartMs, countedAtMs, amount: before - amount });
    }
    this.holds.clear();
    this.apply({ accounts: now.accounts, keys: now.keys, entries: [] });
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
