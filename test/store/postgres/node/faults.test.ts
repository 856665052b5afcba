import { describe, expect, test } from "bun:test";
import { hasPgbouncer, startPgbouncer, withoutPgbouncer } from "../../../support/pgbouncer.ts";
import { hasPostgres, withoutPostgres } from "../../../support/postgres.ts";
import { waitFor } from "../../../support/wait.ts";
import { loadedWorld } from "./loaded-world.ts";
import { NodeWorld } from "./world.ts";

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
      await waitFor(() => node.problem !== null, "the node to notice");
      expect(node.problem?.reason).toBe("The database cannot be reached.");
      proxy.mode = "pass";
      await waitFor(() => node.problem === null, "the node to recover");
      await moreDone("charges after");
      await settleAndCheck();
    }, 120_000);

    if (!hasPgbouncer) test.skipIf(true)(withoutPgbouncer, () => {});
    else
      test("behind pgbouncer in transaction mode, which shares connections and loses them too", async () => {
        const world = await NodeWorld.create();
        await using bouncer = await startPgbouncer(world.database.server);
        const port = Number(new URL(bouncer.url(world.database.name)).port);
        const { nodes, moreDone, settleAndCheck } = await loadedWorld(world, { port, prepare: false });
        await using _ = world;
        for (let round = 0; round < 5; round += 1) {
          await moreDone("charges through pgbouncer", 50);
          for (const { proxy } of nodes) proxy.cut();
        }
        await moreDone("charges after the last cut", 50);
        await settleAndCheck();
      }, 120_000);
  });
