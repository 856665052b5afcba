import { assert } from "../base/assert.ts";
import { isAhead, msPerDay } from "../base/clock.ts";
import type { HeldAmount } from "../base/money/bound.ts";
import { periodStart } from "../base/money/period.ts";
import {
  type AccountRecord,
  type CapRecord,
  type CapTotals,
  type Changes,
  type CountedTotals,
  emptyAccount,
  emptyKey,
  type JournaledStore,
  type KeyRecord,
  type Snapshot,
} from "../store/store.ts";
import { Account } from "./account.ts";
import { Cap, countedModels, type LabelledItem } from "./cap.ts";
import { KeyFunds } from "./key-funds.ts";
import { ValueCaps } from "./value-caps.ts";

/** Fields that charges and holds share. A new cap counts both. */
interface BilledItem extends LabelledItem {
  readonly keyId: string;
  readonly accountId: string;
}

/** All keys and accounts in memory, kept up to date with operators' changes. */
export class Funds {
  readonly #store: Pick<JournaledStore, "countCaps" | "countValueCaps">;
  readonly #open: Iterable<BilledItem & HeldAmount>;
  readonly valueCaps = new ValueCaps();
  readonly #accounts = new Map<string, Account>();
  readonly #byKey = new Map<string, KeyFunds>();

  /** `open` iterates over the open holds at any time. */
  constructor(
    store: Pick<JournaledStore, "countCaps" | "countValueCaps">,
    snapshot: Snapshot,
    open: Iterable<BilledItem & HeldAmount>,
  ) {
    this.#store = store;
    this.#open = open;
    const counted = new Map(snapshot.capTotals.map((totals) => [totals.no, totals]));
    const capsOf = (records: readonly CapRecord[], bound: Cap["bound"]) =>
      records.map((record) => new Cap(record, bound, counted.get(record.no) ?? nothingCounted));
    const accountTotals = new Map(snapshot.accountTotals.map((totals) => [totals.accountId, totals]));
    for (const account of snapshot.accounts) {
      const totals = accountTotals.get(account.id) ?? emptyAccount(account.id);
      this.#accounts.set(account.id, new Account(account, totals, 0, capsOf(account.caps, "account_cap")));
    }
    this.valueCaps.set(snapshot.valueCaps, snapshot.valueTotals);
    for (const totals of snapshot.valueTotals) this.valueCaps.find(totals.capNo)?.load(totals);
    const keyTotals = new Map(snapshot.keyTotals.map((totals) => [totals.keyId, totals]));
    for (const key of snapshot.keys) {
      const totals = keyTotals.get(key.id) ?? emptyKey(key.id);
      const funds = new KeyFunds(
        key,
        this.account(key.accountId),
        totals,
        capsOf(key.caps, "key_cap"),
        this.valueCaps,
      );
      this.#byKey.set(key.id, funds);
    }
  }

  of(keyId: string): KeyFunds {
    const funds = this.#byKey.get(keyId);
    assert(funds !== undefined, "unknown key", keyId);
    return funds;
  }

  account(accountId: string): Account {
    const account = this.#accounts.get(accountId);
    assert(account !== undefined, "unknown account", accountId);
    return account;
  }

  apply(changes: Changes): void {
    for (const record of changes.accounts) this.#applyAccount(record);
    for (const key of changes.keys) this.#applyKey(key);
    this.#applyValueCaps(changes.valueCaps);
    for (const entry of changes.entries) this.account(entry.accountId).credit(entry.amount);
  }

  /** The latest time at which a period or day with an amount begins. */
  latestMs(): number {
    let latestMs = 0;
    for (const account of this.#accounts.values()) {
      latestMs = Math.max(latestMs, account.countedAtMs);
      for (const cap of account.caps) latestMs = Math.max(latestMs, cap.periodStartMs);
    }
    for (const { day, caps } of this.#byKey.values()) {
      latestMs = Math.max(latestMs, day * msPerDay);
      for (const cap of caps) latestMs = Math.max(latestMs, cap.periodStartMs);
    }
    for (const { counters } of this.valueCaps.all())
      for (const cap of counters.values()) latestMs = Math.max(latestMs, cap.periodStartMs);
    return latestMs;
  }

  /** The period of a hold. If its clock was more than an hour ahead, the current period. */
  presentOf<Held extends BilledItem & Pick<HeldAmount, "periodStartMs" | "countedAtMs">>(
    hold: Held,
    nowMs: number,
  ): Pick<HeldAmount, "periodStartMs" | "countedAtMs"> {
    const { periodStartMs, countedAtMs, accountId } = hold;
    if (!isAhead(countedAtMs, nowMs)) return { periodStartMs, countedAtMs };
    const { period } = this.account(accountId).terms;
    const startMs = periodStart(period === "none" ? "day" : period, nowMs);
    return { periodStartMs: Math.min(periodStartMs, startMs), countedAtMs: nowMs };
  }

  /** Takes all periods from the store, then adds what the store does not know yet: unwritten charges and open holds. */
  recount({ accountTotals, keyTotals, capTotals, valueTotals, pending }: CountedTotals): void {
    for (const cap of this.valueCaps.all())
      cap.recount(valueTotals.filter(({ capNo }) => capNo === cap.record.no));
    const caps = new Map(capTotals.map((totals) => [totals.no, totals]));
    const recountCaps = (own: readonly Cap[]) => {
      for (const cap of own) cap.recount(caps.get(cap.record.no) ?? nothingCounted);
    };
    for (const totals of accountTotals) {
      const account = this.#accounts.get(totals.accountId);
      account?.recount(totals);
      recountCaps(account?.caps ?? []);
    }
    for (const totals of keyTotals) {
      const funds = this.#byKey.get(totals.keyId);
      funds?.recountDay(totals);
      recountCaps(funds?.caps ?? []);
    }
    for (const charge of pending) {
      const { charged, countedAtMs } = charge;
      this.account(charge.accountId).countCharge(charge);
      this.of(charge.keyId).countToday(charged, charge.atMs);
      for (const cap of this.#capsFor(charge)) cap.charge(charged, countedAtMs);
    }
    for (const hold of this.#open) {
      this.account(hold.accountId).reserve(hold);
      for (const cap of this.#capsFor(hold)) {
        cap.advance(hold.countedAtMs);
        cap.reserve(hold);
      }
    }
  }

  #capsFor(item: BilledItem): readonly Cap[] {
    return this.of(item.keyId).capsFor(item, this.account(item.accountId));
  }

  #applyAccount(record: AccountRecord): void {
    const account = this.#accounts.get(record.id) ?? new Account(record, emptyAccount(record.id));
    this.#accounts.set(record.id, account);
    account.terms = record;
    account.caps = this.#capsOf(
      record.caps,
      account.caps,
      "account_cap",
      (drawn) => drawn.accountId === record.id,
    );
  }

  #applyKey(key: KeyRecord): void {
    const account = this.account(key.accountId);
    const funds = this.#byKey.get(key.id) ?? new KeyFunds(key, account, emptyKey(key.id), [], this.valueCaps);
    this.#byKey.set(key.id, funds);
    funds.key = key;
    funds.account = account;
    funds.caps = this.#capsOf(key.caps, funds.caps, "key_cap", (drawn) => drawn.keyId === key.id);
  }

  /** As `#capsOf`. */
  #applyValueCaps({ caps, raises }: Changes["valueCaps"]): void {
    const added = this.valueCaps.set(caps, raises);
    if (added.length === 0) return;
    const { totals, pending } = this.#store.countValueCaps(added.map(({ record }) => record.no));
    for (const each of totals) added.find(({ record }) => record.no === each.capNo)?.load(each);
    const isNew = (counter: Cap) => added.some(({ record }) => record === counter.record);
    for (const charge of pending)
      for (const cap of this.#capsFor(charge).filter(isNew)) cap.charge(charge.charged, charge.countedAtMs);
    const open = Array.from(this.#open);
    // The operator's clock may still have been in an earlier period.
    for (const hold of open)
      for (const cap of this.#capsFor(hold).filter(isNew)) cap.advance(hold.countedAtMs);
    for (const hold of open) for (const cap of this.#capsFor(hold).filter(isNew)) cap.reserve(hold);
  }

  /** Existing caps keep their counts. A new cap counts everything charged and held in its period. */
  #capsOf(
    records: readonly CapRecord[],
    before: readonly Cap[],
    bound: Cap["bound"],
    isOf: (drawn: BilledItem) => boolean,
  ): readonly Cap[] {
    const known = new Map(before.map((cap) => [cap.record.no, cap]));
    const added = records.filter(({ no }) => !known.has(no)).map(({ no }) => no);
    const counted = added.length === 0 ? null : this.#store.countCaps(added);
    return records.map((record) => {
      const cap = known.get(record.no);
      if (cap !== undefined) {
        cap.record = record;
        return cap;
      }
      const totals = counted?.totals.find(({ no }) => no === record.no) ?? nothingCounted;
      const made = new Cap(record, bound, totals);
      for (const charge of counted?.pending ?? []) {
        if (isOf(charge) && made.covers(countedModels(charge)))
          made.charge(charge.charged, charge.countedAtMs);
      }
      const open = Array.from(this.#open).filter((hold) => isOf(hold) && made.covers(countedModels(hold)));
      // The operator's clock may still have been in an earlier period.
      for (const hold of open) made.advance(hold.countedAtMs);
      for (const hold of open) made.reserve(hold);
      return made;
    });
  }
}

const nothingCounted: Omit<CapTotals, "no"> = { periodStartMs: 0, used: 0 };
