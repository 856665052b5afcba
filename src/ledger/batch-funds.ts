import { assert } from "../base/assert.ts";
import type {
  BatchDecision,
  CapSums,
  LockedAccount,
  LockedCap,
  LockedKey,
  LockedRows,
  LockedValue,
  ValueSums,
} from "../store/shared-batch.ts";
import { Account } from "./account.ts";
import { Cap } from "./cap.ts";
import { KeyFunds } from "./key-funds.ts";
import { ValueCaps } from "./value-caps.ts";

interface KnownAccount {
  readonly row: LockedAccount;
  readonly account: Account;
}

interface KnownKey {
  readonly row: LockedKey;
  /** Null until it is used: only then is its account known to be locked. */
  funds: KeyFunds | null;
}

/** The accounts, keys and caps of one batch, made from locked rows. */
export class BatchFunds {
  readonly #accounts = new Map<number, KnownAccount>();
  readonly #keys = new Map<string, KnownKey>();
  readonly #accountCaps = new Map<number, Cap[]>();
  readonly #keyCaps = new Map<number, Cap[]>();
  readonly #caps: { readonly row: LockedCap; readonly cap: Cap }[] = [];

  readonly #valueCaps = new ValueCaps();
  readonly #values: ReadonlyMap<string, LockedValue>;

  constructor({ accounts, keys, caps, valueCaps = [], capValues = [] }: LockedRows) {
    this.#values = new Map(capValues.map((row) => [JSON.stringify([row.capNo, row.value]), row]));
    this.#valueCaps.set(valueCaps, capValues);
    for (const { no, latestMs, taken } of valueCaps) {
      const cap = this.#valueCaps.find(no);
      if (cap !== undefined && latestMs !== null) cap.others = { periodStartMs: latestMs, places: taken };
    }
    for (const row of capValues) this.#valueCaps.find(row.capNo)?.load(row, row.held);
    for (const row of caps) {
      const bound = row.keyNo === null ? "account_cap" : "key_cap";
      const cap = new Cap(row, bound, row, row.held);
      const owned = bound === "key_cap" ? this.#keyCaps : this.#accountCaps;
      const no = row.keyNo ?? row.accountNo ?? 0;
      owned.set(no, [...(owned.get(no) ?? []), cap]);
      this.#caps.push({ row, cap });
    }
    for (const row of accounts) {
      const account = new Account(row, totalsOf(row), row.held, this.#accountCaps.get(row.no));
      this.#accounts.set(row.no, { row, account });
    }
    for (const row of keys) this.#keys.set(row.id, { row, funds: null });
  }

  account(no: number): Account {
    return this.#account(no).account;
  }

  accountRow(no: number): LockedAccount {
    return this.#account(no).row;
  }

  findKey(id: string): LockedKey | undefined {
    return this.#keys.get(id)?.row;
  }

  keyRow(id: string): LockedKey {
    return this.#key(id).row;
  }

  key(id: string, account: Account): KeyFunds {
    const known = this.#key(id);
    if (known.funds !== null) return known.funds;
    const { row } = known;
    const { daySpendDigits, spentDigits } = row;
    const totals = { ...row, keyId: id, daySpend: Number(daySpendDigits), spent: Number(spentDigits) };
    const funds = new KeyFunds(row, account, totals, this.#keyCaps.get(row.no), this.#valueCaps);
    funds.openHolds = row.inFlight;
    known.funds = funds;
    return funds;
  }

  /** The rows that differ from what was read. */
  changes(): Pick<BatchDecision, "accounts" | "keys" | "caps" | "capValues"> {
    const accounts = [];
    for (const [no, { row, account }] of this.#accounts) {
      const { sums } = account;
      if (differs(sums, row)) accounts.push({ no, ...sums });
    }
    const keys = [];
    for (const { row, funds } of this.#keys.values()) {
      if (funds === null) continue;
      const { sums } = funds;
      if (differs(sums, row)) keys.push({ no: row.no, ...sums });
    }
    const caps: CapSums[] = [];
    for (const { row, cap } of this.#caps) {
      const { sums } = cap;
      if (differs(sums, row)) caps.push(sums);
    }
    return { accounts, keys, caps, capValues: this.#changedValues() };
  }

  #changedValues(): ValueSums[] {
    const changed: ValueSums[] = [];
    for (const { record, counters } of this.#valueCaps.all()) {
      for (const [value, counter] of counters) {
        const { periodStartMs, used, held } = counter.sums;
        const row = this.#values.get(JSON.stringify([record.no, value]));
        const sums = { capNo: record.no, value, periodStartMs, used, held };
        if (row === undefined || differs(sums, row)) changed.push(sums);
      }
    }
    return changed;
  }

  #account(no: number): KnownAccount {
    const known = this.#accounts.get(no);
    assert(known !== undefined, "the account of a batch is locked", no);
    return known;
  }

  #key(id: string): KnownKey {
    const known = this.#keys.get(id);
    assert(known !== undefined, "the key of a batch is read", id);
    return known;
  }
}

function totalsOf(row: LockedAccount) {
  return { ...row, accountId: row.id, purchased: Number(row.purchasedDigits), used: 0 };
}

function differs<Sums extends object>(sums: Sums, row: Sums): boolean {
  for (const name in sums) if (sums[name] !== row[name]) return true;
  return false;
}
