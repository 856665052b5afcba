import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import pino from "pino";
import type { Backend } from "../../src/backend/backend.ts";
import { openPostgresBackend } from "../../src/backend/postgres.ts";
import { systemClock } from "../../src/base/clock.ts";
import { newId } from "../../src/base/id.ts";
import { noValueCaps } from "../ledger/no-value-caps.ts";
import { keyRecord, outcomeRecordOf, temporaryFolder } from "../store/fixtures.ts";
import {
  clientOf,
  emptyDatabase,
  makeSchema,
  migratedDatabase,
  type PostgresDatabase,
} from "../store/postgres/fixtures.ts";
import { hasPostgres, PostgresServer, withoutPostgres } from "../support/postgres.ts";
import { TcpProxy } from "../support/tcp-proxy.ts";
import { waitFor } from "../support/wait.ts";

const promisedConnections = 10;
const atOnce = 8;

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
      backend.accounts.apply({
        revision: 1,
        accounts: [],
        keys: [key],
        signIns: [],
        valueCaps: noValueCaps,
        entries: [],
      });
      const hold = () =>
        backend.accounts.hold({
          keyId: key.id,
          exchangeId: newId("req_"),
          model: "m",
          amount: 10,
          requestedModel: null,
          labels: null,
        });
      const open1 = await hold();
      expect(open1.state).toBe("open");
      const watcher = clientOf(server.url(), { max: 1 });
      await server.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()");
      await waitFor(() => backend.problem !== null, "the stall to be noticed");
      let most = 0;
      for (let round = 0; round < 60; round += 1) {
        const asked = [hold(), backend.store.recordOutcomes([outcomeRecordOf(key.id)])];
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
      await waitFor(() => backend.problem === null, "the backend to recover");
      const again = await hold();
      backend.accounts.release(again);
      backend.accounts.release(open1);
      for (const each of [backend, watcher]) await each.close();
    }, 120_000);

    test("starts although a connection is cut meanwhile, wherever that is", async () => {
      using folder = temporaryFolder();
      let starts = 0;
      /** False once the start is over before so many replies have come. */
      const startCutAt = async (reply: number, database: PostgresDatabase): Promise<boolean> => {
        using proxy = new TcpProxy(database.server.port);
        proxy.cutAtReply = reply;
        starts += 1;
        const backend = await open(through(proxy, database), join(folder.dir, String(starts)));
        expect((await backend.store.load()).keys).toEqual([]);
        await backend.close();
        return proxy.replies >= reply;
      };
      const migration = await repliesToMigrate();
      // Making a schema takes most of a start, so that starts are cut after it on a copy that has one.
      for (const [create, last] of [
        [emptyDatabase, migration],
        [migratedDatabase, Infinity],
      ] as const)
        for (let first = 1, isCut = true; isCut && first <= last; first += atOnce) {
          const cuts = Array.from({ length: atOnce }, async (_, index) => {
            await using database = await create();
            return await startCutAt(first + index, database);
          });
          isCut = (await Promise.all(cuts)).every(Boolean);
        }
      expect(starts).toBeGreaterThan(migration + atOnce);
    }, 240_000);
  });

/** How many replies it takes to make the schema. */
async function repliesToMigrate(): Promise<number> {
  await using database = await emptyDatabase();
  using proxy = new TcpProxy(database.server.port);
  await makeSchema(through(proxy, database));
  return proxy.replies;
}

function through({ port }: TcpProxy, { server, url }: PostgresDatabase): string {
  return url.replace(`:${server.port}/`, `:${port}/`);
}
