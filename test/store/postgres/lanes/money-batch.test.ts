import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { newId } from "../../../../src/base/id.ts";
import type { HoldOrder } from "../../../../src/store/node.ts";
import type { PostgresClient } from "../../../../src/store/postgres/client.ts";
import { RejectedBatch } from "../../../../src/store/postgres/lanes/failure.ts";
import { endOf } from "../../../../src/store/postgres/lanes/hold-end.ts";
import {
  type MoneyConnection,
  type MoneyItem,
  sendMoney,
} from "../../../../src/store/postgres/lanes/money-batch.ts";
import { hasPostgres, withoutPostgres } from "../../../support/postgres.ts";
import { waitFor } from "../../../support/wait.ts";
import { clientOf, connectionOf } from "../fixtures.ts";
import { unbalanced } from "../node/node-load.ts";
import { chargeOrder, holdOrder, NodeWorld } from "../node/world.ts";
import { PausedBatch } from "./paused-batch.ts";

const asHold = (order: HoldOrder): MoneyItem => ({ kind: "hold", order });
const asEnd = (order: HoldOrder, cost: number): MoneyItem => ({
  kind: "end",
  end: endOf(chargeOrder(order, cost)),
});

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("a batch of holds and their ends", () => {
    let world: NodeWorld;
    let client: PostgresClient;
    let other: PostgresClient;
    let connection: MoneyConnection;
    beforeAll(async () => {
      world = await NodeWorld.create();
      client = clientOf(world.database.url, { max: 1 });
      other = clientOf(world.database.url, { max: 1 });
      connection = connectionOf(client);
    });
    afterAll(async () => {
      await client.close();
      await other.close();
      await world[Symbol.asyncDispose]();
    });

    async function join(): Promise<number> {
      const [joined] = await world.client.query<{ no: number }>(
        "SELECT sluice_join('test', '1', 3600000, 2) AS no",
      );
      return joined?.no ?? 0;
    }

    test.each([
      ["quotes and backslashes", `a "quoted" \\ 'name' \\"`],
      ["what rows and arrays are made of", "(a,b),{c,d},NULL"],
      ["what ends a statement", "'; COMMIT; --"],
      ["spaces, and lines", "  one\ttwo\nthree "],
      ["nothing", ""],
      ["other scripts", "模型 ü 🙂"],
    ])("keeps texts as they are: %s", async (_, model) => {
      const node = await join();
      const order = holdOrder(await world.addKey(100), 10, { model });
      const record = chargeOrder(order, 10).record;
      if (record === null) throw new Error("there is one");
      const charge = chargeOrder(order, 10, { model, record: { ...record, model, upstreamModel: model } });
      await sendMoney(connection, [node, 1, 1], [asHold(order)]);
      const held = await world.client.query("SELECT model FROM holds WHERE id = $1", [order.holdId]);
      await sendMoney(connection, [node, 1, 2], [{ kind: "end", end: endOf(charge) }]);
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
      expect(await sendMoney(connection, [node, 1, 1], [asHold(first), asHold(second)])).toMatchObject([
        { decision: "held", remaining: 0 },
        { decision: "reserved", state: { left: 100, held: 100 } },
      ]);
      expect(await sendMoney(connection, [node, 1, 2], [asHold(second), asEnd(first, 40)])).toMatchObject([
        { decision: "held", remaining: 0 },
        { charged: 40, overrun: 0 },
      ]);
    });

    test("says nothing of a key that there is not, and decides about the others", async () => {
      const node = await join();
      const orders = [holdOrder(newId("key_"), 10), holdOrder(await world.addKey(10), 10)];
      expect(await sendMoney(connection, [node, 1, 1], orders.map(asHold))).toMatchObject([
        { decision: "unknown_key" },
        { decision: "held" },
      ]);
    });

    test("is refused as a whole if it names a hold twice, which one by one is charged once", async () => {
      const node = await join();
      const order = holdOrder(await world.addKey(100), 50);
      await sendMoney(connection, [node, 1, 1], [asHold(order)]);
      const twice = sendMoney(connection, [node, 1, 2], [asEnd(order, 30), asEnd(order, 30)]);
      await expect(twice).rejects.toThrow(RejectedBatch);
      for (const sequence of [2, 3]) {
        const answer = await sendMoney(connection, [node, 1, sequence], [asEnd(order, 30)]);
        expect(answer).toEqual([{ charged: 30, overrun: 0 }]);
      }
      expect(await unbalanced(world.client)).toEqual([]);
    });

    test("is refused as a whole if an amount is impossible, and leaves nothing locked", async () => {
      const node = await join();
      const keyId = await world.addKey(100);
      const impossible = sendMoney(connection, [node, 1, 1], [asHold(holdOrder(keyId, 0.5))]);
      await expect(impossible).rejects.toThrow(RejectedBatch);
      const answers = await sendMoney(connectionOf(other), [node, 1, 1], [asHold(holdOrder(keyId, 5))]);
      expect(answers).toMatchObject([{ decision: "held", remaining: 95 }]);
    });

    test("of one end and one order waits for both accounts, so that neither forgets what others do to them", async () => {
      const [node, another] = [await join(), await join()];
      const [ended, held] = [await world.addKey(100), await world.addKey(100)];
      const first = holdOrder(ended, 50);
      await sendMoney(connection, [node, 1, 1], [asHold(first)]);
      const paused = new PausedBatch(other, { isPatient: true });
      const before = sendMoney(paused.connection, [another, 1, 1], [asHold(holdOrder(held, 60))]);
      await paused.locked;
      const items = [asEnd(first, 20), asHold(holdOrder(held, 60))];
      const answers = sendMoney(connection, [node, 1, 2], items, 30_000);
      await waitFor(async () => (await world.client.query(waitingForLock)).length === 1, "the batch to wait");
      paused.resume();
      expect(await before).toMatchObject([{ decision: "held" }]);
      expect(await answers).toMatchObject([
        { charged: 20, overrun: 0 },
        { decision: "reserved", state: { left: 100, held: 60 } },
      ]);
      expect(await unbalanced(world.client)).toEqual([]);
    });

    test("that is still being committed on a lost connection is neither done again nor waited for", async () => {
      const node = await join();
      const keyId = await world.addKey(100);
      const items = [asHold(holdOrder(keyId, 60))];
      const paused = new PausedBatch(other, { isPatient: true });
      const lost = sendMoney(paused.connection, [node, 1, 1], items);
      await paused.locked;
      const again = () => sendMoney(connection, [node, 1, 1], items);
      await expect(again()).rejects.toMatchObject({ errno: "SL002" });
      paused.resume();
      const answers = await lost;
      expect(answers).toMatchObject([{ decision: "held", remaining: 40 }]);
      // As it was then, whatever has happened since.
      await sendMoney(connectionOf(other), [await join(), 1, 1], [asHold(holdOrder(keyId, 40))]);
      expect(await again()).toEqual(answers);
      // One that skips a number is of a node that was fenced, or never was.
      await expect(sendMoney(connection, [node, 1, 3], items)).rejects.toMatchObject({ errno: "SL001" });
      expect(await unbalanced(world.client)).toEqual([]);
    });

    test("sees what the batch that it waited for has counted against a cap", async () => {
      const [node, another] = [await join(), await join()];
      const keyId = await world.addKey(1_000);
      await world.client.query(
        "INSERT INTO caps (key_no, amount, period) SELECT no, 100, 'week' FROM keys WHERE id = $1",
        [keyId],
      );
      const paused = new PausedBatch(other, { isPatient: true });
      const before = sendMoney(paused.connection, [another, 1, 1], [asHold(holdOrder(keyId, 60))]);
      await paused.locked;
      const after = sendMoney(connection, [node, 1, 1], [asHold(holdOrder(keyId, 60))], 30_000);
      await waitFor(async () => (await world.client.query(waitingForLock)).length === 1, "the batch to wait");
      paused.resume();
      expect(await before).toMatchObject([{ decision: "held", remaining: 40 }]);
      expect(await after).toMatchObject([
        { decision: "reserved", state: { bound: "key_cap", left: 100, held: 60 } },
      ]);
    });

    test("adds to sums that a double does not hold", async () => {
      const node = await join();
      const keyId = await world.addKey(100);
      const spent = 2n ** 53n + 1n;
      await world.client.query(
        "UPDATE accounts SET purchased = posted + $2::text::int8, used = $2::text::int8 WHERE id = $1",
        [keyId, String(spent)],
      );
      await world.client.query(
        "UPDATE key_sums SET spent = $2::text::int8 WHERE key_no = (SELECT no FROM keys WHERE id = $1)",
        [keyId, String(spent)],
      );
      await world.client.query(
        `INSERT INTO entries (month, account_no, key_no, kind, amount, at_ms)
        SELECT 0, account_no, no, kind, CASE kind WHEN 'topup' THEN 1 ELSE -1 END * $2::text::int8, 0
        FROM keys, (VALUES ('topup'), ('charge')) AS kinds (kind) WHERE id = $1`,
        [keyId, String(spent)],
      );
      const order = holdOrder(keyId, 50);
      await sendMoney(connection, [node, 1, 1], [asHold(order)]);
      await sendMoney(connection, [node, 1, 2], [asEnd(order, 30)]);
      const sums = await world.client.query(
        `SELECT posted::text, used::text, spent::text FROM accounts JOIN keys ON account_no = accounts.no
        JOIN key_sums ON key_no = keys.no WHERE accounts.id = $1`,
        [keyId],
      );
      expect(sums).toEqual([{ posted: "70", used: String(spent + 30n), spent: String(spent + 30n) }]);
    });

    test("whose account has no limit is answered again as it was", async () => {
      const node = await join();
      const keyId = await world.addKey(0);
      await world.client.query("UPDATE accounts SET is_open = 1 WHERE id = $1", [keyId]);
      const items = [asHold(holdOrder(keyId, 60))];
      const answers = await sendMoney(connection, [node, 1, 1], items);
      expect(answers).toMatchObject([{ decision: "held", remaining: Number.POSITIVE_INFINITY }]);
      expect(await sendMoney(connection, [node, 1, 1], items)).toEqual(answers);
    });

    describe("that is interrupted between its lock and its write", () => {
      const interruptions = {
        "because its process stopped": async () => {
          const isOver = async () => (await world.client.query(idleBatches)).length === 0;
          await waitFor(isOver, "the database to give up waiting");
        },
        "because its connection was cut": async () => {
          await world.client.query(`SELECT pg_terminate_backend(pid) FROM (${idleBatches}) AS idle`);
        },
      };

      test.each(Object.entries(interruptions))(
        "%s writes nothing, and is decided again",
        async (_, interrupt) => {
          const [node, another] = [await join(), await join()];
          const keyId = await world.addKey(100);
          const [first, second] = [holdOrder(keyId, 50), holdOrder(keyId, 50)];
          await sendMoney(connection, [node, 1, 1], [asHold(first), asHold(second)]);
          const paused = new PausedBatch(other);
          const lost = sendMoney(paused.connection, [node, 1, 2], [asEnd(first, 30)]);
          const outcome = lost.catch((error: unknown) => error);
          await paused.locked;
          await interrupt();
          // Others are not kept waiting, and change the account meanwhile.
          const [charged] = await sendMoney(connection, [another, 1, 1], [asEnd(second, 20)]);
          expect(charged).toEqual({ charged: 20, overrun: 0 });
          paused.resume();
          expect(await outcome).toBeInstanceOf(Error);
          expect(await unbalanced(world.client)).toEqual([]);
          const again = await sendMoney(connectionOf(other), [node, 1, 2], [asEnd(first, 30)]);
          expect(again).toEqual([{ charged: 30, overrun: 0 }]);
          expect(await unbalanced(world.client)).toEqual([]);
          const sums = await world.client.query("SELECT posted::int, held::int FROM accounts WHERE id = $1", [
            keyId,
          ]);
          expect(sums).toEqual([{ posted: 50, held: 0 }]);
        },
      );
    });
  });

const waitingForLock = `SELECT FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%sluice_lock_batch%'`;

const idleBatches = `SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND state = 'idle in transaction' AND query LIKE '%sluice_lock_batch%'`;
