import { describe, expect, test } from "bun:test";
import { newId } from "../../../../src/base/id.ts";
import { moneyRules } from "../../../../src/ledger/shared-batch.ts";
import { NodeUnavailable } from "../../../../src/store/node.ts";
import type { PostgresClient, Query } from "../../../../src/store/postgres/client.ts";
import { sendMoney } from "../../../../src/store/postgres/lanes/money-batch.ts";
import { deadEnds } from "../../../../src/store/postgres/node/node-life.ts";
import { hasPostgres, withoutPostgres } from "../../../support/postgres.ts";
import { waitFor } from "../../../support/wait.ts";
import { clientOf, connectionOf } from "../fixtures.ts";
import { unbalanced } from "./node-load.ts";
import { chargeOrder, claimOrder, holdOrder, type JoinedNode, NodeWorld, storedResponse } from "./world.ts";

/** As a `keys topup` does whose machine is gone: it has the account, and says nothing more. */
async function lockAccount(client: PostgresClient, keyId: string): Promise<() => Promise<void>> {
  const [locked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = client.transaction(
    async (query: Query) => {
      await query("SELECT FROM accounts WHERE no = (SELECT account_no FROM keys WHERE id = $1) FOR UPDATE", [
        keyId,
      ]);
      locked.resolve();
      await release.promise;
    },
    { idleMs: 600_000, deadlineMs: 600_000 },
  );
  await locked.promise;
  return async () => {
    release.resolve();
    await holding;
  };
}

/** Holds and settles for a key without a pause, until it is stopped; says how often. */
function keepUsing({ node }: JoinedNode, keyId: string): () => Promise<number> {
  let [isStopped, done] = [false, 0];
  const using = (async () => {
    while (!isStopped) {
      const order = holdOrder(keyId, 100);
      expect((await node.hold(order)).decision).toBe("held");
      expect(await node.settle(chargeOrder(order, 1))).toEqual({ charged: 1, overrun: 0 });
      done += 1;
    }
  })();
  return async () => {
    isStopped = true;
    await using;
    return done;
  };
}

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("an account that somebody else keeps locked", () => {
    test("makes its own key wait, and no other on the node", async () => {
      await using world = await NodeWorld.create();
      const [stuck, other] = [await world.addKey(1_000), await world.addKey(1_000_000_000)];
      const joined = await world.join();
      const { node, events } = joined;
      const [charged, released] = [holdOrder(stuck, 100), holdOrder(stuck, 100)];
      await Promise.all([node.hold(charged), node.hold(released)]);
      const locker = clientOf(world.database.url, { max: 1 });
      const unlock = await lockAccount(locker, stuck);
      const stop = keepUsing(joined, other);
      const settling = node.settle(chargeOrder(charged, 60));
      node.release(released.holdId, stuck);
      for (let round = 0; round < 3; round += 1)
        await expect(node.hold(holdOrder(stuck, 100))).rejects.toThrow(NodeUnavailable);
      expect(node.problem).toBeNull();
      expect(await stop()).toBeGreaterThan(10);
      expect(events.filter(({ kind }) => kind === "blocked")).toEqual([{ kind: "blocked", key: stuck }]);
      await unlock();
      expect(await settling).toEqual({ charged: 60, overrun: 0 });
      const isFree = async () =>
        (await node.hold(holdOrder(stuck, 940)).catch(() => null))?.decision === "held";
      await waitFor(isFree, "all that was held of it to be given back");
      expect(await unbalanced(world.client)).toEqual([]);
      await locker.close();
    }, 120_000);

    test("keeps the claim of an exchange whose charge has to wait for it", async () => {
      await using world = await NodeWorld.create();
      const keyId = await world.addKey(1_000);
      const [{ node }, { node: other }] = [await world.join(), await world.join()];
      const order = holdOrder(keyId, 100);
      const claim = claimOrder(keyId, order.holdId);
      await Promise.all([node.hold(order), node.claim(claim)]);
      const locker = clientOf(world.database.url, { max: 1 });
      const unlock = await lockAccount(locker, keyId);
      const settling = node.settle(chargeOrder(order, 60, { response: storedResponse(claim) }));
      node.endClaim(claim);
      // Its lane is empty once this one was answered.
      expect(await node.claim(claimOrder(keyId, newId("req_")))).toBe("run");
      const again = { ...claim, exchangeId: newId("req_") };
      expect(await other.claim(again)).toBe("running");
      await unlock();
      await settling;
      expect(await other.claim(again)).toBe("replay");
      await locker.close();
    }, 120_000);

    test("does not keep what a dead node held of others", async () => {
      await using world = await NodeWorld.create();
      const [stuck, other] = [await world.addKey(1_000), await world.addKey(1_000)];
      const { query } = world.client;
      const [dead] = await query<{ no: number }>("SELECT sluice_join('dead', '1', -60000, 3) AS no");
      for (const keyId of [stuck, other]) {
        await query(
          `INSERT INTO holds (id, account_no, key_no, node_no, amount, period_start_ms, opened_at_ms, model, charge_so_far)
          SELECT $1, account_no, no, $2::int, 100, 0, 0, 'm', 40 FROM keys WHERE id = $1`,
          [keyId, dead?.no ?? 0],
        );
        await query("UPDATE accounts SET held = 100 WHERE no = (SELECT account_no FROM keys WHERE id = $1)", [
          keyId,
        ]);
      }
      const locker = clientOf(world.database.url, { max: 1 });
      const unlock = await lockAccount(locker, stuck);
      await query("SELECT sluice_fence($1, $1)", [dead?.no ?? 0]);
      const taker = clientOf(world.database.url, { max: 1 });
      const clear = async () => {
        const ends = await deadEnds(query, moneyRules, 200);
        const items = ends.map((end) => ({ kind: "end", end }) as const);
        if (ends.length > 0) await sendMoney(connectionOf(taker), [dead?.no ?? 0, null, 0], items);
        return ends.length;
      };
      const left = async () => (await query<{ id: string }>("SELECT id FROM holds")).map(({ id }) => id);
      expect(await clear()).toBe(1);
      expect(await clear()).toBe(0);
      expect(await left()).toEqual([stuck]);
      const uncleared = () => query("SELECT FROM nodes WHERE cleared_at IS NULL");
      expect(await uncleared()).toHaveLength(1);
      await unlock();
      expect([await clear(), await clear()]).toEqual([1, 0]);
      expect(await left()).toEqual([]);
      expect(await uncleared()).toEqual([]);
      expect(await unbalanced(world.client)).toEqual([]);
      await Promise.all([locker.close(), taker.close()]);
    });

    test("leaves what a node that stops had held of it to the others", async () => {
      await using world = await NodeWorld.create();
      const keyId = await world.addKey(1_000);
      const { node } = await world.join();
      await node.hold(holdOrder(keyId, 100));
      const locker = clientOf(world.database.url, { max: 1 });
      const unlock = await lockAccount(locker, keyId);
      await node.leave();
      expect(await world.leftovers()).toMatchObject({ holds: 1, held: 100 });
      await unlock();
      await world.join();
      await waitFor(async () => (await world.leftovers())["holds"] === 0, "another node to end it");
      expect(await unbalanced(world.client)).toEqual([]);
      await locker.close();
    }, 120_000);
  });
