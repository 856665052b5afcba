import { expect, test } from "bun:test";
import { msPerDay } from "../../src/base/clock.ts";
import type { HeldAmount } from "../../src/base/money/bound.ts";
import { Account, type AccountTerms } from "../../src/ledger/account.ts";
import { Cap } from "../../src/ledger/cap.ts";
import { emptyAccount } from "../../src/store/records.ts";

const today = Date.UTC(2026, 10, 18);
const tomorrow = today + msPerDay;
const credit: AccountTerms = { mode: "credit", isPostpaid: false, budgetTokens: null, period: "none" };

function accountOf(terms: AccountTerms, posted = 0): Account {
  return new Account(terms, { ...emptyAccount("acc_1"), posted, purchased: posted });
}

function held(account: Account, amount: number, nowMs: number, caps: readonly Cap[] = []): HeldAmount {
  const decided = account.hold(amount, nowMs, caps);
  if ("denial" in decided) throw new Error(`denied: ${decided.denial}`);
  return decided;
}

function dailyCap(periodStartMs: number): Cap {
  const record = { no: 1, limit: 100, period: "day", models: null, extra: 0, extraPeriodMs: 0 } as const;
  return new Cap(record, "key_cap", { periodStartMs, used: 0 });
}

test("a charge from before a crash is not counted again at an earlier moment", () => {
  const account = accountOf(credit, 100);
  account.settleInterrupted(10, { periodStartMs: 0, countedAtMs: tomorrow });
  expect(account.countedAtMs).toBe(tomorrow);
  expect(held(account, 1, today).countedAtMs).toBe(tomorrow);
});

test("a hold counts where its caps are, if the clock was set back since", () => {
  const cap = dailyCap(tomorrow);
  const hold = held(accountOf(credit, 100), 10, today, [cap]);
  expect(hold.countedAtMs).toBe(tomorrow);
  expect(cap.remaining()).toBe(90);
});

test("what an operator takes away while it is held cannot be charged", () => {
  const account = accountOf(credit, 100);
  const hold = held(account, 60, today);
  account.credit(-70);
  expect(account.settle(hold, 50)).toEqual({ charged: 30, owed: 0, overrun: 20 });
  expect([account.posted, account.held]).toEqual([0, 0]);
});

test("a hold of a past period of a budget gives nothing back to the running one", () => {
  const budget = accountOf({ mode: "token_budget", isPostpaid: false, budgetTokens: 100, period: "day" });
  const old = held(budget, 60, today);
  const current = held(budget, 80, tomorrow);
  budget.release(old);
  expect(budget.held).toBe(80);
  expect(budget.hold(21, tomorrow)).toMatchObject({ denial: "reserved" });
  expect(budget.settle(current, 30)).toEqual({ charged: 30, owed: 0, overrun: 0 });
  const older = { amount: 60, periodStartMs: today, countedAtMs: today };
  expect(budget.settle(older, 40)).toEqual({ charged: 40, owed: 0, overrun: 0 });
  expect(budget.periodUsed).toBe(30);
});

test("a charge from before a crash begins the period of its hold, and is bounded by it", () => {
  const budget = accountOf({ mode: "token_budget", isPostpaid: false, budgetTokens: 100, period: "day" });
  const hold = { periodStartMs: tomorrow, countedAtMs: tomorrow };
  expect(budget.settleInterrupted(130, hold)).toEqual({ charged: 100, owed: 0, overrun: 30 });
  expect(budget.sums).toMatchObject({ periodStartMs: tomorrow, periodUsed: 100 });
});

test("a charge from before a crash begins the periods of its caps, and is bounded by them", () => {
  const cap = dailyCap(today);
  const hold = { periodStartMs: 0, countedAtMs: tomorrow };
  const settled = accountOf({ ...credit, isPostpaid: true }).settleInterrupted(130, hold, [cap]);
  expect(settled).toEqual({ charged: 130, owed: 30, overrun: 0 });
  expect(cap.sums).toMatchObject({ periodStartMs: tomorrow, used: 130 });
});

test("what other holds have reserved above a balance that was lowered takes nothing from this one", () => {
  const account = accountOf(credit, 100);
  const [hold] = [held(account, 60, today), held(account, 30, today)];
  account.credit(-20);
  expect(account.settle(hold, 60)).toEqual({ charged: 60, owed: 0, overrun: 0 });

  const terms = { mode: "token_budget", isPostpaid: false, budgetTokens: 100, period: "day" } as const;
  const budget = accountOf(terms);
  const [first] = [held(budget, 60, today), held(budget, 30, today)];
  budget.terms = { ...terms, budgetTokens: 50 };
  expect(budget.settle(first, 60)).toEqual({ charged: 60, owed: 0, overrun: 0 });
});

test("from a balance below nothing, nothing is charged, and nothing is given back", () => {
  const account = accountOf(credit, 100);
  const [first, second] = [held(account, 50, today), held(account, 20, today)];
  account.settle(first, 50);
  // The operator's process did not know of that charge.
  account.credit(-70);
  expect(account.settle(second, 20)).toEqual({ charged: 0, owed: 0, overrun: 20 });
  expect(account.posted).toBe(-20);
});

test("a hold that is settled counts from when it was made, whatever the clock says then", () => {
  const budget = accountOf({ mode: "token_budget", isPostpaid: false, budgetTokens: 100, period: "day" });
  const hold = held(budget, 10, tomorrow);
  const totals = { ...emptyAccount("acc_1"), posted: 0, purchased: 0 };
  budget.recount(totals);
  budget.settle(hold, 10);
  expect(budget.sums.countedAtMs).toBe(tomorrow);
});
