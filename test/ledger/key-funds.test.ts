import { expect, test } from "bun:test";
import { msPerDay, utcDay } from "../../src/base/clock.ts";
import { Account } from "../../src/ledger/account.ts";
import { KeyFunds } from "../../src/ledger/key-funds.ts";
import { emptyAccount, emptyKey } from "../../src/store/records.ts";

const today = Date.UTC(2026, 10, 18);
const yesterday = today - msPerDay;
const tomorrow = today + msPerDay;
const terms = { mode: "credit", isPostpaid: true, budgetTokens: null, period: "none" } as const;

function fundsOf(maxConcurrent: number | null = null): KeyFunds {
  const account = new Account(terms, emptyAccount("acc_1"));
  return new KeyFunds({ id: "key_1", maxConcurrent }, account, emptyKey("key_1"));
}

function spendOf(funds: KeyFunds, nowMs: number) {
  const { todaySpend, lifetimeSpend } = funds.summary(nowMs);
  return { todaySpend, lifetimeSpend };
}

test("a key takes as many requests at once as it may have, and no more", () => {
  const funds = fundsOf(2);
  const isFull = [0, 1, 2, 3].map((openHolds) => {
    funds.openHolds = openHolds;
    return funds.isFull;
  });
  expect(isFull).toEqual([false, false, true, true]);
  expect(fundsOf(null).isFull).toBe(false);
});

test("a charge counts for ever, and on its own day", () => {
  const funds = fundsOf();
  funds.charge(5, today);
  funds.charge(7, today + msPerDay - 1);
  expect(spendOf(funds, today)).toEqual({ todaySpend: 12, lifetimeSpend: 12 });
  expect(spendOf(funds, tomorrow)).toEqual({ todaySpend: 0, lifetimeSpend: 12 });
  funds.charge(20, tomorrow);
  expect(spendOf(funds, tomorrow)).toEqual({ todaySpend: 20, lifetimeSpend: 32 });
  expect(funds.sums).toMatchObject({ day: utcDay(tomorrow), daySpendDigits: "20", spentDigits: "32" });
});

test("a charge of an earlier day counts for ever, and in no later day", () => {
  const funds = fundsOf();
  funds.charge(5, today);
  funds.charge(7, yesterday);
  expect(spendOf(funds, today)).toEqual({ todaySpend: 5, lifetimeSpend: 12 });
  expect(funds.day).toBe(utcDay(today));
});

test("after a clock was set back, the day that comes again begins with what was spent on it", () => {
  const funds = fundsOf();
  const laterSpend = JSON.stringify([{ at: utcDay(tomorrow), used: 3 }]);
  funds.recountDay({ ...emptyKey("key_1"), day: utcDay(today), daySpend: 2, laterSpend });
  expect(funds.summary(tomorrow).todaySpend).toBe(3);
  funds.countToday(4, tomorrow);
  expect(funds.summary(tomorrow).todaySpend).toBe(7);
});
