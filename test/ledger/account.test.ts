import { expect, test } from "bun:test";
import { msPerDay } from "../../src/base/clock.ts";
import { Account, type AccountTerms } from "../../src/ledger/account.ts";
import { Cap } from "../../src/ledger/cap.ts";
import { emptyAccount } from "../../src/store/records.ts";

const today = Date.UTC(2026, 10, 18);
const tomorrow = today + msPerDay;
const credit: AccountTerms = { mode: "credit", isOpen: false, budgetTokens: null, period: "none" };

function accountOf(terms: AccountTerms, posted = 0): Account {
  return new Account(terms, { ...emptyAccount("acc_1"), posted, purchased: posted });
}

function dailyCap(periodStartMs: number): Cap {
  const record = { no: 1, limit: 100, period: "day", models: null, extra: 0, extraPeriodMs: 0 } as const;
  return new Cap(record, "key_cap", { periodStartMs, used: 0 });
}

test("a charge from before a crash is not counted again at an earlier moment", () => {
  const account = accountOf(credit, 100);
  account.settleInterrupted(10, { periodStartMs: 0, countedAtMs: tomorrow });
  expect(account.countedAtMs).toBe(tomorrow);
  expect(account.hold(1, today).countedAtMs).toBe(tomorrow);
});

test("a hold counts where its caps are, if the clock was set back since", () => {
  const cap = dailyCap(tomorrow);
  const hold = accountOf(credit, 100).hold(10, today, [cap]);
  expect(hold.countedAtMs).toBe(tomorrow);
  expect(cap.remaining()).toBe(90);
});

test("what an operator takes away while it is held cannot be charged", () => {
  const account = accountOf(credit, 100);
  const hold = account.hold(60, today);
  account.credit(-70);
  expect(account.settle(hold, 50)).toEqual({ charged: 30, owed: 0, overrun: 20 });
  expect([account.posted, account.held]).toEqual([0, 0]);
});

test("a hold of a past period of a budget gives nothing back to the running one", () => {
  const budget = accountOf({ mode: "token_budget", isOpen: false, budgetTokens: 100, period: "day" });
  const old = budget.hold(60, today);
  const current = budget.hold(80, tomorrow);
  budget.release(old);
  expect(budget.held).toBe(80);
  expect(() => budget.hold(21, tomorrow)).toThrow();
  expect(budget.settle(current, 30)).toEqual({ charged: 30, owed: 0, overrun: 0 });
  expect(budget.periodUsed).toBe(30);
});
