import { afterEach, describe, expect, setSystemTime, test } from "bun:test";
import { readdirSync } from "node:fs";
import { NodeUnavailable } from "../../../../src/store/node.ts";
import { listNodeStates } from "../../../../src/store/postgres/node/list-nodes.ts";
import { hasPostgres, withoutPostgres } from "../../../support/postgres.ts";
import { costing } from "../../../support/rates.ts";
import { waitFor } from "../../../support/wait.ts";
import { chargeOrder, holdOrder, NodeWorld } from "./world.ts";

const waitMs = 60_000;

afterEach(() => void setSystemTime());

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("a node", () => {
    test("ends all that a dead one has left, however much that is", async () => {
      await using world = await NodeWorld.create();
      const keyId = await world.addKey(1_000);
      await world.client.query(
        `WITH dead AS (INSERT INTO nodes (name, version, lease_until, dead_at) VALUES ('dead', '1', now(), now()) RETURNING no)
        INSERT INTO holds (id, account_no, key_no, node_no, amount, period_start_ms, opened_at_ms, model)
        SELECT 'req_' || n, keys.account_no, keys.no, dead.no, 0, 0, 0, 'm' FROM dead, keys, generate_series(1, 450) AS n WHERE keys.id = $1`,
        [keyId],
      );
      const { events } = await world.join();
      await waitFor(async () => (await world.leftovers())["holds"] === 0, "the holds to end", waitMs);
      const cleared = () => events.filter(({ kind }) => kind === "cleared");
      await waitFor(() => cleared().length > 0, "the report", waitMs);
      expect(cleared()).toEqual([{ kind: "cleared", ended: 450, charged: 0 }]);
    }, 120_000);

    test("is known to be alive without a look at its holds", async () => {
      await using world = await NodeWorld.create();
      const { node } = await world.join();
      const states = await world.client.transaction(async (query) => {
        await query("LOCK TABLE holds IN ACCESS EXCLUSIVE MODE");
        return listNodeStates(world.client.query);
      });
      expect([...states]).toMatchObject([{ no: node.no, state: "live" }]);
    });

    test("writes down what a hold has produced, again and again", async () => {
      await using world = await NodeWorld.create();
      const order = holdOrder(await world.addKey(1_000), 100);
      const { node } = await world.join();
      await node.hold(order);
      for (const produced of [10, 40, 70]) {
        node.progress(order.holdId, costing(produced));
        const isWritten = async () => {
          const holds = await world.client.query("SELECT FROM holds WHERE id = $1 AND charge_so_far = $2", [
            order.holdId,
            produced,
          ]);
          return holds.length === 1;
        };
        await waitFor(isWritten, `${produced} to be written`, waitMs);
      }
    }, 120_000);

    test("gives signs of life while it ends what a dead one has left", async () => {
      await using world = await NodeWorld.create();
      const { query } = world.client;
      await query("CREATE TABLE looks (beat_at timestamptz)");
      await query(
        `CREATE OR REPLACE FUNCTION sluice_dead_holds(p_most int) RETURNS json LANGUAGE plpgsql AS $$
        BEGIN
          PERFORM pg_sleep(0.3);
          INSERT INTO looks SELECT beat_at FROM nodes WHERE dead_at IS NULL;
          IF (SELECT count(*) FROM looks) < 10 THEN
            RETURN (SELECT json_agg(json_build_object('holdId', 'req_' || n, 'keyId', 'key_1', 'chargeSoFar', 0, 'quantities', NULL, 'served', NULL)) FROM (SELECT count(*) AS n FROM looks) AS held);
          END IF;
          UPDATE nodes SET cleared_at = clock_timestamp() WHERE dead_at IS NOT NULL;
          RETURN '[]';
        END $$`,
      );
      await query(
        "INSERT INTO nodes (name, version, lease_until, dead_at) VALUES ('dead', '1', now(), now())",
      );
      const { events } = await world.join();
      await waitFor(() => events.some(({ kind }) => kind === "cleared"), "the report", waitMs);
      const [looks] = await query<{ beats: number }>(
        "SELECT count(DISTINCT beat_at)::int AS beats FROM looks",
      );
      expect(looks?.beats).toBeGreaterThan(2);
    }, 120_000);

    test("reports a clock that is more than two seconds off the database's, and how much that is", async () => {
      await using world = await NodeWorld.create();
      const realMs = Date.now();
      const { node, events } = await world.join();
      const differing = () => events.filter(({ kind }) => kind === "clock_differs");
      setSystemTime(new Date(realMs + 600_000));
      await waitFor(() => differing().length === 1, "the report", waitMs);
      expect(Math.abs(node.clockOffsetMs + 600_000)).toBeLessThan(60_000);
      setSystemTime();
      await waitFor(() => node.clockOffsetMs === 0, "the clocks to agree", waitMs);
      setSystemTime(new Date(Date.now() - 600_000));
      await waitFor(() => differing().length === 2, "the second report", waitMs);
      expect(node.clockOffsetMs).toBeGreaterThan(540_000);
    }, 120_000);

    test("leaves no file behind once the database has acknowledged what was kept in it", async () => {
      await using world = await NodeWorld.create();
      const keyId = await world.addKey(1_000);
      const { node, proxy, dir } = await world.join({ timing: { leaseMs: 600_000 } });
      const order = holdOrder(keyId, 100);
      await node.hold(order);
      proxy.mode = "silent";
      const settling = node.settle(chargeOrder(order, 80));
      await waitFor(
        () => node.describeLosses().some((loss) => loss.includes("sluice.node-")),
        "the charge to be kept",
      );
      proxy.mode = "pass";
      expect(await settling).toEqual({ charged: 80, overrun: 0 });
      expect(node.describeLosses()).toEqual([]);
      await node.leave();
      expect(readdirSync(dir)).toEqual([]);
    }, 120_000);

    test("drops a hold that nobody waits for any more before it was sent", async () => {
      await using world = await NodeWorld.create();
      const keyId = await world.addKey(1_000);
      const { node, proxy } = await world.join({ timing: { leaseMs: 600_000, replyMs: 60_000 } });
      proxy.mode = "silent";
      const refused = (hold: Promise<unknown>) => expect(hold).rejects.toThrow(NodeUnavailable);
      const sent = refused(node.hold(holdOrder(keyId, 100)));
      await new Promise((resolve) => setImmediate(resolve));
      await Promise.all([sent, refused(node.hold(holdOrder(keyId, 100)))]);
      await waitFor(() => node.stats.pendingItems === 1, "only what was sent to be left");
      proxy.mode = "pass";
      await waitFor(() => node.stats.pendingItems === 0, "the answer", waitMs);
      expect((await world.leftovers())["held"]).toBe(0);
    }, 120_000);
  });
