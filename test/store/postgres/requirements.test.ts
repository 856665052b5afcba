import { describe, expect, test } from "bun:test";
import { systemClock } from "../../../src/base/clock.ts";
import { checkDatabase, copyAll, openStore } from "../../../src/store/open.ts";
import { StoreError } from "../../../src/store/store.ts";
import { hasPgbouncer, startPgbouncer, withoutPgbouncer } from "../../support/pgbouncer.ts";
import { hasPostgres, PostgresServer, withoutPostgres } from "../../support/postgres.ts";
import { keyRecord, temporaryFolder } from "../fixtures.ts";
import { clientOf, emptyDatabase, migratedDatabase, runIn } from "./fixtures.ts";

const located = (url: string, prepare = true) => ({ url, password: null, prepare });

const ways = {
  "a gateway": (location) => openStore({ location, clock: systemClock, role: "gateway" }),
  "a command": (location) => openStore({ location, clock: systemClock, role: "operator", migrates: true }),
  "`store check`": (location) => checkDatabase(location, { migrates: true }),
} satisfies Record<string, (location: ReturnType<typeof located>) => Promise<unknown>>;

/** What each way in says; empty where it is let in. */
async function refusalsOf(url: string, prepare = true): Promise<string[]> {
  const said: string[] = [];
  for (const enter of Object.values(ways)) {
    const entered: unknown = await enter(located(url, prepare)).catch((error: unknown) => error);
    if (entered instanceof StoreError) {
      expect(entered.reason).toBe("unsafe_server");
      said.push(entered.message);
    } else if (entered instanceof Error) throw entered;
    else if (typeof entered === "object" && entered !== null && "close" in entered)
      await (entered as { close(): Promise<void> }).close();
  }
  return said;
}

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("a server", () => {
    test.each([
      ["fsync", "off", "loses charges"],
      ["full_page_writes", "off", "half-written pages"],
    ])(
      "whose %s is %s is refused in words, until it is set",
      async (setting, value, harm) => {
        using server = new PostgresServer({ settings: { [setting]: value } });
        const url = server.url(await server.createDatabase());
        const refusals = await refusalsOf(url);
        expect(refusals).toHaveLength(Object.keys(ways).length);
        for (const refusal of refusals) {
          expect(refusal).toContain(`${setting} is ${value}, so that a crash of the server's machine`);
          expect(refusal).toContain(harm);
          expect(refusal).toContain(`(ALTER SYSTEM SET ${setting} = on; SELECT pg_reload_conf())`);
        }
        using folder = temporaryFolder();
        const source = await openStore({ dir: folder.dir, clock: systemClock, role: "gateway" });
        await source.insertKey(keyRecord(), 5);
        await source.close();
        const copying = copyAll({
          from: { dir: folder.dir },
          to: located(url),
          clock: systemClock,
          keepsSource: true,
          nodeFolders: [],
          onProgress: () => {},
        });
        await expect(copying).rejects.toThrow("does not meet Sluice's requirements");
        const tables = await withClient(url, "SELECT FROM pg_tables WHERE schemaname = 'public'");
        expect(tables).toEqual([]);
        await server.run(`ALTER SYSTEM SET ${setting} = on`, "SELECT pg_reload_conf()");
        expect(await refusalsOf(url)).toEqual([]);
      },
      60_000,
    );

    test("whose storage is not its own files is not asked about them", async () => {
      using server = new PostgresServer({ settings: { fsync: "off", full_page_writes: "off" } });
      const url = server.url(await server.createDatabase());
      await withClient(
        url,
        "CREATE FUNCTION pg_catalog.aurora_version() RETURNS text LANGUAGE sql AS 'SELECT NULL'",
      );
      expect(await refusalsOf(url)).toEqual([]);
    }, 120_000);

    test("that keeps texts in another encoding is refused", async () => {
      await using database = await emptyDatabase();
      await database.server.run(
        `DROP DATABASE ${database.name}`,
        `CREATE DATABASE ${database.name} ENCODING 'SQL_ASCII' TEMPLATE template0`,
      );
      const refusals = await refusalsOf(database.url);
      expect(refusals).toHaveLength(Object.keys(ways).length);
      for (const refusal of refusals) expect(refusal).toContain("server_encoding is SQL_ASCII");
    });

    test("whose search_path leads to no schema, or away from the ledger, is refused", async () => {
      await using database = await migratedDatabase();
      await runIn(database, "CREATE SCHEMA elsewhere");
      const withPath = (path: string) =>
        runIn(database, `ALTER DATABASE ${database.name} SET search_path = ${path}`);
      await withPath("elsewhere, public");
      for (const refusal of await refusalsOf(database.url))
        expect(refusal).toContain("selects schema elsewhere, but the ledger is in public");
      await withPath("nowhere");
      for (const refusal of await refusalsOf(database.url))
        expect(refusal).toContain("has no existing schema");
      expect(await withClient(database.url, "SELECT FROM pg_tables WHERE schemaname = 'elsewhere'")).toEqual(
        [],
      );
      await withPath("public");
      expect(await refusalsOf(database.url)).toEqual([]);
    });
  });

/** What a role may say, and what would come of it. */
const defaults = {
  synchronous_commit: "off",
  default_transaction_isolation: "serializable",
  extra_float_digits: "-15",
  bytea_output: "escape",
  array_nulls: "off",
};

if (hasPostgres)
  describe("a database whose sessions begin otherwise than Sluice needs them", () => {
    test("is used all the same, because each connection asks for what it needs", async () => {
      await using database = await migratedDatabase();
      for (const [setting, value] of Object.entries(defaults))
        await runIn(database, `ALTER DATABASE ${database.name} SET ${setting} = '${value}'`);
      expect(await refusalsOf(database.url)).toEqual([]);
      const found = await withClient(
        database.url,
        `SELECT setting FROM pg_settings WHERE name IN ('${Object.keys(defaults).join("', '")}') ORDER BY name`,
      );
      expect(found).toEqual(["on", "hex", "read committed", "1", "on"].map((setting) => ({ setting })));
      const store = await openStore({ location: located(database.url), clock: systemClock, role: "gateway" });
      const key = keyRecord({ label: "Zoë" });
      await store.insertKey(key, 1_234_567_890_123_456);
      expect(await store.readTotals(key.id)).toMatchObject({ posted: 1_234_567_890_123_456 });
      await store.close();
    });

    if (!hasPgbouncer) test.skipIf(true)(withoutPgbouncer, () => {});
    else
      test("is refused behind pgbouncer, which keeps these wishes from the server, until the role has them", async () => {
        await using database = await migratedDatabase();
        await using bouncer = await startPgbouncer(database.server);
        const url = bouncer.url(database.name);
        expect(await refusalsOf(url, false)).toEqual([]);
        for (const [setting, value] of Object.entries(defaults))
          await runIn(database, `ALTER DATABASE ${database.name} SET ${setting} = '${value}'`);
        await runIn(
          database,
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
        );
        const refusals = await refusalsOf(url, false);
        expect(refusals).toHaveLength(Object.keys(ways).length);
        for (const refusal of refusals) {
          for (const [setting, value] of Object.entries(defaults))
            expect(refusal).toContain(`${setting} is ${value}, so that `);
          expect(refusal).toContain("(ALTER ROLE sluice SET synchronous_commit = on, and reconnect)");
        }
      });

    if (hasPgbouncer)
      test("says what pgbouncer needs when that refuses a connection's wishes", async () => {
        await using database = await migratedDatabase();
        await using bouncer = await startPgbouncer(database.server);
        const asking = checkDatabase(located(bouncer.url(database.name)), { migrates: false });
        await expect(asking).rejects.toThrow(/[^.]\. Behind pgbouncer, \[store\] needs `prepare = false`\.$/);
      });
  });

async function withClient(url: string, statement: string): Promise<unknown[]> {
  const client = clientOf(url, { max: 1 });
  try {
    return await client.query(statement);
  } finally {
    await client.close();
  }
}
