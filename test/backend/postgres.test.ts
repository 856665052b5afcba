import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import pino from "pino";
import type { Backend } from "../../src/backend/backend.ts";
import { openPostgresBackend } from "../../src/backend/postgres.ts";
import { systemClock } from "../../src/base/clock.ts";
import { newId } from "../../src/base/id.ts";
import { exchangeEnding, keyRecord, temporaryFolder } from "../store/fixtures.ts";
import { clientOf, emptyDatabase } from "../store/postgres/fixtures.ts";
import { hasPostgres, PostgresServer, withoutPostgres } from "../support/postgres.ts";
import { TcpProxy } from "../support/tcp-proxy.ts";
import { waitFor } from "../support/wait.ts";

const promisedConnections = 10;

function open(url: string, dir: string): Promise<Backend> {
  return openPostgresBackend({
    location: { url, password: null, prepare: true },
    nodeName: "test",
    version: "1",
    dir,
    clock: systemClock,
    log: pino({ level: "silent" }),
  });
}

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("a gateway's backend on PostgreSQL", () => {
    beforeEach(() => {
      process.env["SLUICE_TEST_NODE_TIMING"] = "4000,1000,200,800";
    });
    afterEach(() => {
      delete process.env["SLUICE_TEST_NODE_TIMING"];
    });

    test("takes no more connections than promised while commits stall, and goes on when they do not", async () => {
      using server = new PostgresServer();
      using folder = temporaryFolder();
      const database = await server.createDatabase();
      const backend = await open(server.url(database), folder.dir);
      const key = keyRecord();
      await backend.store.insertKey(key, 1_000_000);
      backend.accounts.apply({ revision: 1, accounts: [], keys: [key], entries: [] });
      const hold = () =>
        backend.accounts.hold({
          keyId: key.id,
          exchangeId: newId("req_"),
          model: "m",
          amount: 10,
          askedModel: null,
          labels: null,
        });
      const open1 = await hold();
      expect(open1.state).toBe("open");
      const watcher = clientOf(server.url(), { max: 1 });
      await server.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()");
      await waitFor(() => backend.trouble !== null, "the stall to be noticed", 30_000);
      let most = 0;
      for (let round = 0; round < 60; round += 1) {
        const asked = [hold(), backend.store.recordEndings([exchangeEnding(key.id)])];
        for (const each of asked) Promise.resolve(each).catch(() => {});
        const [row] = await watcher.query<{ connections: number }>(
          "SELECT count(*)::int AS connections FROM pg_stat_activity WHERE datname = $1",
          [database],
        );
        most = Math.max(most, row?.connections ?? 0);
        await Bun.sleep(100);
      }
      expect(most).toBeLessThanOrEqual(promisedConnections);
      await server.run("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()");
      await waitFor(() => backend.trouble === null, "the backend to recover", 30_000);
      const again = await hold();
      backend.accounts.release(again);
      backend.accounts.release(open1);
      for (const each of [backend, watcher]) await each.close();
    }, 120_000);

    test("starts although a connection is cut meanwhile, wherever that is", async () => {
      using folder = temporaryFolder();
      /** False once the start is over before so many replies have come. */
      const startCutAt = async (reply: number): Promise<boolean> => {
        await using database = await emptyDatabase();
        using proxy = new TcpProxy(database.server.port);
        proxy.cutAtReply = reply;
        const url = database.url.replace(`:${database.server.port}/`, `:${proxy.port}/`);
        const backend = await open(url, join(folder.dir, String(reply)));
        expect((await backend.store.load()).keys).toEqual([]);
        await backend.close();
        return proxy.replies >= reply;
      };
      const atOnce = Array.from({ length: 8 }, (_, index) => index);
      for (let first = 1; ; first += atOnce.length) {
        const isCut = await Promise.all(atOnce.map((index) => startCutAt(first + index)));
        if (isCut.includes(false)) break;
      }
    }, 240_000);
  });
