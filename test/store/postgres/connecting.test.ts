import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { systemClock } from "../../../src/base/clock.ts";
import { audit } from "../../../src/ledger/audit.ts";
import { checkDatabase, openStore } from "../../../src/store/open.ts";
import { parseAddress } from "../../../src/store/postgres/address.ts";
import { hasPgbouncer, startPgbouncer, withoutPgbouncer } from "../../support/pgbouncer.ts";
import { hasPostgres, PostgresServer, sharedPostgres, withoutPostgres } from "../../support/postgres.ts";
import { TcpProxy } from "../../support/tcp-proxy.ts";
import { waitFor } from "../../support/wait.ts";
import { keyRecord } from "../fixtures.ts";
import { clientOf, emptyDatabase, migratedDatabase } from "./fixtures.ts";

const fileOf = (name: string) => new URL(`../../wire/tls/${name}`, import.meta.url).pathname;
const authority = fileOf("authority.pem");

/** Whether the connection is encrypted, or the reason why there is none. */
async function connect(url: string, password: string | null = null): Promise<boolean | string> {
  try {
    const { isEncrypted } = await checkDatabase({ url, password, prepare: true }, { migrates: false });
    return isEncrypted;
  } catch (error) {
    return String(error);
  }
}

test("a URL that cannot be used is refused before anything is sent, without being repeated", () => {
  for (const [url, said] of [
    ["postgres://u:hunter2@a:1,b:2/c", "with one host"],
    ["postgres://u:hunter2@host", "one host and one database"],
    ["postgres://u:hunter2%zz@host/c", "a % that does not begin an encoded character"],
    ["postgres://u%:hunter2@host/c", "a % that does not begin an encoded character"],
    ["postgres://host/db", "it needs a user"],
    ["postgres://u:hunter2@host/db?sslmode=maybe", "sslmode must be one of"],
    ["postgres://u:hunter2@host/db?options=-c", "parameter options is not supported"],
    ["postgres://u:hunter2@host/db?sslrootcert=/x", "sslmode=verify-full"],
  ] as const) {
    expect(() => parseAddress(url, null)).toThrow(said);
    expect(() => parseAddress(url, null)).not.toThrow("hunter2");
  }
  const address = parseAddress("postgresql://a%40b@[::1]:99/d%C3%A9?sslmode=verify-ca&sslrootcert=/x", "p");
  expect(address).toMatchObject({
    hostname: "::1",
    port: 99,
    username: "a@b",
    database: "dé",
    password: "p",
  });
  expect(address).toMatchObject({ name: "[::1]:99/dé", tls: "verify-ca", rootCertificates: "/x" });
});

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else {
  describe("TLS", () => {
    let server: PostgresServer;
    const present = async (name: string) => {
      server.writeFile("server.crt", readFileSync(fileOf(`${name}.pem`), "utf8"));
      server.writeFile("server.key", readFileSync(fileOf(`${name}.key`), "utf8"));
      await server.run("ALTER SYSTEM SET ssl = on");
      server.restart("fast");
    };
    const at = (host: string, parameters: string) =>
      connect(`postgres://sluice@${host}:${server.port}/postgres?${parameters}`);
    beforeAll(() => {
      server = new PostgresServer();
    });
    afterAll(() => server[Symbol.dispose]());

    test("is required only where it is asked for", async () => {
      expect(await at("127.0.0.1", "sslmode=prefer")).toBe(false);
      expect(await at("127.0.0.1", "sslmode=disable")).toBe(false);
      for (const mode of ["require", "verify-ca", "verify-full"]) {
        expect(await at("127.0.0.1", `sslmode=${mode}`)).toContain("does not support SSL");
      }
    });

    test("is verified as far as the mode says", async () => {
      await present("server");
      expect(await at("127.0.0.1", "sslmode=disable")).toBe(false);
      expect(await at("127.0.0.1", "")).toBe(true);
      expect(await at("127.0.0.1", "sslmode=require")).toBe(true);
      for (const mode of ["verify-ca", "verify-full"]) {
        expect(await at("127.0.0.1", `sslmode=${mode}`)).toContain("verify");
        expect(await at("127.0.0.1", `sslmode=${mode}&sslrootcert=${authority}`)).toBe(true);
        expect(await at("localhost", `sslmode=${mode}&sslrootcert=${authority}`)).toBe(true);
      }
      await present("elsewhere");
      expect(await at("127.0.0.1", `sslmode=verify-ca&sslrootcert=${authority}`)).toBe(true);
      expect(await at("127.0.0.1", `sslmode=require&sslrootcert=${authority}`)).toBe(true);
      expect(await at("127.0.0.1", `sslmode=verify-full&sslrootcert=${authority}`)).toContain(
        "does not match",
      );
    });
  });

  test("a password comes from the URL or from beside it, and is in no error", async () => {
    const trusting = "host all sluice 127.0.0.1/32 trust";
    using server = new PostgresServer({
      authentication: [trusting, "host all all 127.0.0.1/32 scram-sha-256"],
    });
    await server.run("CREATE USER ada PASSWORD 'p@ss/word-ada'");
    const at = (user: string) => `postgres://${user}@127.0.0.1:${server.port}/postgres`;
    expect(await connect(at("ada:p%40ss%2Fword-ada"))).toBe(false);
    expect(await connect(at("ada"), "p@ss/word-ada")).toBe(false);
    const refused = await connect(at("ada"), "wrong-password");
    expect(refused).toContain("password authentication failed");
    expect(refused).not.toContain("wrong-password");
  });

  describe("a query", () => {
    test("whose answer came while this process was busy is answered, although its deadline has passed", async () => {
      await using database = await emptyDatabase();
      const client = clientOf(database.url, { max: 1, deadlineMs: 300 });
      await client.query("SELECT 1");
      const asking = client.query<{ one: number }>("SELECT 1 AS one, pg_sleep(0.15)");
      await Bun.sleep(20);
      const busyUntilMs = performance.now() + 700;
      while (performance.now() < busyUntilMs);
      expect(await asking).toMatchObject([{ one: 1 }]);
      await client.close();
    });

    test("that takes too long is ended by the server too, and the next one is answered", async () => {
      await using database = await emptyDatabase();
      const client = clientOf(database.url, { max: 1, deadlineMs: 300 });
      // Connecting counts for the client's deadline, and not for the server's.
      await client.query("SELECT 1");
      await expect(client.query("SELECT pg_sleep(30)")).rejects.toThrow("statement timeout");
      expect(await client.query("SELECT 1 AS one")).toEqual([{ one: 1 }]);
      await expect(
        client.transaction(async (query) => {
          await query("CREATE TABLE half (id int)");
          await query("SELECT pg_sleep(30)");
        }),
      ).rejects.toThrow("statement timeout");
      const [found] = await client.query<{ half: string | null }>("SELECT to_regclass('half')::text AS half");
      expect(found?.half).toBeNull();
      await client.close();
    });

    test("whose answer is lost fails in time, and the next one has a connection of its own", async () => {
      await using database = await emptyDatabase();
      using proxy = new TcpProxy(database.server.port);
      const url = database.url.replace(`:${database.server.port}/`, `:${proxy.port}/`);
      const client = clientOf(url, { max: 1, deadlineMs: 300 });
      await client.query("SELECT 1");
      proxy.mode = "silent";
      await expect(client.query("SELECT 1")).rejects.toThrow("did not respond within 300 ms");
      proxy.mode = "pass";
      const again = () => client.query("SELECT 1 AS one").catch(() => []);
      await waitFor(async () => (await again()).length === 1, "an answer on another connection");
      await client.close();
    });

    test("whose answer is lost is given up long before a long deadline", async () => {
      await using database = await emptyDatabase();
      using proxy = new TcpProxy(database.server.port);
      const url = database.url.replace(`:${database.server.port}/`, `:${proxy.port}/`);
      const client = clientOf(url, { max: 2, deadlineMs: 600_000 });
      // Both connections are there before the replies are lost.
      await Promise.all([client.query("SELECT pg_sleep(0.3)"), client.query("SELECT pg_sleep(0.3)")]);
      proxy.mode = "silent";
      const asked = [client.query("SELECT 1"), client.query("SELECT 2")].map((answer) =>
        answer.then(
          () => "answered",
          (error) => String(error),
        ),
      );
      await Bun.sleep(500);
      // The replies were lost. Connections that are made from now on work.
      proxy.mode = "pass";
      for (const said of await Promise.all(asked))
        expect(said).toContain("PostgreSQL did not respond within");
      expect(await client.query("SELECT 1 AS one")).toEqual([{ one: 1 }]);
      await client.close();
    }, 60_000);

    test("that the server is at is waited for, however long it takes", async () => {
      await using database = await emptyDatabase();
      const client = clientOf(database.url, { max: 1, deadlineMs: 600_000 });
      const slow = client.query("SELECT 1 AS one FROM pg_sleep(6)");
      const queued = client.query("SELECT 2 AS two");
      expect(await slow).toEqual([{ one: 1 }]);
      expect(await queued).toEqual([{ two: 2 }]);
      await client.close();
    }, 60_000);

    test("that waits for a standby keeps its connection, and no other one is made that would wait too", async () => {
      using server = new PostgresServer();
      const url = server.url(await server.createDatabase());
      const client = clientOf(url, { max: 1, deadlineMs: 300 });
      await client.query("CREATE TABLE written (id int)");
      await server.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()");
      let acknowledged = 0;
      const write = async () => {
        await client.query("INSERT INTO written VALUES (1)");
        acknowledged += 1;
      };
      const isWritten = async () => (await write().catch(() => null)) !== null;
      await waitFor(async () => !(await isWritten()), "a write that waits for the standby");
      for (let attempt = 0; attempt < 20; attempt += 1) {
        await expect(write()).rejects.toThrow("did not respond");
        await Bun.sleep(100);
      }
      const watcher = clientOf(url, { max: 1 });
      const waiting = await watcher.query("SELECT FROM pg_stat_activity WHERE query LIKE 'INSERT%'");
      expect(waiting).toHaveLength(1);
      await server.run("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()");
      await waitFor(isWritten, "a write once it need not wait any more");
      // The write that waited was committed. The writes rejected meanwhile were not committed later on.
      expect(await watcher.query("SELECT FROM written")).toHaveLength(acknowledged + 1);
      for (const each of [client, watcher]) await each.close();
    }, 120_000);

    test("of a transaction whose client is gone does not keep its locks", async () => {
      await using database = await migratedDatabase();
      const vanished = clientOf(database.url, { max: 1 });
      const client = clientOf(database.url, { max: 1 });
      const isIdle = Promise.withResolvers<void>();
      const ended = vanished
        .transaction(
          async (query) => {
            await query("SELECT revision FROM state FOR UPDATE");
            isIdle.resolve();
            await new Promise(() => {});
          },
          { idleMs: 300 },
        )
        .catch(() => "ended");
      await isIdle.promise;
      expect(await client.query("SELECT id FROM state FOR UPDATE")).toEqual([{ id: 1 }]);
      const [usual] = await client.transaction((query) =>
        query<{ ms: string }>("SELECT current_setting('idle_in_transaction_session_timeout') AS ms"),
      );
      expect(usual).toEqual({ ms: "10s" });
      for (const each of [client, vanished]) await each.close();
      await Promise.race([ended, Bun.sleep(0)]);
    });

    test("survives that all connections were ended, if it only reads", async () => {
      await using database = await emptyDatabase();
      const location = { url: database.url, password: null, prepare: true };
      const store = await openStore({ location, clock: systemClock, role: "gateway" });
      await store.insertKey(keyRecord(), 5);
      for (let round = 0; round < 3; round += 1) {
        await sharedPostgres().run(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database.name}'`,
        );
        expect((await store.load()).keys).toHaveLength(1);
      }
      await store.close();
    });
  });

  if (!hasPgbouncer) test.skipIf(true)(withoutPgbouncer, () => {});
  else
    test("the store works behind pgbouncer in transaction mode, without prepared statements", async () => {
      await using database = await emptyDatabase();
      await using bouncer = await startPgbouncer(database.server);
      const location = { url: bouncer.url(database.name), password: null, prepare: false };
      const clock = systemClock;
      const gateways = await Promise.all(
        Array.from({ length: 3 }, () => openStore({ location, clock, role: "gateway" })),
      );
      const [first, second] = gateways;
      const keys = Array.from({ length: 20 }, () => keyRecord());
      await Promise.all(keys.map((key, index) => gateways[index % 3]?.insertKey(key, 100)));
      const topUps = keys.map(({ id: keyId }, index) =>
        gateways[index % 3]?.recordTopUp({ keyId, amountNano: 5, reference: "r", note: null, atMs: 1 }),
      );
      await Promise.all(topUps);
      expect((await first?.load())?.keys).toHaveLength(20);
      const changes = await second?.changesSince(0);
      expect(changes?.entries.map(({ amount }) => amount).toSorted((a, b) => a - b)).toEqual(
        Array.from({ length: 40 }, (_, index) => (index < 20 ? 5 : 100)),
      );
      if (first !== undefined) expect((await audit(first)).differences).toEqual([]);
      for (const store of gateways) await store.close();
    });
}
