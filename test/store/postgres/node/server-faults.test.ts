import { describe, expect, test } from "bun:test";
import { chownSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { NodeUnavailable } from "../../../../src/store/node.ts";
import { migrate } from "../../../../src/store/postgres/migrate.ts";
import { freePort } from "../../../support/free-port.ts";
import { hasPostgres, PostgresServer, withoutPostgres } from "../../../support/postgres.ts";
import { canMountSmallDisk, mountSmallDisk } from "../../../support/small-disk.ts";
import { waitFor } from "../../../support/wait.ts";
import { clientOf, migratedDatabase } from "../fixtures.ts";
import { loadedWorld } from "./loaded-world.ts";
import { holdOrder, NodeWorld } from "./world.ts";

/** Two connections that hang one after the other, each for half a minute of silence, are no fault. */
const recoverMs = 150_000;

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("under load, the ledger is exact", () => {
    test("although PostgreSQL crashes and restarts, and is killed", async () => {
      using server = new PostgresServer();
      await using world = await NodeWorld.create(server);
      const { nodes, moreDone, settleAndCheck } = await loadedWorld(world);
      const keyId = await world.addKey(100);
      for (let round = 0; round < 3; round += 1) {
        await moreDone("charges before a crash", 30);
        server.restart("immediate");
      }
      await moreDone("charges before the kill", 30);
      const postmaster = Number(readFileSync(join(server.dataDir, "postmaster.pid"), "utf8").split("\n")[0]);
      process.kill(postmaster, "SIGKILL");
      await waitFor(
        () => nodes.every(({ node }) => node.problem !== null),
        "both nodes to notice",
        recoverMs,
      );
      // Asked here, because the load's callers may all be waiting for charges, and then ask for no hold.
      for (const { node } of nodes) {
        const refused = await node.hold(holdOrder(keyId, 1)).catch((error) => error);
        expect(refused).toBeInstanceOf(NodeUnavailable);
      }
      await waitFor(() => hasStarted(server), "the start after the kill", recoverMs);
      await waitFor(() => nodes.every(({ node }) => node.problem === null), "both to recover", recoverMs);
      await moreDone("charges after the kill");
      // The test's own connections have died with the server, and the first query on such a one may fail or hang.
      await world.moveTo(server.port);
      await settleAndCheck();
    }, 420_000);

    test.skipIf(!canMountSmallDisk)(
      "although the database's disk is full for a while",
      async () => {
        using disk = mountSmallDisk(64);
        using server = new PostgresServer();
        await using world = await worldOn(server, disk.folder);
        const { nodes, moreDone, settleAndCheck } = await loadedWorld(world);
        await moreDone("charges before");
        const filler = disk.fill();
        const isFull = () =>
          nodes.some(({ node }) => node.problem?.reason === "The database's disk is full.");
        await waitFor(isFull, "the disk to be full", recoverMs);
        rmSync(filler);
        await waitFor(() => nodes.every(({ node }) => node.problem === null), "both to recover", recoverMs);
        await moreDone("charges after");
        await settleAndCheck();
      },
      420_000,
    );

    test("although a synchronous standby is promoted", async () => {
      using server = new PostgresServer();
      const database = await migratedDatabase(server);
      // The server goes with the test, and its database with it.
      await using world = new NodeWorld({ ...database, [Symbol.asyncDispose]: async () => {} });
      const standby = await startStandby(server);
      try {
        const { nodes, moreDone, settleAndCheck } = await loadedWorld(world);
        await moreDone("charges before");
        server.stop("immediate");
        server.program("pg_ctl", ["promote", "-w", "-t", "60", "-D", standby.dir]);
        await world.moveTo(standby.port);
        await waitFor(() => nodes.every(({ node }) => node.problem === null), "both to recover", recoverMs);
        await moreDone("charges after");
        await settleAndCheck();
        expect(await isPrimary(world)).toBe(true);
      } finally {
        server.program("pg_ctl", ["stop", "-w", "-m", "immediate", "-D", standby.dir]);
      }
    }, 420_000);
  });

/** The backends of a killed server need a moment to end, and until then no other may start. */
function hasStarted(server: PostgresServer): boolean {
  try {
    server.start();
    return true;
  } catch {
    return false;
  }
}

/** A database whose files are on another disk than the server's log. */
async function worldOn(server: PostgresServer, folder: string): Promise<NodeWorld> {
  const { uid, gid } = statSync(server.dir);
  const location = join(folder, "tablespace");
  mkdirSync(location);
  chownSync(location, uid, gid);
  await server.run(
    `CREATE TABLESPACE small LOCATION '${location}'`,
    "CREATE DATABASE small TABLESPACE small",
  );
  const url = server.url("small");
  const client = clientOf(url);
  await migrate(client);
  await client.close();
  const drop = async () => {
    await server.dropDatabase("small");
  };
  return new NodeWorld({ server, name: "small", url, [Symbol.asyncDispose]: drop });
}

/** A commit is acknowledged once the standby has it too. */
async function startStandby(server: PostgresServer): Promise<{ dir: string; port: number }> {
  const dir = join(server.dir, "standby");
  const port = freePort();
  const from = ["-h", "127.0.0.1", "-p", String(server.port), "-U", "sluice"];
  server.program("pg_basebackup", [...from, "-D", dir, "-R", "-X", "stream", "-c", "fast", "--no-sync"]);
  const log = join(server.dir, "standby.log");
  server.program("pg_ctl", ["start", "-w", "-t", "60", "-D", dir, "-o", `-p ${port}`, "-l", log]);
  await server.run("ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()");
  const client = clientOf(server.url());
  const isSynchronous = async () => {
    const rows = await client.query("SELECT FROM pg_stat_replication WHERE sync_state = 'sync'");
    return rows.length === 1;
  };
  await waitFor(isSynchronous, "the standby to be synchronous", recoverMs);
  await client.close();
  return { dir, port };
}

async function isPrimary(world: NodeWorld): Promise<boolean> {
  const [row] = await world.client.query<{ is: boolean }>("SELECT NOT pg_is_in_recovery() AS is");
  return row?.is === true;
}
