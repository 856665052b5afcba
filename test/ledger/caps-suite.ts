import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import type { Accounts } from "../../src/ledger/accounts.ts";
import { audit } from "../../src/ledger/audit.ts";
import { Hold } from "../../src/ledger/hold.ts";
import { keyRecord } from "../store/fixtures.ts";
import { type AccountsBench, addAccount, addKeys, cap, tryHold } from "./accounts-bench.ts";
import { settlement } from "./fixtures.ts";

const credit = 1_000_000_000;
const racers = 1_000;

async function spend(accounts: Accounts | undefined, hold: Hold | GatewayError, cost: number) {
  if (!(hold instanceof Hold) || accounts === undefined) throw hold;
  return accounts.settle(hold, settlement(hold, cost));
}

function detailsOf(refusal: unknown) {
  if (!(refusal instanceof GatewayError)) throw new Error("not refused");
  return { code: refusal.code, message: refusal.message, details: refusal.vendor?.details };
}

/** What accounts and caps do wherever they are kept. */
export function describeCaps(where: string, open: (gateways: number) => Promise<AccountsBench>): void {
  describe(`accounts and caps ${where}`, () => {
    test("1,000 racers over ten keys of one account for 10 requests: exactly 10", async () => {
      await using bench = await open(4);
      const account = await addAccount(bench, {}, 1_000);
      const keys = await addKeys(bench, account, 10);
      await bench.refresh();
      const { gateways } = bench;
      const held = await Promise.all(
        Array.from({ length: racers }, (_, n) =>
          tryHold(gateways[n % gateways.length], keys[n % 10] ?? keyRecord(), 100),
        ),
      );
      const admitted = held.flatMap((hold, n) => (hold instanceof Hold ? [{ hold, n }] : []));
      expect(admitted).toHaveLength(10);
      for (const { hold, n } of admitted) await spend(gateways[n % gateways.length], hold, 100);
      expect((await bench.store.readAccounts([account.id]))[0]?.totals).toMatchObject({
        posted: 0,
        used: 1_000,
      });
      expect((await audit(bench.store)).differences).toEqual([]);
    });

    test("1,000 racers for a key that may have 10 requests in flight: exactly 10, and as many again as end", async () => {
      await using bench = await open(4);
      const account = await addAccount(bench, {}, 1_000_000);
      const [key = keyRecord()] = await addKeys(bench, account, 1, { maxConcurrent: 10 });
      const [other = keyRecord()] = await addKeys(bench, account, 1);
      await bench.refresh();
      const { gateways } = bench;
      const hold = (n: number, of = key) => tryHold(gateways[n % gateways.length], of, 1);
      const tried = await Promise.all(Array.from({ length: racers }, (_, n) => hold(n)));
      const held = tried.flatMap((one, n) => (one instanceof Hold ? [{ one, n }] : []));
      expect(held).toHaveLength(10);
      const refused = tried.find((one) => one instanceof GatewayError);
      expect(refused).toMatchObject({ code: "rate_limit_exceeded", retryAfterSeconds: 1 });
      expect(String(refused)).toContain("its maximum of 10 requests in progress");
      expect(await hold(0, other)).toBeInstanceOf(Hold);
      const [settled, released] = held;
      await spend(gateways[(settled?.n ?? 0) % gateways.length], settled?.one as Hold, 1);
      const gateway = gateways[(released?.n ?? 0) % gateways.length];
      gateway?.release(released?.one as Hold);
      // What is released goes with the next batch of its gateway.
      expect(await hold(released?.n ?? 0)).toBeInstanceOf(Hold);
      const again = await Promise.all(Array.from({ length: 20 }, (_, n) => hold(n)));
      expect(again.filter((one) => one instanceof Hold)).toHaveLength(1);
      await bench.store.updateKey(key.id, { maxConcurrent: null });
      await bench.refresh();
      expect(await hold(0)).toBeInstanceOf(Hold);
    });

    test("what remains is the least that the balance and the caps leave", async () => {
      await using bench = await open(1);
      const account = await addAccount(bench, { caps: [cap(500, "day")] }, 1_000);
      const [key = keyRecord()] = await addKeys(bench, account, 1, { caps: [cap(300, "month")] });
      await bench.refresh();
      const [gateway] = bench.gateways;
      const hold = await tryHold(gateway, key, 100);
      if (!(hold instanceof Hold)) throw hold;
      expect(gateway?.remaining(hold)).toBe(200);
      await spend(gateway, hold, 40);
      expect(gateway?.remaining(hold)).toBe(260);
    });

    test("of two caps that begin anew together the key's is named", async () => {
      await using bench = await open(1);
      const account = await addAccount(bench, { isPostpaid: true, caps: [cap(100, "day")] });
      const [key = keyRecord()] = await addKeys(bench, account, 1, { caps: [cap(100, "day")] });
      await bench.refresh();
      const [gateway] = bench.gateways;
      await spend(gateway, await tryHold(gateway, key, 100), 100);
      expect(detailsOf(await tryHold(gateway, key, 1)).details).toMatchObject({ bound: "key_cap" });
    });

    test("a hold above what a cap has left is told how much that is, of which cap, and until when", async () => {
      await using bench = await open(1);
      const account = await addAccount(bench, { isPostpaid: true });
      const [key = keyRecord()] = await addKeys(bench, account, 1, { caps: [cap(3 * credit, "day")] });
      await bench.refresh();
      const [gateway] = bench.gateways;
      await spend(gateway, await tryHold(gateway, key, credit), credit);
      expect(detailsOf(await tryHold(gateway, key, 4 * credit))).toMatchObject({
        code: "insufficient_credit",
        message:
          "This request could cost up to 4 credits, but only 2 of this key's 3 credits per day are left" +
          " (resets at 2026-11-17T00:00:00Z). Lower `max_tokens`, or ask the operator to raise the cap.",
      });
    });

    test("a cap of 3 on each key: never more than 3 of one, and 3 of each", async () => {
      await using bench = await open(4);
      const account = await addAccount(bench, { isPostpaid: true });
      const keys = await addKeys(bench, account, 10, { caps: [cap(300, "day")] });
      await bench.refresh();
      const { gateways } = bench;
      const held = await Promise.all(
        Array.from({ length: racers }, (_, n) =>
          tryHold(gateways[n % gateways.length], keys[n % 10] ?? keyRecord(), 100),
        ),
      );
      const admitted = held.flatMap((hold, n) => (hold instanceof Hold ? [{ hold, n }] : []));
      const byKey = Map.groupBy(admitted, ({ hold }) => hold.keyId);
      expect(Array.from(byKey.values(), (holds) => holds.length)).toEqual(new Array(10).fill(3));
      for (const { hold, n } of admitted) await spend(gateways[n % gateways.length], hold, 100);
      const refused = await tryHold(gateways[0], keys[0] ?? keyRecord(), 1);
      expect(detailsOf(refused).code).toBe("limit_reached");
      expect((await audit(bench.store)).differences).toEqual([]);
    });

    test("a stream that began before midnight is charged to yesterday's cap, and today's is whole", async () => {
      await using bench = await open(1);
      const [gateway] = bench.gateways;
      const account = await addAccount(bench, { isPostpaid: true });
      const [key = keyRecord()] = await addKeys(bench, account, 1, {
        caps: [cap(100, "day"), cap(150, "month")],
      });
      await bench.refresh();
      bench.clock.jumpWall(12 * 3_600_000 - 1_000);
      const stream = await tryHold(gateway, key, 90);
      bench.clock.jumpWall(2_000);
      const today = await tryHold(gateway, key, 60);
      await spend(gateway, stream, 80);
      await spend(gateway, today, 60);
      const [day, month] = (await gateway?.summaries([key.id]))?.[0]?.caps ?? [];
      expect([day?.used, month?.used]).toEqual([60, 140]);
      // A clock that is set back grants nothing twice.
      bench.clock.jumpWall(-4_000);
      expect(detailsOf(await tryHold(gateway, key, 50)).details).toMatchObject({
        period: "month",
        used: 140e-9,
      });
      expect((await audit(bench.store)).differences).toEqual([]);
    });

    test("a refusal names the bound, how much is used and when it begins anew, the last to begin anew first", async () => {
      await using bench = await open(1);
      const [gateway] = bench.gateways;
      const account = await addAccount(bench, { caps: [cap(7 * credit, "month", "house-*")] }, 100 * credit);
      const [key = keyRecord()] = await addKeys(bench, account, 1, { caps: [cap(5 * credit, "day")] });
      await bench.refresh();
      expect(detailsOf(await tryHold(gateway, key, 6 * credit))).toMatchObject({
        code: "insufficient_credit",
        details: { bound: "key_cap", period: "day", limit: 5, used: 0, resets_at: "2026-11-17T00:00:00Z" },
      });
      const held = await tryHold(gateway, key, 3 * credit);
      expect(detailsOf(await tryHold(gateway, key, 3 * credit))).toMatchObject({
        code: "balance_temporarily_reserved",
        details: { bound: "key_cap" },
      });
      await spend(gateway, held, 3 * credit);
      await spend(gateway, await tryHold(gateway, key, 2 * credit), 2 * credit);
      expect(detailsOf(await tryHold(gateway, key, 1))).toEqual({
        code: "limit_reached",
        message:
          "This key has reached its cap of 5 credits per day (5.00 used). It resets at 2026-11-17T00:00:00Z.",
        details: { bound: "key_cap", period: "day", limit: 5, used: 5, resets_at: "2026-11-17T00:00:00Z" },
      });
      bench.clock.jumpWall(24 * 3_600_000);
      expect(detailsOf(await tryHold(gateway, key, 3 * credit)).details).toMatchObject({
        bound: "account_cap",
        limit: 7,
        used: 5,
        resets_at: "2026-12-01T00:00:00Z",
      });
      // The pattern is not for this model.
      expect(await tryHold(gateway, key, 3 * credit, "other-model")).toBeInstanceOf(Hold);
    });

    test("a new cap counts what was taken and is held before it, and an extension is for its period alone", async () => {
      await using bench = await open(1);
      const [gateway] = bench.gateways;
      const account = await addAccount(bench, {}, 1_000);
      const [key = keyRecord()] = await addKeys(bench, account, 1);
      await bench.refresh();
      await spend(gateway, await tryHold(gateway, key, 40), 40);
      const running = await tryHold(gateway, key, 30);
      const nowMs = bench.clock.wallMs();
      await bench.store.setCaps({ keyId: key.id }, [cap(100, "day")], nowMs);
      await bench.refresh();
      expect((await gateway?.summaries([key.id]))?.[0]?.caps).toMatchObject([
        { used: 40, held: 30, left: 60 },
      ]);
      expect(detailsOf(await tryHold(gateway, key, 40)).code).toBe("balance_temporarily_reserved");
      await spend(gateway, running, 60);
      const [{ no } = cap(0, "day")] = (await bench.store.findKey(key.id))?.caps ?? [];
      await bench.store.extendCap({ keyId: key.id }, no, 20, nowMs);
      await bench.refresh();
      const extended = await tryHold(gateway, key, 20);
      await spend(gateway, extended, 20);
      expect(detailsOf(await tryHold(gateway, key, 1)).details).toMatchObject({
        limit: 120e-9,
        used: 120e-9,
      });
      bench.clock.jumpWall(24 * 3_600_000);
      expect((await gateway?.summaries([key.id]))?.[0]?.caps).toMatchObject([{ limit: 100, used: 0 }]);
      expect((await audit(bench.store)).differences).toEqual([]);
    });

    test("a cap that an operator's slower clock begins yesterday counts what is held today, and is not exceeded", async () => {
      await using bench = await open(1);
      const [gateway] = bench.gateways;
      const [account, other] = [
        await addAccount(bench, { isPostpaid: true }),
        await addAccount(bench, { isPostpaid: true }),
      ];
      const [key = keyRecord()] = await addKeys(bench, account, 1);
      await bench.refresh();
      bench.clock.jumpWall(12 * 3_600_000);
      const [charged, held] = [await tryHold(gateway, key, 20), await tryHold(gateway, key, 60)];
      await spend(gateway, charged, 20);
      // The account that the key draws on from now on has counted nothing yet.
      await bench.store.moveKey(key.id, other.id, bench.clock.wallMs());
      await bench.store.setCaps({ keyId: key.id }, [cap(100, "day")], bench.clock.wallMs() - 1_000);
      await bench.refresh();
      expect(detailsOf(await tryHold(gateway, key, 30)).code).toBe("balance_temporarily_reserved");
      const more = await tryHold(gateway, key, 20);
      await spend(gateway, held, 60);
      await spend(gateway, more, 20);
      expect((await gateway?.summaries([key.id]))?.[0]?.caps).toMatchObject([{ used: 100, held: 0 }]);
      expect(detailsOf(await tryHold(gateway, key, 1)).code).toBe("limit_reached");
      expect((await audit(bench.store)).differences).toEqual([]);
    });

    test("a key that moves takes its caps and its spend along; what is in flight is charged where it was held", async () => {
      await using bench = await open(1);
      const [gateway] = bench.gateways;
      const from = await addAccount(bench, {}, 1_000);
      const to = await addAccount(bench, {}, 500);
      const [key = keyRecord()] = await addKeys(bench, from, 1, { caps: [cap(100, "month")] });
      await bench.refresh();
      const flying = await tryHold(gateway, key, 60);
      await bench.store.moveKey(key.id, to.id, bench.clock.wallMs());
      await bench.refresh();
      const after = await tryHold(gateway, key, 30);
      await spend(gateway, flying, 50);
      await spend(gateway, after, 30);
      const standings = await bench.store.readAccounts([from.id, to.id]);
      expect(standings.map(({ totals }) => totals.posted)).toEqual([950, 470]);
      expect((await gateway?.summaries([key.id]))?.[0]).toMatchObject({
        lifetimeSpend: 80,
        posted: 470,
        caps: [{ used: 80, held: 0 }],
      });
      expect((await audit(bench.store)).differences).toEqual([]);
    });

    test("changing one of two daily caps leaves the other, and what both have counted", async () => {
      await using bench = await open(1);
      const account = await addAccount(bench, {}, 10_000);
      const [key = keyRecord()] = await addKeys(bench, account, 1);
      const nowMs = bench.clock.wallMs();
      await bench.store.setCaps({ keyId: key.id }, [cap(100, "day"), cap(50, "day", "other-*")], nowMs);
      await bench.refresh();
      const [gateway] = bench.gateways;
      await spend(gateway, await tryHold(gateway, key, 10, "other-model"), 10);
      await bench.store.setCaps({ keyId: key.id }, [cap(100, "day"), cap(20, "day", "other-*")], nowMs);
      await bench.refresh();
      expect((await gateway?.summaries([key.id]))?.[0]?.caps).toMatchObject([
        { limit: 100, models: null, used: 10 },
        { limit: 20, models: "other-*", used: 10 },
      ]);
      await bench.store.setCaps({ keyId: key.id }, [cap(70, "month"), cap(20, "day", "other-*")], nowMs);
      await bench.refresh();
      expect((await gateway?.summaries([key.id]))?.[0]?.caps).toMatchObject([
        { limit: 20, period: "day", models: "other-*", used: 10 },
        { limit: 70, period: "month", models: null, used: 10 },
      ]);
    });

    test("a cap for models covers them under the names that clouds and other providers have for them", async () => {
      await using bench = await open(1);
      const account = await addAccount(bench, {}, 10_000);
      const caps = [cap(100, "day", "opus-*")];
      const [key = keyRecord()] = await addKeys(bench, account, 1, { caps });
      await bench.refresh();
      const [gateway] = bench.gateways;
      const names = ["opus-5", "vertex/opus-5", "eu.maker.opus-5", "groq/maker/opus-5"];
      for (const name of names) await spend(gateway, await tryHold(gateway, key, 10, name), 10);
      for (const name of ["not-opus-5", "vertex/not-opus-5", "opus/5", "eu.opus.5"])
        await spend(gateway, await tryHold(gateway, key, 10, name), 10);
      expect((await gateway?.summaries([key.id]))?.[0]?.caps).toMatchObject([{ used: 40 }]);
      expect((await audit(bench.store)).differences).toEqual([]);
      // Another cap that did not exist counts what was spent before.
      const now = [...caps, cap(200, "month", "*opus-*"), cap(300, "month", "opus-5")];
      await bench.store.setCaps({ keyId: key.id }, now, bench.clock.wallMs());
      await bench.refresh();
      expect((await gateway?.summaries([key.id]))?.[0]?.caps.map(({ used }) => used)).toEqual([40, 60, 40]);
      expect(await tryHold(gateway, key, 70, "bedrock/opus-5")).toBeInstanceOf(GatewayError);
      expect((await audit(bench.store)).differences).toEqual([]);
    });

    test("what a cap is raised by adds up within a period, and is gone in the next", async () => {
      await using bench = await open(1);
      const account = await addAccount(bench, {}, 10_000);
      const [key = keyRecord()] = await addKeys(bench, account, 1, { caps: [cap(100, "day")] });
      const owner = { keyId: key.id };
      const capNo = (await bench.store.findKey(key.id))?.caps[0]?.no ?? 0;
      const limit = async () => {
        await bench.refresh();
        return (await bench.gateways[0]?.summaries([key.id]))?.[0]?.caps[0]?.limit;
      };
      await bench.store.extendCap(owner, capNo, 30, bench.clock.wallMs());
      await bench.store.extendCap(owner, capNo, 12, bench.clock.wallMs());
      expect(await limit()).toBe(142);
      bench.clock.advance(24 * 3_600_000);
      expect(await limit()).toBe(100);
      await bench.store.extendCap(owner, capNo, 5, bench.clock.wallMs());
      expect(await limit()).toBe(105);
    });

    test("an operator whose clock is behind raises the cap of the day that the account has reached", async () => {
      await using bench = await open(1);
      const account = await addAccount(bench, {}, 10_000);
      const [key = keyRecord()] = await addKeys(bench, account, 1, { caps: [cap(100, "day", "other-*")] });
      await bench.refresh();
      const [gateway] = bench.gateways;
      bench.clock.advance(12 * 3_600_000);
      // The cap itself has not counted anything today, but its account has.
      await spend(gateway, await tryHold(gateway, key, 10, "house-model"), 10);
      const capNo = (await bench.store.findKey(key.id))?.caps[0]?.no ?? 0;
      await bench.store.extendCap({ keyId: key.id }, capNo, 30, bench.clock.wallMs() - 60_000);
      await bench.refresh();
      expect((await gateway?.summaries([key.id]))?.[0]?.caps[0]).toMatchObject({
        limit: 130,
        resetsAtMs: Date.UTC(2026, 10, 18),
      });
    });

    test("a cap that nothing was counted in yet shows when the present period ends", async () => {
      await using bench = await open(1);
      const account = await addAccount(bench, {}, 10_000);
      const [key = keyRecord()] = await addKeys(bench, account, 1, { caps: [cap(100, "day")] });
      await bench.refresh();
      const [gateway] = bench.gateways;
      await spend(gateway, await tryHold(gateway, key, 10), 10);
      bench.clock.advance(3 * 24 * 3_600_000);
      expect((await gateway?.summaries([key.id]))?.[0]?.caps[0]).toMatchObject({
        used: 0,
        resetsAtMs: Date.UTC(2026, 10, 20),
      });
    });

    test("an open account needs no balance and owes what was spent; a closed one takes nothing more", async () => {
      await using bench = await open(1);
      const [gateway] = bench.gateways;
      const account = await addAccount(bench, { isPostpaid: true });
      const [key = keyRecord()] = await addKeys(bench, account, 1);
      await bench.refresh();
      await spend(gateway, await tryHold(gateway, key, 70), 70);
      const entry = { keyId: null, accountId: account.id, reference: null, note: null, atMs: 0 };
      await bench.store.recordTopUp({ ...entry, amountNano: 50 });
      await bench.refresh();
      expect((await bench.store.readAccounts([account.id]))[0]?.totals).toMatchObject({
        posted: -20,
        used: 70,
      });
      await bench.store.updateAccount(account.id, { closedAtMs: 1 });
      expect((await bench.store.findKey(key.id))?.isClosed).toBe(true);
      expect((await audit(bench.store)).differences).toEqual([]);
    });
  });
}
