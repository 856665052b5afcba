import { describe, expect, test } from "bun:test";
import { msPerDay } from "../../src/base/clock.ts";
import { GatewayError } from "../../src/base/errors.ts";
import type { AccountSummary } from "../../src/ledger/accounts.ts";
import { audit } from "../../src/ledger/audit.ts";
import { Hold } from "../../src/ledger/hold.ts";
import type { KeyRecord, NewValueCap } from "../../src/store/store.ts";
import { keyRecord } from "../store/fixtures.ts";
import { type AccountsBench, addAccount, addKeys, cap, tryHold } from "./accounts-bench.ts";
import { accountsKinds } from "./accounts-kinds.ts";
import { settlement } from "./fixtures.ts";

const aheadMs = 40 * msPerDay;

async function spend(bench: AccountsBench, key: KeyRecord, cost: number, labels: string | null = null) {
  const hold = await tryHold(bench.gateways[0], key, cost, "house-model", labels);
  if (!(hold instanceof Hold)) return hold;
  return bench.gateways[0]?.settle(hold, settlement(hold, cost, {}, { atMs: bench.clock.wallMs() }));
}

/** For each owner a day, over all accounts. */
function addOwnerCap({ store, clock }: AccountsBench, limit: number) {
  const ofOwners: NewValueCap = {
    id: "cap_owners",
    ...{ keyId: null, accountId: null, mode: "credit", label: "owner", value: null },
    limit,
    period: "day",
    ...{ models: null, isOptional: false, maxValues: 10, thenModel: null, thenAlways: false },
  };
  return store.insertValueCap(ofOwners, clock.wallMs());
}

async function summaryOf(bench: AccountsBench, key: KeyRecord): Promise<AccountSummary> {
  const [summary] = (await bench.gateways[0]?.summaries([key.id])) ?? [];
  if (summary === undefined) throw new Error("no summary");
  return summary;
}

async function expectHonest(bench: AccountsBench): Promise<void> {
  expect((await audit(bench.store)).differences).toEqual([]);
}

for (const [where, open] of accountsKinds) {
  describe(`after a clock was ahead, ${where}`, () => {
    test("caps, budgets and the day come back, and what was dated ahead counts to the present", async () => {
      await using bench = await open(1);
      const account = await addAccount(bench, { caps: [cap(500, "day")] }, 10_000);
      const [key = keyRecord()] = await addKeys(bench, account, 1, {
        caps: [cap(300, "day"), cap(900, "month")],
      });
      const budget = await addAccount(bench, { mode: "token_budget", budgetTokens: 1_000, period: "week" });
      const [student = keyRecord()] = await addKeys(bench, budget, 1);
      await bench.refresh();
      for (const payer of [key, student]) await spend(bench, payer, 100);
      const running = await tryHold(bench.gateways[0], key, 20);
      bench.clock.jumpWall(aheadMs);
      for (const payer of [key, student]) await spend(bench, payer, 70);
      const aheadHold = await tryHold(bench.gateways[0], key, 30);
      await expectHonest(bench);
      bench.clock.jumpWall(-aheadMs);
      await expectHonest(bench);
      expect(await bench.returnToPresent()).toBe(true);
      await expectHonest(bench);
      expect(await bench.returnToPresent()).toBe(false);
      const { caps, todaySpend } = await summaryOf(bench, key);
      expect(todaySpend).toBe(100);
      const midnight = Date.UTC(2026, 10, 17);
      expect(caps.map(({ used, held, resetsAtMs }) => ({ used, held, resetsAtMs }))).toEqual([
        { used: 170, held: 50, resetsAtMs: midnight },
        { used: 170, held: 50, resetsAtMs: midnight },
        { used: 170, held: 50, resetsAtMs: Date.UTC(2026, 11) },
      ]);
      expect((await summaryOf(bench, student)).budgetUsed).toBe(170);
      // What runs is charged to the present, whenever it was held.
      for (const hold of [running, aheadHold]) {
        if (!(hold instanceof Hold)) throw hold;
        await bench.gateways[0]?.settle(
          hold,
          settlement(hold, hold.amount, {}, { atMs: bench.clock.wallMs() }),
        );
      }
      await expectHonest(bench);
      expect((await summaryOf(bench, key)).caps.map(({ used, held }) => [used, held])).toEqual([
        [220, 0],
        [220, 0],
        [220, 0],
      ]);
      expect(await spend(bench, key, 81)).toBeInstanceOf(GatewayError);
      // The next day is a new one, and nothing waits for the day that was dated ahead.
      bench.clock.advance(msPerDay);
      expect(await spend(bench, key, 81)).toEqual({ charged: 81, overrun: 0 });
      expect((await summaryOf(bench, key)).todaySpend).toBe(81);
      await expectHonest(bench);
      bench.clock.advance(aheadMs);
      expect(await spend(bench, key, 90)).toEqual({ charged: 90, overrun: 0 });
      // What was dated in this month by the clock that was ahead counts in it.
      expect((await summaryOf(bench, key)).caps.map(({ used }) => used)).toEqual([90, 90, 160]);
      await expectHonest(bench);
      const log = await bench.store.admin.listAudit({ limit: 10 });
      expect(log.map(({ action }) => action)).toEqual(["clock.return"]);
    }, 60_000);

    test("what was spent ahead counts once, in the period of the return, and in no day until its own", async () => {
      await using bench = await open(1);
      const capped = await addAccount(bench, { caps: [cap(100, "day")] }, 100_000);
      const plain = await addAccount(bench, {}, 100_000);
      const budget = await addAccount(bench, { mode: "token_budget", budgetTokens: 100, period: "day" });
      const payers = [
        ...(await addKeys(bench, capped, 1)),
        ...(await addKeys(bench, plain, 1, { caps: [cap(100, "day")] })),
        ...(await addKeys(bench, budget, 1)),
      ];
      const [owned = keyRecord()] = await addKeys(bench, plain, 1);
      await addOwnerCap(bench, 100);
      await bench.refresh();
      const spendAll = async (cost: number) => {
        const spent = [];
        for (const payer of payers) spent.push(await spend(bench, payer, cost));
        return [...spent, await spend(bench, owned, cost, JSON.stringify({ owner: "ada" }))];
      };
      const expectSpent = async (cost: number) =>
        expect(await spendAll(cost)).toEqual(new Array(4).fill({ charged: cost, overrun: 0 }));
      const expectDenied = async () =>
        expect((await spendAll(1)).every((each) => each instanceof GatewayError)).toBe(true);
      bench.clock.jumpWall(10 * msPerDay);
      await expectSpent(100);
      bench.clock.jumpWall(-10 * msPerDay);
      expect(await bench.returnToPresent()).toBe(true);
      await bench.refresh();
      await expectDenied();
      await expectHonest(bench);
      for (let day = 1; day < 10; day += 1) {
        bench.clock.advance(msPerDay);
        await expectSpent(100);
        await expectDenied();
      }
      await expectHonest(bench);
      bench.clock.advance(msPerDay);
      await expectDenied();
      await expectHonest(bench);
      bench.clock.advance(msPerDay);
      await expectSpent(100);
      await expectHonest(bench);
    }, 120_000);

    test("a second return counts what was spent ahead since the first", async () => {
      await using bench = await open(1);
      const account = await addAccount(bench, {}, 10_000);
      const [key = keyRecord()] = await addKeys(bench, account, 1, { caps: [cap(100, "day")] });
      const budget = await addAccount(bench, { mode: "token_budget", budgetTokens: 100, period: "day" });
      const [student = keyRecord()] = await addKeys(bench, budget, 1);
      await addOwnerCap(bench, 100);
      await bench.refresh();
      const labels = JSON.stringify({ owner: "ada" });
      const used = async () => {
        const [record] = await bench.store.valueCaps();
        const [value] = await bench.store.valueTotals(record?.no ?? 0);
        const [state] = (await summaryOf(bench, key)).caps;
        return [state?.used, (await summaryOf(bench, student)).budgetUsed, value?.used];
      };
      for (const [days, amount, counted] of [
        [10, 30, 30],
        [9, 20, 21],
      ] as const) {
        bench.clock.jumpWall(days * msPerDay);
        for (const payer of [key, student]) await spend(bench, payer, amount, labels);
        bench.clock.jumpWall(-days * msPerDay);
        expect(await bench.returnToPresent()).toBe(true);
        await bench.refresh();
        expect(await used()).toEqual([counted, counted, counted]);
        await expectHonest(bench);
        bench.clock.advance(msPerDay);
        for (const payer of [key, student]) await spend(bench, payer, 1, labels);
        expect(await used()).toEqual([1, 1, 1]);
        await expectHonest(bench);
      }
      bench.clock.advance(8 * msPerDay);
      for (const payer of [key, student]) await spend(bench, payer, 2, labels);
      expect(await used()).toEqual([52, 52, 52]);
      await expectHonest(bench);
    }, 120_000);

    test("a new cap and a moved key count in the present too", async () => {
      await using bench = await open(1);
      const [from, to] = [await addAccount(bench, {}, 1_000), await addAccount(bench, {}, 1_000)];
      const [key = keyRecord()] = await addKeys(bench, from, 1);
      await bench.refresh();
      bench.clock.jumpWall(aheadMs);
      await spend(bench, key, 40);
      bench.clock.jumpWall(-aheadMs);
      await bench.store.setCaps(
        { keyId: key.id },
        [{ limit: 100, period: "day", models: null }],
        bench.clock.wallMs(),
      );
      await bench.store.moveKey(key.id, to.id, bench.clock.wallMs());
      await bench.refresh();
      await bench.returnToPresent();
      expect(await spend(bench, key, 61)).toBeInstanceOf(GatewayError);
      expect(await spend(bench, key, 60)).toEqual({ charged: 60, overrun: 0 });
      const [state] = (await summaryOf(bench, key)).caps;
      expect(state).toMatchObject({ used: 100, resetsAtMs: Date.UTC(2026, 10, 17) });
      await expectHonest(bench);
    }, 60_000);

    test("a gateway that was off for a week goes on as usual", async () => {
      await using bench = await open(1);
      const account = await addAccount(bench, {}, 1_000);
      const [key = keyRecord()] = await addKeys(bench, account, 1, { caps: [cap(50, "day")] });
      await bench.refresh();
      await spend(bench, key, 50);
      bench.clock.jumpWall(7 * msPerDay);
      expect(await bench.returnToPresent()).toBe(false);
      expect(await spend(bench, key, 50)).toEqual({ charged: 50, overrun: 0 });
      expect(await bench.store.admin.listAudit({ limit: 10 })).toEqual([]);
    });
  });

  describe(`after a clock was behind, ${where}`, () => {
    for (const days of [1, 10, 40]) {
      test(`what was spent before counts on: ${days} days back and forward again`, async () => {
        await using bench = await open(1);
        const account = await addAccount(bench, { caps: [cap(310, "day")] }, 10_000);
        const [key = keyRecord()] = await addKeys(bench, account, 1, {
          caps: [cap(305, "day"), cap(305, "month")],
        });
        const budget = await addAccount(bench, { mode: "token_budget", budgetTokens: 305, period: "day" });
        const [student = keyRecord()] = await addKeys(bench, budget, 1);
        const payers = [key, student];
        await bench.refresh();
        for (const payer of payers) await spend(bench, payer, 300);
        for (let round = 0; round < 2; round += 1) {
          bench.clock.jumpWall(-days * msPerDay);
          await expectHonest(bench);
          for (const payer of payers) expect(await spend(bench, payer, 10)).toBeInstanceOf(GatewayError);
          expect(await bench.returnToPresent()).toBe(true);
          await bench.refresh();
          await expectHonest(bench);
          for (const payer of payers) expect(await spend(bench, payer, 10)).toBeInstanceOf(GatewayError);
          bench.clock.jumpWall(days * msPerDay);
          await bench.returnToPresent();
          await expectHonest(bench);
          for (const payer of payers) expect(await spend(bench, payer, 10)).toBeInstanceOf(GatewayError);
          const { caps, todaySpend } = await summaryOf(bench, key);
          expect(caps.map(({ used }) => used)).toEqual([300, 300, 300]);
          expect(todaySpend).toBe(300);
          expect((await summaryOf(bench, student)).budgetUsed).toBe(300);
        }
        for (const payer of payers) expect(await spend(bench, payer, 5)).toEqual({ charged: 5, overrun: 0 });
        expect((await summaryOf(bench, key)).caps.map(({ used }) => used)).toEqual([305, 305, 305]);
        expect((await summaryOf(bench, key)).todaySpend).toBe(305);
        await expectHonest(bench);
        bench.clock.advance(msPerDay);
        expect(await spend(bench, student, 305)).toEqual({ charged: 305, overrun: 0 });
        await expectHonest(bench);
      }, 60_000);
    }

    test("a new cap counts what was spent under the later clock, then and again in its own period", async () => {
      await using bench = await open(1);
      const [key = keyRecord()] = await addKeys(bench, await addAccount(bench, {}, 10_000), 1);
      await bench.refresh();
      await spend(bench, key, 300);
      bench.clock.jumpWall(-10 * msPerDay);
      await bench.returnToPresent();
      await bench.store.setCaps(
        { keyId: key.id },
        [{ limit: 305, period: "day", models: null }],
        bench.clock.wallMs(),
      );
      await bench.refresh();
      await expectHonest(bench);
      expect(await spend(bench, key, 10)).toBeInstanceOf(GatewayError);
      bench.clock.jumpWall(10 * msPerDay);
      expect(await spend(bench, key, 10)).toBeInstanceOf(GatewayError);
      expect(await spend(bench, key, 5)).toEqual({ charged: 5, overrun: 0 });
      await expectHonest(bench);
    }, 60_000);
  });
}
