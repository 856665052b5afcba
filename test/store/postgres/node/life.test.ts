import { describe, expect, setSystemTime, test } from "bun:test";
import { copyFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { NodeUnavailable } from "../../../../src/store/node.ts";
import { listNodes } from "../../../../src/store/postgres/node/list-nodes.ts";
import { hasPostgres, withoutPostgres } from "../../../support/postgres.ts";
import { costing } from "../../../support/rates.ts";
import { waitFor } from "../../../support/wait.ts";
import { temporaryFolder, usageRecord } from "../../fixtures.ts";
import { unbalanced } from "./node-load.ts";
import { chargeOrder, holdOrder, NodeWorld, shortTiming } from "./world.ts";

const waitMs = 60_000;

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("a node", () => {
    test("that stops cleanly leaves at once, and nothing behind", async () => {
      await using world = await NodeWorld.create();
      const keyId = await world.addKey(1_000);
      const { node, dir } = await world.join();
      const [settled, open, released] = [holdOrder(keyId, 100), holdOrder(keyId, 100), holdOrder(keyId, 100)];
      await Promise.all([settled, open, released].map((order) => node.hold(order)));
      node.progress(open.holdId, costing(40));
      node.release(released.holdId, keyId);
      expect(await node.settle(chargeOrder(settled, 60))).toEqual({ charged: 60, overrun: 0 });
      expect([...(await listNodes(world.client.query))]).toMatchObject([
        { no: node.no, state: "live", holds: 1 },
      ]);
      await node.leave();
      expect(await listNodes(world.client.query)).toEqual([]);
      expect(await world.leftovers()).toEqual({ holds: 0, held: 0, claims: 0 });
      expect(await world.client.query("SELECT FROM lanes")).toEqual([]);
      expect(readdirSync(dir)).toEqual([]);
      expect(await chargesOf(world)).toEqual([
        { id: settled.holdId, amount: -60, outcome: "completed" },
        { id: open.holdId, amount: -40, outcome: "interrupted" },
      ]);
      expect(await unbalanced(world.client)).toEqual([]);
    });

    test("writes what it could not charge under the route of its charge", async () => {
      await using world = await NodeWorld.create();
      const keyId = await world.addKey(100);
      const { node } = await world.join();
      const order = holdOrder(keyId, 50);
      await node.hold(order);
      const record = usageRecord(keyId, { exchangeId: order.holdId });
      expect(await node.settle(chargeOrder(order, 150, { record }))).toEqual({ charged: 100, overrun: 50 });
      const entries = await world.client.query(
        "SELECT kind, amount::float8 AS amount, route FROM entries WHERE exchange_id IS NOT NULL ORDER BY id",
      );
      expect([...entries]).toEqual([
        { kind: "charge", amount: -100, route: record.route },
        { kind: "overrun", amount: 50, route: record.route },
      ]);
      await node.leave();
    }, 60_000);

    test("that is cut off is taken over, finds itself fenced, and joins anew under another number", async () => {
      await using world = await NodeWorld.create();
      const keyId = await world.addKey(1_000);
      const { node: other, events: othersEvents } = await world.join();
      const { node, proxy, events, dir } = await world.join();
      const firstNo = node.no;
      let fenced = 0;
      node.attach({ inFlight: () => 3, onFenced: () => (fenced += 1) });
      const orders = Array.from({ length: 3 }, () => holdOrder(keyId, 100));
      const [produced, silent, charged] = orders as [
        (typeof orders)[0],
        (typeof orders)[0],
        (typeof orders)[0],
      ];
      if (produced === undefined || silent === undefined || charged === undefined) throw new Error("three");
      await Promise.all(orders.map((order) => node.hold(order)));
      node.progress(produced.holdId, costing(40));
      await waitFor(async () => (await progressOf(world, produced.holdId)) === 40, "the progress");
      await waitFor(
        async () =>
          (await listNodes(world.client.query)).some(({ no, inFlight }) => no === firstNo && inFlight === 3),
        "a sign of life that says what is in flight",
      );
      proxy.mode = "silent";
      // Settled while the database is unreachable: the takeover comes first.
      const settling = node.settle(chargeOrder(charged, 70));
      await waitFor(async () => (await world.leftovers())["holds"] === 0, "the takeover", waitMs);
      expect(othersEvents).toContainEqual({ kind: "took_over", nodes: [firstNo] });
      await waitFor(() => node.problem !== null, "the node to notice", waitMs);
      proxy.mode = "pass";
      // What the takeover had not charged is charged now.
      expect(await settling).toEqual({ charged: 70, overrun: 0 });
      expect(fenced).toBe(1);
      expect(node.no).toBeGreaterThan(firstNo);
      // What the first had kept is in the file of the second.
      expect(nodeFiles(dir)).toEqual([`sluice.node-${node.no}`]);
      expect(events.filter(({ kind }) => kind === "fenced")).toEqual([{ kind: "fenced", node: firstNo }]);
      // A settle of what was taken over charges the difference, once.
      const late = chargeOrder(produced, 55, { outcome: "failed" });
      expect(await node.settle(late)).toEqual({ charged: 55, overrun: 0 });
      expect(await node.settle(late)).toEqual({ charged: 55, overrun: 0 });
      node.release(silent.holdId, keyId);
      const again = holdOrder(keyId, 100);
      await waitFor(() => node.problem === null, "the node to be well");
      expect((await node.hold(again)).decision).toBe("held");
      expect(await node.settle(chargeOrder(again, 5))).toEqual({ charged: 5, overrun: 0 });
      expect(await chargesOf(world)).toEqual([
        { id: produced.holdId, amount: -40, outcome: "interrupted" },
        { id: charged.holdId, amount: -70, outcome: "completed" },
        { id: produced.holdId, amount: -15, outcome: "failed" },
        { id: again.holdId, amount: -5, outcome: "completed" },
      ]);
      expect(await unbalanced(world.client)).toEqual([]);
      // A number may have been given in vain, and is cleared later.
      const numbers = [other.no, firstNo, node.no];
      const states = (await listNodes(world.client.query)).filter(({ no }) => numbers.includes(no));
      expect(states.map(({ no, state }) => ({ no, isDead: state === "dead" }))).toEqual([
        { no: other.no, isDead: false },
        { no: firstNo, isDead: true },
        { no: node.no, isDead: false },
      ]);
    }, 120_000);

    test("that has joined anew is not fenced by the answer to an earlier sign of life", async () => {
      await using world = await NodeWorld.create();
      const keyId = await world.addKey(1_000);
      const { node, events } = await world.join({ timing: { leaseMs: 600_000, replyMs: 60_000 } });
      const firstNo = node.no;
      node.attach({ inFlight: () => 3, onFenced: () => {} });
      const isHeard = async (no: number) =>
        (await listNodes(world.client.query)).some((line) => line.no === no && line.inFlight === 3);
      await world.client.transaction(async (query) => {
        await query("UPDATE nodes SET dead_at = clock_timestamp() WHERE no = $1", [firstNo]);
        const isWaiting = async () => (await world.client.query(waitingForLock)).length > 0;
        await waitFor(isWaiting, "a sign of life to wait for the transaction", waitMs);
        await world.client.query("UPDATE lanes SET seq = -1 WHERE node_no = $1", [firstNo]);
        const isHeld = async () => (await node.hold(holdOrder(keyId, 1)).catch(() => null)) !== null;
        await waitFor(isHeld, "a hold under the new number", waitMs);
      });
      const secondNo = node.no;
      await waitFor(() => isHeard(node.no), "a sign of life under the new number", waitMs);
      expect(node.no).toBe(secondNo);
      expect(events.filter(({ kind }) => kind === "fenced")).toEqual([{ kind: "fenced", node: firstNo }]);
    }, 120_000);

    test("is not taken over by one that is not steady itself, nor soon after the database's start", async () => {
      await using world = await NodeWorld.create();
      const { query } = world.client;
      const [dead] = await query<{ no: number }>("SELECT sluice_join('dead', '1', -60000, 3) AS no");
      const [young] = await query<{ no: number }>("SELECT sluice_join('young', '1', 60000, 3) AS no");
      const fence = async (no: number, leaseMs: number) => {
        const rows = await query<{ no: number }>("SELECT sluice_fence_late_nodes($1, $2, 0) AS no", [
          no,
          leaseMs,
        ]);
        return rows.map((row) => row.no);
      };
      expect([...(await listNodes(query))]).toMatchObject([{ state: "late" }, { state: "live" }]);
      expect(await fence(young?.no ?? 0, 60_000)).toEqual([]);
      // Steady for long enough, but the database itself has not been up for as long.
      await query("UPDATE nodes SET steady_since = '2020-01-01'");
      expect(await fence(young?.no ?? 0, 1_000_000_000)).toEqual([]);
      // One whose own lease is over must not judge others.
      expect(await fence(dead?.no ?? 0, 0)).toEqual([]);
      expect(await fence(young?.no ?? 0, 0)).toEqual([dead?.no ?? 0]);
    });

    test("waits out an outage that is longer than the lease: nobody is taken over", async () => {
      await using world = await NodeWorld.create();
      const keyId = await world.addKey(1_000);
      const nodes = [await world.join(), await world.join()];
      const order = holdOrder(keyId, 100);
      await nodes[0]?.node.hold(order);
      const numbers = nodes.map(({ node }) => node.no);
      for (const { proxy } of nodes) {
        proxy.mode = "refuse";
        proxy.cut();
      }
      await expect(nodes[1]?.node.hold(holdOrder(keyId, 1))).rejects.toThrow(NodeUnavailable);
      await waitFor(
        async () => (await listNodes(world.client.query)).every(({ state }) => state === "late"),
        "both leases to end",
        waitMs,
      );
      await Bun.sleep(shortTiming.graceMs);
      for (const { proxy } of nodes) proxy.mode = "pass";
      await waitFor(() => nodes.every(({ node }) => node.problem === null), "both to recover", waitMs);
      expect(await nodes[0]?.node.settle(chargeOrder(order, 30))).toEqual({ charged: 30, overrun: 0 });
      expect(nodes.map(({ node }) => node.no)).toEqual(numbers);
      expect(await chargesOf(world)).toEqual([{ id: order.holdId, amount: -30, outcome: "completed" }]);
    }, 120_000);

    test("that was killed while the database was away makes its charges at the next start, and only what is missing", async () => {
      await using world = await NodeWorld.create();
      using copy = temporaryFolder();
      const keyId = await world.addKey(1_000);
      const { node, proxy, dir } = await world.join({ timing: { leaseMs: 600_000 } });
      const orders = [holdOrder(keyId, 100), holdOrder(keyId, 100), holdOrder(keyId, 100)] as const;
      for (const order of orders) await node.hold(order);
      node.progress(orders[1].holdId, costing(25));
      await waitFor(async () => (await progressOf(world, orders[1].holdId)) === 25, "the progress");
      proxy.mode = "silent";
      const settling = orders.slice(0, 2).map((order) => node.settle(chargeOrder(order, 80)));
      const file = `sluice.node-${node.no}`;
      await waitFor(
        () => node.describeLosses().some((loss) => loss.includes(file)),
        "the charges to be kept",
      );
      expect(node.describeLosses()).toHaveLength(1);
      // The file is what a killed process leaves; its own is locked for as long as it lives.
      copyFileSync(join(dir, file), join(copy.dir, file));
      const { node: restarted, events } = await world.join({ dir: copy.dir });
      expect(events).toContainEqual({ kind: "made_up", charges: 2 });
      await waitFor(
        async () => (await world.leftovers())["holds"] === 0,
        "the silent node to be fenced",
        waitMs,
      );
      expect(await world.leftovers()).toEqual({ holds: 0, held: 0, claims: 0 });
      expect(await chargesOf(world)).toEqual([
        { id: orders[0].holdId, amount: -80, outcome: "completed" },
        { id: orders[1].holdId, amount: -80, outcome: "completed" },
      ]);
      // A second replay of the same file changes nothing, and neither does the process that was not dead after all.
      proxy.mode = "pass";
      expect(await Promise.all(settling)).toEqual([
        { charged: 80, overrun: 0 },
        { charged: 80, overrun: 0 },
      ]);
      expect(await chargesOf(world)).toHaveLength(2);
      expect(await unbalanced(world.client)).toEqual([]);
      expect(nodeFiles(copy.dir)).toEqual([`sluice.node-${restarted.no}`]);
    }, 120_000);

    test("that was killed is fenced by the next start of its folder, without waiting for its lease", async () => {
      await using world = await NodeWorld.create();
      const keyId = await world.addKey(1_000);
      using folder = temporaryFolder();
      const no = await killedWith(world, folder.dir, keyId);
      const { node } = await world.join({ dir: folder.dir, timing: { leaseMs: 600_000 } });
      expect(await world.leftovers()).toEqual({ holds: 0, held: 0, claims: 0 });
      const states = await listNodes(world.client.query);
      expect(states.map(({ no: each, state }) => [each, state])).toEqual([
        [no, "dead"],
        [node.no, "live"],
      ]);
    }, 120_000);

    test("that lives is not fenced by a start with a copy of its folder; one that does not, is", async () => {
      await using world = await NodeWorld.create();
      const keyId = await world.addKey(1_000);
      using folder = temporaryFolder();
      const timing = { leaseMs: 600_000, beatMs: 300 };
      const { node, dir, proxy, events } = await world.join({ timing });
      const order = holdOrder(keyId, 100);
      await node.hold(order);
      for (const name of nodeFiles(dir)) copyFileSync(join(dir, name), join(folder.dir, name));
      const copy = await world.join({ dir: folder.dir, timing });
      // It waits until it is sure.
      await copy.node.leave();
      expect(events.map(({ kind }) => kind)).toEqual(["joined"]);
      expect(await node.settle(chargeOrder(order, 60))).toEqual({ charged: 60, overrun: 0 });
      proxy.mode = "refuse";
      proxy.cut();
      for (const name of nodeFiles(dir)) copyFileSync(join(dir, name), join(folder.dir, name));
      const other = await world.join({ dir: folder.dir, timing });
      await other.node.leave();
      const states = await listNodes(world.client.query);
      expect(states.map(({ no, state }) => [no, state])).toEqual([[node.no, "dead"]]);
      proxy.mode = "pass";
      await waitFor(() => events.some(({ kind }) => kind === "fenced"), "it to find itself fenced", waitMs);
    }, 120_000);

    test("says once that its clock is not the database's, and again after it was right", async () => {
      await using world = await NodeWorld.create();
      const { events } = await world.join();
      const skews = () => events.flatMap((event) => (event.kind === "clock_differs" ? [event.by_ms] : []));
      const isBeating = async () => {
        const [before] = await listNodes(world.client.query);
        const isLater = async () =>
          (await listNodes(world.client.query))[0]?.lastBeatMs !== before?.lastBeatMs;
        await waitFor(isLater, "a sign of life", waitMs);
        await waitFor(isLater, "another one", waitMs);
      };
      try {
        await isBeating();
        expect(skews()).toEqual([]);
        for (const times of [1, 2]) {
          setSystemTime(new Date(Date.now() + 5 * 3_600_000));
          await waitFor(() => skews().length === times, "it to be said", waitMs);
          await isBeating();
          expect(skews().map((ms) => Math.round(ms / 3_600_000))).toEqual(Array(times).fill(5));
          setSystemTime();
          await isBeating();
          await isBeating();
        }
      } finally {
        setSystemTime();
      }
    }, 120_000);

    test("leaves a file alone that is meant for another database, or that a living process has open", async () => {
      await using world = await NodeWorld.create();
      await using elsewhere = await NodeWorld.create();
      const { node, dir } = await world.join();
      const files = nodeFiles(dir);
      const { node: neighbour } = await world.join({ dir });
      const { node: stranger } = await elsewhere.join({ dir });
      const states = await listNodes(world.client.query);
      expect(states.map(({ no, state }) => ({ no, state }))).toEqual([
        { no: node.no, state: "live" },
        { no: neighbour.no, state: "live" },
      ]);
      expect(stranger.no).toBeGreaterThan(0);
      expect(nodeFiles(dir)).toEqual(expect.arrayContaining(files));
    });
  });

const waitingForLock = `SELECT FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%sluice_beat%'`;

function nodeFiles(dir: string): string[] {
  return readdirSync(dir).filter((name) => !name.endsWith("-journal"));
}

/** A process of its own that joins, holds, and is killed. Returns its node's number. */
async function killedWith(world: NodeWorld, dir: string, keyId: string): Promise<number> {
  const pathOf = (file: string) =>
    JSON.stringify(new URL(`../../../../src/${file}`, import.meta.url).pathname);
  const program = `
    const { PostgresNode } = await import(${pathOf("store/postgres/node/postgres-node.ts")});
    const { moneyRules: rules } = await import(${pathOf("ledger/shared-batch.ts")});
    const node = await PostgresNode.join({
      location: { url: ${JSON.stringify(world.database.url)}, password: null, prepare: true },
      name: "killed", version: "1", dir: ${JSON.stringify(dir)}, rules, report: () => {},
    });
    await node.hold(${JSON.stringify(holdOrder(keyId, 100))});
    console.log(node.no);`;
  const child = Bun.spawn([process.execPath, "-e", program], { stdout: "pipe", stderr: "inherit" });
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  child.kill("SIGKILL");
  await child.exited;
  return Number(Buffer.from(value ?? []).toString());
}

async function chargesOf(world: NodeWorld): Promise<unknown[]> {
  return world.client.query(
    "SELECT exchange_id AS id, amount::float8, outcome FROM entries WHERE kind = 'charge' ORDER BY entries.id",
  );
}

async function progressOf(world: NodeWorld, holdId: string): Promise<number | undefined> {
  const [row] = await world.client.query<{ soFar: number }>(
    `SELECT charge_so_far::float8 AS "soFar" FROM holds WHERE id = $1`,
    [holdId],
  );
  return row?.soFar;
}
