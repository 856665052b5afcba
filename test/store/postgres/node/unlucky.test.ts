import { describe, expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import { newId } from "../../../../src/base/id.ts";
import { NodeUnavailable } from "../../../../src/store/node.ts";
import { NodeHealth } from "../../../../src/store/postgres/node/health.ts";
import type { PostgresNode } from "../../../../src/store/postgres/node/postgres-node.ts";
import { hasPostgres, withoutPostgres } from "../../../support/postgres.ts";
import { waitFor } from "../../../support/wait.ts";
import { temporaryFolder } from "../../fixtures.ts";
import { unbalanced } from "./node-load.ts";
import { chargeOrder, claimOrder, holdOrder, NodeWorld, storedResponse } from "./world.ts";

const waitMs = 60_000;

describe("a node's health", () => {
  test.each([
    ["25006", "The database is read-only."],
    ["53100", "The database's disk is full."],
    ["57P01", "The database cannot be reached."],
  ])("says what %s means, once it has lasted", async (state, reason) => {
    const health = new NodeHealth(60_000);
    expect(health.problem?.reason).toContain("rejoins");
    health.joined();
    health.attempted(
      "money",
      new SQL.PostgresError("no", { code: "ERR_POSTGRES_SERVER_ERROR", errno: state }),
    );
    expect(health.problem).toBeNull();
    await waitFor(() => health.problem !== null, "the problem to last");
    expect(health.problem?.reason).toBe(reason);
    health.attempted("money", null);
    expect(health.problem).toBeNull();
    health.state = "leaving";
    expect(health.problem?.reason).toContain("shutting down");
  });

  test("names a rejected password, although each lane's connection broke first", async () => {
    const failed = (errno: string) =>
      new SQL.PostgresError("no", { code: "ERR_POSTGRES_SERVER_ERROR", errno });
    const health = new NodeHealth(60_000);
    health.joined();
    for (const source of ["beat", "money", "claims"] as const) health.attempted(source, failed("57P01"));
    health.attempted("claims", failed("28P01"));
    await waitFor(() => health.problem !== null, "the problem to last");
    expect(health.problem?.reason).toContain("authentication failed");
  });

  test("takes a pause of this process for no silence of the database, and signs of life that are missing for one", () => {
    const health = new NodeHealth(25);
    health.joined();
    health.beatDue(10);
    Bun.sleepSync(50);
    health.beatDue(10);
    expect(health.problem).toBeNull();
    health.beatDue(10);
    expect(health.problem?.reason).toBe("The database cannot be reached.");
    health.beaten();
    expect(health.problem).toBeNull();
  });
});

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("a node", () => {
    test("keeps a charge that the database rejects, says so, and makes it at a later start", async () => {
      await using world = await NodeWorld.create();
      const keyId = await world.addKey(1_000);
      const { node, events, dir } = await world.join();
      const order = holdOrder(keyId, 100);
      await node.hold(order);
      await world.client.query("ALTER TABLE entries ADD CONSTRAINT no_more CHECK (amount > -50)");
      const [rejected, fine] = await Promise.allSettled([
        node.settle(chargeOrder(order, 60)),
        settleNew(node, keyId, 20),
      ]);
      expect(rejected.status).toBe("rejected");
      expect(fine.status).toBe("fulfilled");
      expect(events).toContainEqual(expect.objectContaining({ kind: "rejected", exchange: order.holdId }));
      await node.leave();
      expect(nodeFiles(dir)).toHaveLength(1);
      await world.client.query("ALTER TABLE entries DROP CONSTRAINT no_more");
      const { events: later } = await world.join({ dir });
      expect(later).toContainEqual({ kind: "made_up", charges: 1 });
      const [sums] = await world.client.query<{ used: number }>("SELECT used::float8 FROM accounts");
      expect(sums?.used).toBe(80);
      expect(await unbalanced(world.client)).toEqual([]);
    }, 120_000);

    test("gives back a claim whose charge the database rejects after nobody waits for it any more", async () => {
      await using world = await NodeWorld.create();
      const keyId = await world.addKey(1_000);
      const { node } = await world.join();
      const order = holdOrder(keyId, 100);
      const claim = claimOrder(keyId, order.holdId);
      await Promise.all([node.hold(order), node.claim(claim)]);
      await world.client.query("ALTER TABLE entries ADD CONSTRAINT no_more CHECK (amount > -50)");
      const settling = node.settle(chargeOrder(order, 60, { response: storedResponse(claim) }));
      node.endClaim(claim);
      await expect(settling).rejects.toThrow("no_more");
      const again = async () => (await node.claim({ ...claim, exchangeId: newId("req_") })) === "run";
      await waitFor(again, "the claim to be given back", waitMs);
    }, 120_000);

    test("that stops while the database is away leaves its charges to the next start", async () => {
      await using world = await NodeWorld.create();
      const keyId = await world.addKey(1_000);
      const { node, proxy, dir } = await world.join({ timing: { leaseMs: 600_000, replyMs: 500 } });
      const [first, second] = [holdOrder(keyId, 100), holdOrder(keyId, 100)];
      await Promise.all([node.hold(first), node.hold(second)]);
      proxy.mode = "refuse";
      proxy.cut();
      const settling = node.settle(chargeOrder(first, 60)).catch(() => "unacknowledged");
      node.release(second.holdId, keyId);
      await node.leave();
      const [loss, ...others] = node.describeLosses();
      expect(loss).toContain("The database did not acknowledge 1 charge. Charges saved in ");
      expect(others).toEqual([]);
      const { events } = await world.join({ dir });
      expect(events).toContainEqual({ kind: "made_up", charges: 1 });
      expect(await world.leftovers()).toEqual({ holds: 0, held: 0, claims: 0 });
      const [sums] = await world.client.query<{ used: number }>("SELECT used::float8 FROM accounts");
      expect(sums?.used).toBe(60);
      await Promise.race([settling, Bun.sleep(0)]);
    }, 120_000);

    test("without a folder that can be written works, and says what would be lost", async () => {
      await using world = await NodeWorld.create();
      using folder = temporaryFolder();
      const file = join(folder.dir, "not-a-folder");
      writeFileSync(file, "");
      const keyId = await world.addKey(1_000);
      const { node, proxy, events } = await world.join({ dir: join(file, "data") });
      expect(events.filter(({ kind }) => kind === "unkept")).toHaveLength(1);
      const order = holdOrder(keyId, 100);
      await node.hold(order);
      proxy.mode = "refuse";
      proxy.cut();
      const settling = node.settle(chargeOrder(order, 60));
      await waitFor(() => node.describeLosses().length === 1, "the charge to wait");
      expect(node.describeLosses()[0]).toContain(`Charge NOT written: request ${order.holdId}`);
      proxy.mode = "pass";
      expect(await settling).toEqual({ charged: 60, overrun: 0 });
      expect(node.describeLosses()).toEqual([]);
    }, 120_000);

    test("refuses what it cannot ask the database, and gives back what that gave too late", async () => {
      await using world = await NodeWorld.create();
      const keyId = await world.addKey(1_000);
      const { node, proxy } = await world.join();
      await node.takeTokens([{ name: keyId, capacity: 60 }], 1);
      proxy.mode = "silent";
      const claim = claimOrder(keyId, newId("req_"));
      const asked = await Promise.allSettled([
        node.hold(holdOrder(keyId, 100)),
        node.claim(claim),
        node.takeTokens([{ name: keyId, capacity: 60 }], 1),
      ]);
      for (const answer of asked) {
        expect(answer.status === "rejected" && answer.reason).toBeInstanceOf(NodeUnavailable);
      }
      await waitFor(() => node.problem !== null, "the node to notice", waitMs);
      // From then on calls fail at once instead of waiting for an answer that will not come.
      await expect(node.takeTokens([{ name: keyId, capacity: 60 }], 1)).rejects.toThrow(NodeUnavailable);
      await expect(node.claim({ ...claim, exchangeId: newId("req_") })).rejects.toThrow(NodeUnavailable);
      proxy.mode = "pass";
      await waitFor(() => node.problem === null, "the node to recover", waitMs);
      // The hold is granted now that its caller has given up, and is released: the whole balance is free again.
      // On a busy machine this hold may come too late as well.
      const isFree = async () =>
        (await node.hold(holdOrder(keyId, 1_000)).catch(() => null))?.decision === "held";
      await waitFor(isFree, "what came too late to be given back", waitMs);
      await waitFor(
        async () => (await world.leftovers())["claims"] === 0,
        "the claim to be given back",
        waitMs,
      );
      expect(await world.leftovers()).toEqual({ holds: 1, held: 1_000, claims: 0 });
    }, 120_000);

    test("gives out rate tokens although its connection was cut a moment ago", async () => {
      await using world = await NodeWorld.create();
      const keyId = await world.addKey(1_000);
      const { node, proxy } = await world.join();
      for (let round = 0; round < 5; round += 1) {
        expect(await node.takeTokens([{ name: keyId, capacity: 60 }], 1)).toMatchObject({ granted: true });
        proxy.cut();
      }
    }, 120_000);

    test("does not start without its database, and says why", async () => {
      await using world = await NodeWorld.create();
      await world.client.query("DROP FUNCTION sluice_join");
      await expect(world.join()).rejects.toThrow("sluice_join");
    }, 120_000);
  });

async function settleNew(node: PostgresNode, keyId: string, cost: number): Promise<unknown> {
  const order = holdOrder(keyId, 100);
  await node.hold(order);
  return node.settle(chargeOrder(order, cost));
}

function nodeFiles(dir: string): string[] {
  return readdirSync(dir).filter((name) => !name.endsWith("-journal"));
}
