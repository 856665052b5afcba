import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { newId } from "../../../../src/base/id.ts";
import type { HoldOrder } from "../../../../src/store/node.ts";
import { endOf } from "../../../../src/store/postgres/lanes/hold-end.ts";
import { type MoneyItem, sendMoney } from "../../../../src/store/postgres/lanes/money-batch.ts";
import { hasPostgres, withoutPostgres } from "../../../support/postgres.ts";
import { waitFor } from "../../../support/wait.ts";
import { clientOf } from "../fixtures.ts";
import { unbalanced } from "../node/node-load.ts";
import { chargeOrder, holdOrder, NodeWorld } from "../node/world.ts";

const asHold = (order: HoldOrder): MoneyItem => ({ kind: "hold", order });
const asEnd = (order: HoldOrder, cost: number): MoneyItem => ({
  kind: "end",
  end: endOf(chargeOrder(order, cost)),
});

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("a batch of holds and their ends", () => {
    let world: NodeWorld;
    beforeAll(async () => {
      world = await NodeWorld.create();
    });
    afterAll(() => world[Symbol.asyncDispose]());

    async function join(): Promise<number> {
      const [joined] = await world.client.query<{ no: number }>(
        "SELECT sluice_join('test', '1', 3600000, 2) AS no",
      );
      return joined?.no ?? 0;
    }

    test.each([
      ["quotes and backslashes", `a "quoted" \\ 'name' \\"`],
      ["what rows and arrays are made of", "(a,b),{c,d},NULL"],
      ["spaces, and lines", "  one\ttwo\nthree "],
      ["nothing", ""],
      ["other scripts", "模型 ü 🙂"],
    ])("keeps texts as they are: %s", async (_, model) => {
      const node = await join();
      const order = holdOrder(await world.addKey(100), 10, { model });
      const record = chargeOrder(order, 10).record;
      if (record === null) throw new Error("there is one");
      const charge = chargeOrder(order, 10, { model, record: { ...record, model, upstreamModel: model } });
      await sendMoney(world.client.query, [node, 1, 1], [asHold(order)]);
      const held = await world.client.query("SELECT model FROM holds WHERE id = $1", [order.holdId]);
      await sendMoney(world.client.query, [node, 1, 2], [{ kind: "end", end: endOf(charge) }]);
      const entries = await world.client.query(
        "SELECT model, upstream_model AS upstream FROM entries WHERE exchange_id = $1",
        [order.holdId],
      );
      expect({ held, entries }).toEqual({ held: [{ model }], entries: [{ model, upstream: model }] });
    });

    test("ends what it names first, so that others may hold what that had reserved", async () => {
      const node = await join();
      const keyId = await world.addKey(100);
      const [first, second] = [holdOrder(keyId, 100), holdOrder(keyId, 60)];
      const { query } = world.client;
      expect(await sendMoney(query, [node, 1, 1], [asHold(first), asHold(second)])).toMatchObject([
        { decision: "held", remaining: 0 },
        { decision: "reserved" },
      ]);
      expect(await sendMoney(query, [node, 1, 2], [asHold(second), asEnd(first, 40)])).toMatchObject([
        { decision: "held", balance: 60, remaining: 0 },
        { charged: 40, overrun: 0 },
      ]);
    });

    test("says nothing of a key that there is not, and decides about the others", async () => {
      const node = await join();
      const orders = [holdOrder(newId("key_"), 10), holdOrder(await world.addKey(10), 10)];
      expect(await sendMoney(world.client.query, [node, 1, 1], orders.map(asHold))).toMatchObject([
        { decision: "unknown_key" },
        { decision: "held" },
      ]);
    });

    test("is refused as a whole if it names a hold twice, which one by one is charged once", async () => {
      const node = await join();
      const { query } = world.client;
      const order = holdOrder(await world.addKey(100), 50);
      await sendMoney(query, [node, 1, 1], [asHold(order)]);
      const twice = sendMoney(query, [node, 1, 2], [asEnd(order, 30), asEnd(order, 30)]);
      await expect(twice).rejects.toMatchObject({ errno: "23000" });
      for (const sequence of [2, 3]) {
        const answer = await sendMoney(query, [node, 1, sequence], [asEnd(order, 30)]);
        expect(answer).toEqual([{ charged: 30, overrun: 0 }]);
      }
      expect(await unbalanced(world.client)).toEqual([]);
    });

    test("of one end and one order waits for both accounts, so that neither forgets what others do to them", async () => {
      const [node, other] = [await join(), await join()];
      const { query } = world.client;
      const [ended, held] = [await world.addKey(100), await world.addKey(100)];
      const first = holdOrder(ended, 50);
      await sendMoney(query, [node, 1, 1], [asHold(first)]);
      const concurrent = clientOf(world.database.url, { max: 1 });
      const sending = concurrent.transaction(async (inTransaction) => {
        await sendMoney(inTransaction, [other, 1, 1], [asHold(holdOrder(held, 60))]);
        const answers = sendMoney(
          query,
          [node, 1, 2],
          [asEnd(first, 20), asHold(holdOrder(held, 60))],
          30_000,
        );
        await waitFor(
          async () => (await world.client.query(waitingForLock)).length === 1,
          "the batch to wait",
        );
        return { answers };
      });
      expect(await (await sending).answers).toMatchObject([
        { charged: 20, overrun: 0 },
        { decision: "reserved", balance: 100, remaining: 40 },
      ]);
      expect(await unbalanced(world.client)).toEqual([]);
      await concurrent.close();
    });

    test("that is still being committed on a lost connection is neither done again nor waited for", async () => {
      const node = await join();
      const { query } = world.client;
      const keyId = await world.addKey(100);
      const items = [asHold(holdOrder(keyId, 60))];
      const lost = clientOf(world.database.url, { max: 1 });
      await lost.transaction(async (inTransaction) => {
        await sendMoney(inTransaction, [node, 1, 1], items);
        await expect(sendMoney(query, [node, 1, 1], items)).rejects.toMatchObject({ errno: "SL002" });
      });
      expect(await sendMoney(query, [node, 1, 1], items)).toMatchObject([{ decision: "held" }]);
      // One that skips a number is of a node that was fenced, or never was.
      await expect(sendMoney(query, [node, 1, 3], items)).rejects.toMatchObject({ errno: "SL001" });
      expect(await unbalanced(world.client)).toEqual([]);
      await lost.close();
    });
  });

const waitingForLock = `SELECT FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%sluice_do_batch%'`;
