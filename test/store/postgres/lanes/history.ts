import { newId } from "../../../../src/base/id.ts";
import { Account } from "../../../../src/ledger/account.ts";
import { Cap } from "../../../../src/ledger/cap.ts";
import { limitError } from "../../../../src/ledger/hold-errors.ts";
import { KeyFunds } from "../../../../src/ledger/key-funds.ts";
import type { HoldOrder } from "../../../../src/store/node.ts";
import { endOf, type HoldEnd, releaseOf } from "../../../../src/store/postgres/lanes/hold-end.ts";
import { type BudgetPeriod, type CapRecord, emptyAccount, emptyKey } from "../../../../src/store/store.ts";
import { SeededRandom } from "../../../simulation/random.ts";
import { costing } from "../../../support/rates.ts";
import { keyRecord, usageRecord } from "../../fixtures.ts";

const hourMs = 3_600_000;
const periods: readonly BudgetPeriod[] = ["none", "day", "week", "month"];
const models = ["house-model", "other-model", "cloud/other-model", "eu.maker.house-model"] as const;
const patterns = [null, "house-*", "*-model", "other-model"] as const;
let lastCapNo = 0;

export interface OpenHold {
  readonly accountNo: number;
  readonly id: string;
  readonly funds: KeyFunds;
  readonly model: string;
  /** What would be charged if its node died now. */
  produced: number;
  readonly amount: number;
  readonly openedAtMs: number;
  readonly periodStartMs: number;
  readonly countedAtMs: number;
}

/** One account with its keys and caps, in memory and in the database, and a random history that both live through. */
export class History {
  readonly seed: number;
  readonly random: SeededRandom;
  readonly account: Account;
  readonly funds: readonly KeyFunds[];
  /** As the database's verdicts have it. */
  accountNo = 0;
  readonly open: OpenHold[] = [];
  nowMs = Date.UTC(2026, 2, 10, 20);
  lastHoldMs = this.nowMs;
  credited = 0;

  constructor(seed: number) {
    this.seed = seed;
    this.random = new SeededRandom(seed);
    const isCredit = this.random.chance(0.5);
    const first = keyRecord({
      mode: isCredit ? "credit" : "token_budget",
      isPostpaid: isCredit && this.random.chance(0.3),
      budgetTokens: isCredit || this.random.chance(0.15) ? null : this.random.between(200, 3_000),
      period: isCredit ? "none" : (this.random.pick(periods) ?? "none"),
    });
    const totals = emptyAccount(first.accountId);
    this.account = new Account(first, totals, 0, this.#caps("account_cap"));
    this.funds = Array.from({ length: this.random.between(1, 3) }, (_, index) => {
      const { mode, isPostpaid, budgetTokens, period, accountId } = first;
      const key = index === 0 ? first : keyRecord({ mode, isPostpaid, budgetTokens, period, accountId });
      return new KeyFunds(key, this.account, emptyKey(key.id), this.#caps("key_cap"));
    });
    if (isCredit) this.credit(this.random.between(0, 2_000));
  }

  get terms() {
    return this.account.terms;
  }

  get accountId(): string {
    return this.account.id;
  }

  get caps(): readonly { cap: CapRecord; keyId: string | null }[] {
    return [
      ...this.account.caps.map(({ record }) => ({ cap: record, keyId: null })),
      ...this.funds.flatMap(({ caps, key }) => caps.map(({ record }) => ({ cap: record, keyId: key.id }))),
    ];
  }

  #caps(bound: Cap["bound"]): Cap[] {
    const count = this.random.chance(0.4) ? 0 : this.random.between(1, 2);
    return Array.from({ length: count }, () => {
      lastCapNo += 1;
      const record: CapRecord = {
        no: lastCapNo,
        limit: this.random.between(0, 2_500),
        period: this.random.pick(["day", "week", "month"] as const) ?? "day",
        models: this.random.pick(patterns) ?? null,
        extra: this.random.chance(0.2) ? this.random.between(1, 500) : 0,
        extraPeriodMs: Date.UTC(2026, 2, 10),
      };
      return new Cap(record, bound, { periodStartMs: 0, used: 0 });
    });
  }

  credit(amount: number): void {
    this.account.credit(amount);
    this.credited += amount;
  }

  /** What the operator does, for the next statement: an entry, or another budget. */
  operate(): void {
    if (this.random.chance(0.3)) this.nowMs += this.random.between(-30, 60) * hourMs;
    if (this.terms.mode === "credit") {
      const { posted } = this.account;
      if (this.random.chance(0.3)) this.credit(Math.max(-posted, this.random.between(-300, 600)));
    } else if (this.random.chance(0.2)) {
      this.account.terms = { ...this.terms, budgetTokens: this.random.between(100, 4_000) };
    }
  }

  holds(): HoldOrder[] {
    return Array.from({ length: this.random.between(0, 3) }, () => ({
      holdId: newId("req_"),
      keyId: this.random.pick(this.funds)?.key.id ?? "",
      amount: this.random.between(0, 500),
      nowMs: this.nowMs,
      model: this.random.pick(models) ?? "",
      requestedModel: null,
      labels: null,
    }));
  }

  fundsOf(keyId: string): KeyFunds {
    const funds = this.funds.find(({ key }) => key.id === keyId);
    if (funds === undefined) throw new Error(`no key ${keyId}`);
    return funds;
  }

  /** The same in memory. */
  decide({ holdId, keyId, amount, model }: HoldOrder) {
    this.lastHoldMs = this.nowMs;
    const funds = this.fundsOf(keyId);
    const caps = funds.capsFor({ model, labels: null }, this.account);
    const hold = this.account.hold(amount, this.nowMs, caps);
    if ("denial" in hold) {
      const error = limitError(hold, this.terms.mode, amount, this.nowMs);
      return { decision: hold.denial, error, hold: null };
    }
    const { accountNo, nowMs: openedAtMs } = this;
    this.open.push({ id: holdId, accountNo, funds, model, produced: 0, openedAtMs, ...hold });
    return { decision: "held" as const, error: null, hold };
  }

  /** What is left of every bound that it falls under. */
  remaining({ keyId, model }: HoldOrder): number {
    const caps = this.fundsOf(keyId).capsFor({ model, labels: null }, this.account);
    return Math.min(this.account.remaining(), ...caps.map((cap) => cap.remaining()));
  }

  #release(hold: OpenHold): void {
    this.account.release(hold, hold.funds.capsFor({ model: hold.model, labels: null }, this.account));
  }

  /** A lost hold is charged as if it had held nothing. */
  settle(hold: OpenHold, cost: number, atMs: number, isLost = false) {
    const caps = hold.funds.capsFor({ model: hold.model, labels: null }, this.account);
    const { charged, overrun } = isLost
      ? this.account.settleInterrupted(cost, hold, caps)
      : this.account.settle(hold, cost, caps, 0, atMs);
    const settled = { charged, overrun };
    hold.funds.charge(settled.charged, atMs);
    return settled;
  }

  /** Ends some of its holds in both. */
  ends(): { end: HoldEnd; expected: { charged: number; overrun: number } }[] {
    const count = Math.min(this.open.length, this.random.between(0, 3));
    return Array.from({ length: count }, () => {
      const [hold] = this.open.splice(this.random.between(0, this.open.length - 1), 1);
      if (hold === undefined) throw new Error("there is one");
      if (this.random.chance(0.25)) {
        this.#release(hold);
        return { end: releaseOf(hold.id, hold.funds.key.id), expected: { charged: 0, overrun: 0 } };
      }
      return this.#settle(hold);
    });
  }

  /** What open holds have produced meanwhile. */
  progress(): [string, number][] {
    const producing = this.open.filter(() => this.random.chance(0.3));
    for (const hold of producing) hold.produced += this.random.between(1, 60);
    return producing.map(({ id, produced }) => [id, produced]);
  }

  /** Its node is dead: what was produced is charged, in the order of the ids, and the rest is released. */
  interrupt(atMs: number): { hold: OpenHold; paid: number; unpaid: number }[] {
    return this.open
      .splice(0)
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
      .map((hold) => {
        if (hold.produced === 0) {
          this.#release(hold);
          return { hold, paid: 0, unpaid: 0 };
        }
        const { charged, overrun } = this.settle(hold, hold.produced, atMs);
        return { hold, paid: charged, unpaid: overrun };
      });
  }

  #settle(hold: OpenHold) {
    const cost = this.random.chance(0.25)
      ? hold.amount + this.random.between(1, 700)
      : this.random.between(0, hold.amount);
    const isRecorded = this.random.chance(0.7);
    const { model, funds } = hold;
    const record = isRecorded
      ? usageRecord(funds.key.id, { exchangeId: hold.id, atMs: this.nowMs, model })
      : null;
    const expected = this.settle(hold, cost, this.nowMs);
    if (record !== null) {
      funds.count({ ...record, costNano: this.terms.mode === "credit" ? expected.charged : 0 });
    }
    const outcome = isRecorded ? "completed" : "cancelled";
    const end = endOf({ ...orderOf(hold), ...costing(cost), atMs: this.nowMs, outcome, record });
    return { end, expected };
  }
}

export function orderOf({ id, accountNo, funds, model, openedAtMs, periodStartMs, countedAtMs }: OpenHold) {
  return {
    holdId: id,
    keyId: funds.key.id,
    accountNo,
    openedAtMs,
    periodStartMs,
    countedAtMs,
    basis: "measured",
    model,
    requestedModel: null,
    labels: null,
    provider: "openai",
    response: null,
    outcomeRecord: null,
  } as const;
}
