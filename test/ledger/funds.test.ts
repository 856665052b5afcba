import { expect, test } from "bun:test";
import { msPerDay, msPerHour } from "../../src/base/clock.ts";
import { Funds } from "../../src/ledger/funds.ts";
import type { AccountRecord, CapTotals, ChargeEntry, Snapshot } from "../../src/store/store.ts";
import { keyRecord } from "../store/fixtures.ts";
import { noValueCaps } from "./no-value-caps.ts";

const today = Date.UTC(2026, 10, 18);
const nextMonth = Date.UTC(2026, 11, 1);
const key = keyRecord();
const account: AccountRecord = {
  ...{
    id: key.accountId,
    label: null,
    createdAtMs: 0,
    mode: "token_budget",
    isPostpaid: false,
    closedAtMs: null,
  },
  ...{
    budgetTokens: 1000,
    period: "month",
    caps: [],
    keyCaps: [],
    content: null,
    tags: null,
    tpmLimits: null,
  },
};
const cap = { no: 1, limit: 100, period: "day", models: "gpt-*", extra: 0, extraPeriodMs: 0 } as const;

/** One key and its account; what was charged and is not written yet, and what is held. */
function fundsOf(pending: readonly object[], open: readonly object[], totals: readonly CapTotals[] = []) {
  const nothing = {
    accountTotals: [],
    keyTotals: [],
    capTotals: [],
    openHolds: [],
    parkedHolds: [],
    unbalancedId: null,
  };
  const snapshot: Snapshot = {
    revision: 1,
    accounts: [account],
    keys: [key],
    signIns: [],
    valueCaps: [],
    valueTotals: [],
    ...nothing,
  };
  const drawn = { keyId: key.id, accountId: account.id, labels: null, periodStartMs: 0, countedAtMs: today };
  const charges = pending.map((each) => ({ ...drawn, ...each }) as ChargeEntry);
  const store = {
    countCaps: () => ({ totals, pending: charges }),
    countValueCaps: () => ({ totals: [], pending: charges }),
  };
  const holds = open.map((each) => ({ ...drawn, amount: 0, model: "", labels: null, ...each }));
  return new Funds(store, snapshot, holds);
}

test("a new cap counts what is charged and held of its models, by its own keys, and no more", () => {
  const funds = fundsOf(
    [
      { charged: 5, model: "gpt-5" },
      { charged: 7, model: "claude" },
      { charged: 9, model: "gpt-5", keyId: "key_other" },
    ],
    [
      { amount: 20, model: "gpt-5" },
      { amount: 30, model: "claude" },
      { amount: 40, model: "gpt-5", keyId: "key_other" },
    ],
    [{ no: 1, periodStartMs: today, used: 1 }],
  );
  funds.apply({
    revision: 2,
    accounts: [],
    keys: [{ ...key, caps: [cap] }],
    signIns: [],
    valueCaps: noValueCaps,
    entries: [],
  });
  expect(funds.of(key.id).caps[0]?.state(today)).toMatchObject({ used: 6, held: 20 });
  funds.apply({
    revision: 3,
    accounts: [{ ...account, caps: [cap] }],
    keys: [],
    signIns: [],
    valueCaps: noValueCaps,
    entries: [],
  });
  expect(funds.account(account.id).caps[0]?.state(today)).toMatchObject({ used: 15, held: 60 });
});

test("a cap that is changed keeps what it has counted", () => {
  const funds = fundsOf([{ charged: 5, model: "gpt-5" }], []);
  funds.apply({
    revision: 2,
    accounts: [],
    keys: [{ ...key, caps: [cap] }],
    signIns: [],
    valueCaps: noValueCaps,
    entries: [],
  });
  funds.apply({
    revision: 3,
    accounts: [],
    keys: [{ ...key, caps: [{ ...cap, limit: 50 }] }],
    signIns: [],
    valueCaps: noValueCaps,
    entries: [],
  });
  expect(funds.of(key.id).caps[0]?.state(today)).toMatchObject({ limit: 50, used: 5, left: 45 });
});

test("a hold that counts more than an hour ahead counts now, in the running period", () => {
  const funds = fundsOf([], []);
  const drawn = { keyId: key.id, accountId: account.id, model: "gpt-5", labels: null };
  const soon = { periodStartMs: nextMonth, countedAtMs: today + msPerHour };
  expect(funds.presentOf({ ...drawn, ...soon }, today)).toEqual(soon);
  const ahead = { periodStartMs: nextMonth, countedAtMs: nextMonth + msPerDay };
  const running = { periodStartMs: Date.UTC(2026, 10, 1), countedAtMs: today };
  expect(funds.presentOf({ ...drawn, ...ahead }, today)).toEqual(running);
});
