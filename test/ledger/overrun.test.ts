import { describe, expect, test } from "bun:test";
import { statementOf } from "../../src/admin/accounts/statement.ts";
import { readAlerts } from "../../src/alerts/read-alerts.ts";
import { msPerDay } from "../../src/base/clock.ts";
import { GatewayError } from "../../src/base/errors.ts";
import { audit } from "../../src/ledger/audit.ts";
import { Hold } from "../../src/ledger/hold.ts";
import type { AccountRecord, KeyRecord } from "../../src/store/store.ts";
import { keyRecord } from "../store/fixtures.ts";
import { summarizeUsage } from "../support/usage.ts";
import { type AccountsBench, addAccount, addKeys, cap, tryHold } from "./accounts-bench.ts";
import { accountsKinds } from "./accounts-kinds.ts";
import { settlement } from "./fixtures.ts";

const limit = 100;

async function open(
  bench: AccountsBench,
  terms: Partial<AccountRecord>,
  creditNano = 0,
  caps: KeyRecord["caps"] = [],
) {
  const account = await addAccount(bench, terms, creditNano);
  const [key = keyRecord()] = await addKeys(bench, account, 1, {
    isPostpaid: terms.isPostpaid ?? false,
    caps,
  });
  await bench.refresh();
  return { account, key };
}

async function hold(bench: AccountsBench, key: KeyRecord, amount: number): Promise<Hold> {
  const held = await tryHold(bench.gateways[0], key, amount);
  if (!(held instanceof Hold)) throw held;
  return held;
}

function settle(bench: AccountsBench, held: Hold, cost: number) {
  const atMs = bench.clock.wallMs();
  return bench.gateways[0]?.settle(held, settlement(held, cost, {}, { atMs }));
}

async function entriesOf({ store }: AccountsBench) {
  const entries = await store.listEntries({ afterId: 0, limit: 100 });
  return entries.map(({ kind, amount }) => [kind, amount]).filter(([kind]) => kind !== "topup");
}

async function reported({ store }: AccountsBench) {
  const [group] = await summarizeUsage(store, { by: "key", sinceMs: 0 });
  const { requests = 0, completed = 0, spendNano = 0, overrunNano = 0, overrunTokens = 0 } = group ?? {};
  return { requests, completed, spendNano, overrunNano, overrunTokens };
}

for (const [where, openBench] of accountsKinds) {
  describe(`a cost above the hold, ${where},`, () => {
    test("is owed by a postpaid account, also above its cap, in an entry of its own", async () => {
      await using bench = await openBench(1);
      const { account, key } = await open(bench, { isPostpaid: true, caps: [cap(limit, "day")] });
      const [one, other] = [await hold(bench, key, 40), await hold(bench, key, 50)];
      expect(await settle(bench, one, 144)).toEqual({ charged: 144, overrun: 0 });
      expect(await entriesOf(bench)).toEqual([
        ["charge", -50],
        ["overrun", -94],
      ]);
      expect(bench.gateways[0]?.overrun).toEqual({ nano: 0, tokens: 0 });
      const [summary] = (await bench.gateways[0]?.summaries([key.id])) ?? [];
      expect(summary).toMatchObject({ lifetimeSpend: 144, lastCostNano: 144, requests: 1, used: 144 });
      expect(summary?.caps).toMatchObject([{ limit, used: 144, left: 0 }]);
      // What the other hold has reserved is its own, and giving it back frees nothing of a cap that was passed.
      expect(await settle(bench, other, 20)).toEqual({ charged: 20, overrun: 0 });
      const refusal = await tryHold(bench.gateways[0], key, 1);
      expect(refusal instanceof GatewayError && refusal.code).toBe("limit_reached");
      expect((await bench.store.readAccounts([account.id]))[0]?.totals.posted).toBe(-164);
      expect(await reported(bench)).toEqual({
        requests: 2,
        completed: 2,
        spendNano: 164,
        overrunNano: 0,
        overrunTokens: 0,
      });
      const { rows } = await bench.store.reports.exchanges({ keyId: key.id, limit: 10 });
      expect(rows.map(({ charged }) => charged).toSorted()).toEqual([144, 20]);
      const context = { store: bench.store, clock: bench.clock };
      const { accounts } = await statementOf(context, { month: "2026-11" });
      expect(accounts[0]?.lines).toMatchObject([
        { kind: "charge", recorded_requests: 2, amount_nano: -70 },
        {
          kind: "overrun",
          recorded_requests: 0,
          cancelled_calls: 0,
          at: null,
          key_id: key.id,
          amount_nano: -94,
        },
      ]);
      expect(accounts[0]).toMatchObject({ charged: -164e-9, closing: -164e-9, owed: 164e-9 });
      expect((await audit(bench.store)).differences).toEqual([]);
    }, 30_000);

    test("counts for a cap that is added later, and until that resets", async () => {
      await using bench = await openBench(1);
      const { account, key } = await open(bench, { isPostpaid: true }, 0, [cap(limit, "day")]);
      await settle(bench, await hold(bench, key, 40), 130);
      const owner = { accountId: account.id };
      await bench.store.setCaps(owner, [cap(2 * limit, "day")], bench.clock.wallMs());
      await bench.refresh();
      expect((await bench.gateways[0]?.summaries([key.id]))?.[0]?.caps).toMatchObject([
        { bound: "account_cap", used: 130, left: 70 },
        { bound: "key_cap", used: 130, left: 0 },
      ]);
      bench.clock.advance(msPerDay);
      expect(await settle(bench, await hold(bench, key, 40), 40)).toEqual({ charged: 40, overrun: 0 });
      expect((await audit(bench.store)).differences).toEqual([]);
    }, 30_000);

    test("is not charged to a prepaid account without balance: a figure of reports, and an alert for a day", async () => {
      await using bench = await openBench(1);
      const { key } = await open(bench, {}, 50);
      expect((await readAlerts(bench.store, bench.clock.wallMs())).active).toEqual([]);
      expect(await settle(bench, await hold(bench, key, 40), 80)).toEqual({ charged: 50, overrun: 30 });
      expect(await entriesOf(bench)).toEqual([
        ["charge", -50],
        ["overrun", 30],
      ]);
      expect(bench.gateways[0]?.overrun).toEqual({ nano: 30, tokens: 0 });
      expect(await reported(bench)).toEqual({
        requests: 1,
        completed: 1,
        spendNano: 50,
        overrunNano: 30,
        overrunTokens: 0,
      });
      const overruns = async () =>
        (await readAlerts(bench.store, bench.clock.wallMs())).active.filter(({ kind }) => kind === "overrun");
      expect(await overruns()).toMatchObject([{ details: { credits: 30e-9, tokens: 0 } }]);
      expect((await audit(bench.store)).differences).toEqual([]);
      bench.clock.advance(msPerDay + msPerDay / 24);
      expect(await overruns()).toEqual([]);
    }, 30_000);

    test("is not charged above a prepaid account's cap, nor above a token budget", async () => {
      await using bench = await openBench(1);
      const capped = await open(bench, { caps: [cap(limit, "day")] }, 1_000);
      expect(await settle(bench, await hold(bench, capped.key, 40), 130)).toEqual({
        charged: 100,
        overrun: 30,
      });
      const budget = await open(bench, { mode: "token_budget", budgetTokens: 60 });
      expect(await settle(bench, await hold(bench, budget.key, 40), 67)).toEqual({ charged: 60, overrun: 7 });
      expect(await bench.store.alerts.overrunSince(0)).toEqual({ nano: 30, tokens: 7 });
      expect((await audit(bench.store)).differences).toEqual([]);
    }, 30_000);
  });
}
