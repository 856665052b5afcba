import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { systemClock } from "../../../src/base/clock.ts";
import { audit } from "../../../src/ledger/audit.ts";
import { checkDatabase, openStore } from "../../../src/store/open.ts";
import { parseAddress } from "../../../src/store/postgres/address.ts";
import { hasPgbouncer, startPgbouncer, withoutPgbouncer } from "../../support/pgbouncer.ts";
import { hasPostgres, PostgresServer, sharedPostgres, withoutPostgres } from "../../support/postgres.ts";
import { keyRecord } from "../fixtures.ts";
import { clientOf, emptyDatabase } from "./fixtures.ts";

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
    ["postgres://u:hunter2@a:1,b:2/c", "several hosts"],
    ["postgres://u:hunter2@host", "one host and one database"],
    ["postgres://u:hunter2%zz@host/c", "a % that does not begin an encoded character"],
    ["postgres://u%:hunter2@host/c", "a % that does not begin an encoded character"],
    ["postgres://host/db", "must name a user"],
    ["postgres://u:hunter2@host/db?sslmode=maybe", "sslmode must be one of"],
    ["postgres://u:hunter2@host/db?options=-c", "but it has options"],
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

    test("that is not answered in time fails, and the next one has a connection of its own", async () => {
      await using database = await emptyDatabase();
      const client = clientOf(database.url, { max: 1, deadlineMs: 300 });
      await expect(client.query("SELECT pg_sleep(30)")).rejects.toThrow("did not answer within 300 ms");
      expect(await client.query("SELECT 1 AS one")).toEqual([{ one: 1 }]);
      await expect(
        client.transaction(async (query) => {
          await query("CREATE TABLE half (id int)");
          await query("SELECT pg_sleep(30)");
        }),
      ).rejects.toThrow("did not answer");
      const [found] = await client.query<{ half: string | null }>("SELECT to_regclass('half')::text AS half");
      expect(found?.half).toBeNull();
      await client.close();
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
