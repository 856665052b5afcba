import { describe, expect, test } from "bun:test";
import { msPerDay } from "../../src/base/clock.ts";
import { audit } from "../../src/ledger/audit.ts";
import { Hold } from "../../src/ledger/hold.ts";
import type { AccountRecord, KeyRecord } from "../../src/store/store.ts";
import { keyRecord } from "../store/fixtures.ts";
import { type AccountsBench, addAccount, addKeys, cap, tryHold } from "./accounts-bench.ts";
import { accountsKinds } from "./accounts-kinds.ts";
import { settlement } from "./fixtures.ts";

async function open(
  bench: AccountsBench,
  terms: Partial<AccountRecord>,
  creditNano = 0,
  caps: KeyRecord["caps"] = [],
): Promise<readonly [KeyRecord, KeyRecord]> {
  const account = await addAccount(bench, terms, creditNano);
  const [key = keyRecord()] = await addKeys(bench, account, 1, { caps, isPostpaid: account.isPostpaid });
  const [other = keyRecord()] = await addKeys(bench, account, 1, { isPostpaid: account.isPostpaid });
  await bench.refresh();
  return [key, other];
}

async function hold(bench: AccountsBench, key: KeyRecord, amount: number, labels: string | null = null) {
  const held = await tryHold(bench.gateways[0], key, amount, "house-model", labels);
  if (!(held instanceof Hold)) throw held;
  return held;
}

function settle(bench: AccountsBench, held: Hold, cost: number) {
  const atMs = bench.clock.wallMs();
  return bench.gateways[0]?.settle(held, settlement(held, cost, {}, { atMs }));
}

async function summaryOf(bench: AccountsBench, key: KeyRecord) {
  const [summary] = (await bench.gateways[0]?.summaries([key.id])) ?? [];
  if (summary === undefined) throw new Error("no summary");
  return summary;
}

async function usedOf(bench: AccountsBench, key: KeyRecord) {
  return (await summaryOf(bench, key)).caps.map(({ used, held }) => [used, held]);
}

async function entriesOf({ store }: AccountsBench, exchangeId: string) {
  const entries = await store.listEntries({ afterId: 0, limit: 100 });
  return entries
    .filter((entry) => entry.exchangeId === exchangeId)
    .map(({ kind, amount, countedAtMs }) => [kind, amount, countedAtMs]);
}

async function expectClean(bench: AccountsBench) {
  expect((await audit(bench.store, { deep: true })).differences).toEqual([]);
}

for (const [where, openBench] of accountsKinds) {
  describe(`a call that runs over the end of a period while another begins after it, ${where},`, () => {
    test("is charged in full within the balance and the cap: the hold yesterday, the rest today", async () => {
      await using bench = await openBench(1);
      const [key, other] = await open(bench, { caps: [cap(500, "day")] }, 1_000, [cap(700, "month")]);
      const long = await hold(bench, key, 10);
      bench.clock.advance(msPerDay);
      const today = await hold(bench, other, 20);
      expect(await settle(bench, long, 100)).toEqual({ charged: 100, overrun: 0 });
      expect(long.charged).toBe(100);
      expect(await entriesOf(bench, long.id)).toEqual([
        ["charge", -10, long.countedAtMs],
        ["overrun", -90, today.countedAtMs],
      ]);
      expect(await usedOf(bench, key)).toEqual([
        [90, 20],
        [100, 0],
      ]);
      await settle(bench, today, 20);
      expect(await summaryOf(bench, key)).toMatchObject({
        posted: 880,
        lifetimeSpend: 100,
        lastCostNano: 100,
      });
      await expectClean(bench);
      // A cap that is added now counts the same.
      await bench.store.setCaps({ keyId: key.id }, [cap(600, "day")], bench.clock.wallMs());
      await bench.refresh();
      expect(await usedOf(bench, key)).toEqual([
        [110, 0],
        [90, 0],
      ]);
      await expectClean(bench);
    }, 60_000);

    test("is charged no more than today's cap leaves to it", async () => {
      await using bench = await openBench(1);
      const [key, other] = await open(bench, { caps: [cap(500, "day")] }, 1_000);
      const long = await hold(bench, key, 10);
      bench.clock.advance(msPerDay);
      await settle(bench, await hold(bench, other, 100), 100);
      const running = await hold(bench, other, 330);
      expect(await settle(bench, long, 100)).toEqual({ charged: 80, overrun: 20 });
      expect((await entriesOf(bench, long.id)).map(([kind, amount]) => [kind, amount])).toEqual([
        ["charge", -10],
        ["overrun", -70],
        ["overrun", 20],
      ]);
      expect(await settle(bench, running, 330)).toEqual({ charged: 330, overrun: 0 });
      expect(await usedOf(bench, key)).toEqual([[500, 0]]);
      await expectClean(bench);
    }, 60_000);

    test("is charged no more than the balance leaves to it", async () => {
      await using bench = await openBench(1);
      const [key, other] = await open(bench, { caps: [cap(500, "day")] }, 100);
      const long = await hold(bench, key, 10);
      bench.clock.advance(msPerDay);
      const today = await hold(bench, other, 40);
      expect(await settle(bench, long, 90)).toEqual({ charged: 60, overrun: 30 });
      expect(await settle(bench, today, 40)).toEqual({ charged: 40, overrun: 0 });
      expect((await summaryOf(bench, key)).posted).toBe(0);
      await expectClean(bench);
    }, 60_000);

    test("is charged its hold alone where no more is left, and what is waived is not charged", async () => {
      await using bench = await openBench(1);
      const [key, other] = await open(bench, { caps: [cap(50, "day")] }, 1_000);
      const [long, waived] = [await hold(bench, key, 10), await hold(bench, key, 10)];
      bench.clock.advance(msPerDay);
      await settle(bench, await hold(bench, other, 50), 50);
      expect(await settle(bench, long, 100)).toEqual({ charged: 10, overrun: 90 });
      const atMs = bench.clock.wallMs();
      const settled = bench.gateways[0]?.settle(waived, settlement(waived, 60, { waived: 52 }, { atMs }));
      expect(await settled).toEqual({ charged: 8, overrun: 52 });
      expect(await usedOf(bench, key)).toEqual([[50, 0]]);
      await expectClean(bench);
    }, 60_000);

    test("is charged in full within a token budget", async () => {
      await using bench = await openBench(1);
      const terms = { mode: "token_budget", budgetTokens: 500, period: "day" } as const;
      const [key, other] = await open(bench, terms);
      const long = await hold(bench, key, 10);
      bench.clock.advance(msPerDay);
      const today = await hold(bench, other, 20);
      expect(await settle(bench, long, 100)).toEqual({ charged: 100, overrun: 0 });
      expect(await summaryOf(bench, key)).toMatchObject({ budgetUsed: 90, budgetHeld: 20 });
      await settle(bench, today, 20);
      const longer = await hold(bench, key, 10);
      bench.clock.advance(msPerDay);
      await settle(bench, await hold(bench, other, 450), 450);
      expect(await settle(bench, longer, 100)).toEqual({ charged: 60, overrun: 40 });
      expect((await summaryOf(bench, key)).budgetUsed).toBe(500);
      await expectClean(bench);
    }, 60_000);

    test("counts in the caps of its labels in the same way", async () => {
      await using bench = await openBench(1);
      const [key, other] = await open(bench, {}, 1_000);
      await bench.store.insertValueCap(
        {
          ...{ id: "cap_owners", keyId: null, accountId: null, mode: "credit", label: "owner", value: null },
          ...{ limit: 100, period: "day", models: null, isOptional: false, maxValues: 10 },
          ...{ thenModel: null, thenAlways: false },
        },
        bench.clock.wallMs(),
      );
      await bench.refresh();
      const labels = JSON.stringify({ owner: "ada" });
      const long = await hold(bench, key, 10, labels);
      bench.clock.advance(msPerDay);
      await settle(bench, await hold(bench, other, 20, labels), 20);
      expect(await settle(bench, long, 200)).toEqual({ charged: 90, overrun: 110 });
      const [record] = await bench.store.valueCaps();
      expect(await bench.store.valueTotals(record?.no ?? 0)).toMatchObject([{ value: "ada", used: 100 }]);
      await expectClean(bench);
    }, 60_000);

    test("is owed by a postpaid account in the period of its hold, as ever", async () => {
      await using bench = await openBench(1);
      const [key, other] = await open(bench, { isPostpaid: true, caps: [cap(50, "day")] });
      const long = await hold(bench, key, 10);
      bench.clock.advance(msPerDay);
      await settle(bench, await hold(bench, other, 20), 20);
      expect(await settle(bench, long, 100)).toEqual({ charged: 100, overrun: 0 });
      expect(await entriesOf(bench, long.id)).toEqual([
        ["charge", -10, long.countedAtMs],
        ["overrun", -90, long.countedAtMs],
      ]);
      expect(await usedOf(bench, key)).toEqual([[20, 0]]);
      await expectClean(bench);
    }, 60_000);

    test("counts in the period of its hold as long as nothing began after that", async () => {
      await using bench = await openBench(1);
      const [key] = await open(bench, { caps: [cap(500, "day")] }, 1_000);
      const long = await hold(bench, key, 10);
      bench.clock.advance(msPerDay);
      expect(await settle(bench, long, 100)).toEqual({ charged: 100, overrun: 0 });
      expect(await entriesOf(bench, long.id)).toEqual([["charge", -100, long.countedAtMs]]);
      expect((await summaryOf(bench, key)).caps).toMatchObject([{ used: 0, left: 500 }]);
      await expectClean(bench);
    }, 60_000);
  });
}
