import { describe, expect, test } from "bun:test";
import { systemClock } from "../../../../src/base/clock.ts";
import { newId } from "../../../../src/base/id.ts";
import { audit } from "../../../../src/ledger/audit.ts";
import { NodeUnavailable } from "../../../../src/store/node.ts";
import { openStore } from "../../../../src/store/open.ts";
import { rollUp } from "../../../../src/store/postgres/rollup.ts";
import { hasPostgres, withoutPostgres } from "../../../support/postgres.ts";
import { costing } from "../../../support/rates.ts";
import { summarizeUsage } from "../../../support/usage.ts";
import { waitFor } from "../../../support/wait.ts";
import { unbalanced } from "./node-load.ts";
import { chargeOrder, claimOrder, holdOrder, NodeWorld, storedResponse } from "./world.ts";

const waitMs = 60_000;
/** What the caller said about the request that is taken over. */
const labels = '{"user":"ada \\\\ \\"b\\""}';

/** A node in the middle of an exchange with an Idempotency-Key is cut off, and another takes over. */
async function takenOver(world: NodeWorld, { producedSoFar = 0 } = {}) {
  const keyId = await world.addKey(1_000);
  const { node: other } = await world.join();
  const { node, proxy } = await world.join();
  const order = holdOrder(keyId, 100, { labels });
  const claim = claimOrder(keyId, order.holdId);
  await Promise.all([node.hold(order), node.claim(claim)]);
  if (producedSoFar > 0) {
    node.progress(order.holdId, costing(producedSoFar));
    const isNoted = async () =>
      (await world.client.query("SELECT FROM holds WHERE charge_so_far > 0")).length === 1;
    await waitFor(isNoted, "the progress");
  }
  proxy.mode = "silent";
  const settling = node.settle(chargeOrder(order, 70, { response: storedResponse(claim) })).catch((e) => e);
  const isOver = async () =>
    JSON.stringify(await world.leftovers()) === JSON.stringify({ holds: 0, held: 0, claims: 0 });
  await waitFor(isOver, "the takeover", waitMs);
  return { keyId, other, node, proxy, order, claim, settling };
}

async function chargesOf(world: NodeWorld): Promise<unknown[]> {
  return world.client.query(
    "SELECT exchange_id AS id, amount::float8, outcome, labels FROM entries WHERE kind = 'charge' ORDER BY entries.id",
  );
}

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("an exchange whose node was taken over while it was settling", () => {
    test("is not charged, and not answered, once another has claimed its Idempotency-Key", async () => {
      await using world = await NodeWorld.create();
      const { keyId, other, node, proxy, claim, settling } = await takenOver(world);
      const again = holdOrder(keyId, 100);
      const secondClaim = { ...claim, exchangeId: again.holdId };
      expect(await other.claim(secondClaim)).toBe("run");
      expect((await other.hold(again)).decision).toBe("held");
      proxy.mode = "pass";
      expect(await settling).toBeInstanceOf(NodeUnavailable);
      expect(node.describeLosses()).toEqual([]);
      const settled = await other.settle(chargeOrder(again, 65, { response: storedResponse(secondClaim) }));
      expect(settled).toEqual({ charged: 65, overrun: 0 });
      expect(await chargesOf(world)).toEqual([
        { id: again.holdId, amount: -65, outcome: "completed", labels: null },
      ]);
      expect(await node.claim({ ...claim, exchangeId: newId("req_") })).toBe("replay");
      expect(await unbalanced(world.client)).toEqual([]);
    }, 120_000);

    test("keeps its charge and its answer if nobody has", async () => {
      await using world = await NodeWorld.create();
      const { other, proxy, order, claim, settling } = await takenOver(world);
      proxy.mode = "pass";
      expect(await settling).toEqual({ charged: 70, overrun: 0 });
      expect(await other.claim({ ...claim, exchangeId: newId("req_") })).toBe("replay");
      expect(await chargesOf(world)).toEqual([
        { id: order.holdId, amount: -70, outcome: "completed", labels },
      ]);
    }, 120_000);

    test("is charged to the account where it began, whichever its key draws on by then", async () => {
      await using world = await NodeWorld.create();
      const { keyId, proxy, settling } = await takenOver(world);
      const location = { url: world.database.url, password: null, prepare: true };
      const store = await openStore({ location, clock: systemClock, role: "operator" });
      const began = (await store.findKey(keyId))?.accountId ?? "";
      const other = await world.addKey(1_000);
      const { accountId: now = "" } = (await store.findKey(other)) ?? {};
      await store.moveKey(keyId, now, Date.now());
      proxy.mode = "pass";
      expect(await settling).toEqual({ charged: 70, overrun: 0 });
      const posted = (await store.readAccounts([began, now])).map(({ totals }) => totals.posted);
      expect(posted).toEqual([930, 1_000]);
      expect((await audit(store)).differences).toEqual([]);
      await store.close();
    }, 120_000);

    test("is found by the audit if it was charged to an account that its key joined later", async () => {
      await using world = await NodeWorld.create();
      const { keyId, proxy, order, settling } = await takenOver(world);
      const location = { url: world.database.url, password: null, prepare: true };
      const store = await openStore({ location, clock: systemClock, role: "operator" });
      const other = await world.addKey(1_000);
      const { accountId = "" } = (await store.findKey(other)) ?? {};
      await store.moveKey(keyId, accountId, Date.now() + 10 * 60_000);
      proxy.mode = "pass";
      await settling;
      await world.client.query("ALTER TABLE entries DISABLE TRIGGER entries_are_only_added");
      await world.client.query(
        "UPDATE entries SET account_no = (SELECT account_no FROM keys WHERE id = $1) WHERE exchange_id = $2",
        [keyId, order.holdId],
      );
      const faults = (await audit(store)).differences.filter(({ field }) => field === "account");
      expect(faults).toEqual([
        {
          keyId,
          where: expect.stringMatching(/^entry \d+$/),
          field: "account",
          kept: accountId,
          recomputed: keyId,
        },
      ]);
      await store.close();
    }, 120_000);

    test("is owed above the cap of a postpaid account, by what the takeover has not charged", async () => {
      await using world = await NodeWorld.create();
      const { keyId, proxy, order, settling } = await takenOver(world, { producedSoFar: 40 });
      const location = { url: world.database.url, password: null, prepare: true };
      const store = await openStore({ location, clock: systemClock, role: "operator" });
      await world.client.query("UPDATE accounts SET is_open = 1");
      await store.setCaps({ keyId }, [{ limit: 50, period: "month", models: null }], Date.now());
      proxy.mode = "pass";
      expect(await settling).toEqual({ charged: 70, overrun: 0 });
      const entries = (await store.listEntries({ afterId: 0, limit: 10 })).filter(
        ({ exchangeId }) => exchangeId === order.holdId,
      );
      expect(entries.map(({ kind, amount, costNano }) => [kind, amount, costNano])).toEqual([
        ["charge", -40, null],
        ["charge", -10, 70],
        ["overrun", -20, null],
      ]);
      expect((await summarizeUsage(store, { by: "key", sinceMs: 0 }))[0]).toMatchObject({
        completed: 1,
        interrupted: 0,
        spendNano: 70,
        interruptedSpendNano: 0,
        overrunNano: 0,
      });
      expect((await store.load()).capTotals).toMatchObject([{ used: 70 }]);
      expect((await audit(store)).differences).toEqual([]);
      await store.close();
    }, 120_000);

    test("counts once in reports, as what it was in the end", async () => {
      await using world = await NodeWorld.create();
      const { proxy, order, settling } = await takenOver(world, { producedSoFar: 40 });
      const location = { url: world.database.url, password: null, prepare: true };
      const store = await openStore({ location, clock: systemClock, role: "operator" });
      const figures = async () => (await summarizeUsage(store, { by: "key", sinceMs: 0 }))[0];
      expect(await figures()).toMatchObject({ requests: 0, completed: 0, interrupted: 1, spendNano: 40 });
      await rollUp(world.client);
      proxy.mode = "pass";
      expect(await settling).toEqual({ charged: 70, overrun: 0 });
      const once = { requests: 1, completed: 1, interrupted: 0, interruptedSpendNano: 0, spendNano: 70 };
      // Before it is in the sums, and after.
      for (let round = 0; round < 2; round += 1) {
        expect(await figures()).toMatchObject(once);
        await rollUp(world.client);
      }
      expect(await chargesOf(world)).toEqual([
        { id: order.holdId, amount: -40, outcome: "interrupted", labels },
        { id: order.holdId, amount: -30, outcome: "completed", labels },
      ]);
      await store.close();
    }, 120_000);
  });
