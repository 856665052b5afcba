import { describe, expect, test } from "bun:test";
import { hasPostgres, withoutPostgres } from "../../../support/postgres.ts";
import { waitFor } from "../../../support/wait.ts";
import { NodeLoad } from "./node-load.ts";
import { NodeWorld } from "./world.ts";

const callers = 16;

async function loadedWorld() {
  const world = await NodeWorld.create();
  const nodes = [await world.join(), await world.join()] as const;
  const keyIds = await Promise.all(Array.from({ length: 4 }, () => world.addKey(1_000_000_000)));
  const load = new NodeLoad(
    nodes.map(({ node }) => node),
    keyIds,
  );
  const moreDone = async (what: string, exchanges = 100) => {
    const before = load.acknowledged;
    await waitFor(() => load.acknowledged >= before + exchanges, what, 60_000);
  };
  /** Everything that waits is answered, and then the ledger is what the callers were told. */
  const settleAndCheck = async () => {
    await load.stop();
    await waitFor(async () => (await world.leftovers())["holds"] === 0, "the last hold to end", 60_000);
    await load.check(world.client);
    expect(await world.leftovers()).toEqual({ holds: 0, held: 0, claims: 0 });
  };
  load.start(callers);
  return { world, nodes, load, moreDone, settleAndCheck };
}

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("under load, the ledger is exact", () => {
    test("although all backends are ended again and again", async () => {
      const { world, moreDone, settleAndCheck } = await loadedWorld();
      await using _ = world;
      for (let round = 0; round < 20; round += 1) {
        await moreDone("charges between two ends", 20);
        await world.client.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
        );
      }
      await moreDone("charges after the last end");
      await settleAndCheck();
    }, 120_000);

    test("although replies are lost", async () => {
      const { world, nodes, moreDone, settleAndCheck } = await loadedWorld();
      await using _ = world;
      for (let round = 0; round < 25; round += 1) {
        const { proxy } = nodes[round % 2 === 0 ? 0 : 1];
        const before = proxy.lost;
        proxy.mode = "deaf";
        await waitFor(() => proxy.lost >= before + 4, "replies to be lost", 60_000);
        proxy.mode = "pass";
        await moreDone("charges after lost replies", 10);
      }
      expect(nodes[0].proxy.lost + nodes[1].proxy.lost).toBeGreaterThanOrEqual(100);
      await settleAndCheck();
    }, 120_000);

    test("although a connection becomes a black hole, and nobody is told", async () => {
      const { world, nodes, moreDone, settleAndCheck } = await loadedWorld();
      await using _ = world;
      const [{ proxy, node }] = nodes;
      await moreDone("charges before");
      proxy.mode = "silent";
      await waitFor(() => node.trouble !== null, "the node to notice", 30_000);
      expect(node.trouble?.reason).toBe("The database cannot be reached.");
      proxy.mode = "pass";
      await waitFor(() => node.trouble === null, "the node to recover", 30_000);
      await moreDone("charges after");
      await settleAndCheck();
    }, 120_000);
  });
