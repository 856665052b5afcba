import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { PostgresClient } from "../../../src/store/postgres/client.ts";
import { Database } from "../../../src/store/postgres/database.ts";
import { StoreError } from "../../../src/store/store.ts";
import { hasPostgres, withoutPostgres } from "../../support/postgres.ts";
import { clientOf, emptyDatabase, type PostgresDatabase } from "./fixtures.ts";

const timeoutMs = 300;

/** Statements that fail, and count how often they were tried: a sequence is not rolled back. */
const failing = {
  rejected: "SELECT fail('22012')",
  "rolled back": "SELECT fail('40001')",
  blocked: "SELECT fail('55P03')",
  cancelled: "SELECT fail('57014')",
  "cut off": "SELECT nextval('tries'), pg_terminate_backend(pg_backend_pid()), pg_sleep(5)",
};

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("a statement", () => {
    let database: PostgresDatabase;
    let client: PostgresClient;
    let watcher: PostgresClient;
    beforeAll(async () => {
      database = await emptyDatabase();
      client = clientOf(database.url, { max: 1 });
      watcher = clientOf(database.url, { max: 1 });
      await watcher.query("CREATE SEQUENCE tries");
      await watcher.query(`CREATE FUNCTION fail(state text) RETURNS void LANGUAGE plpgsql AS $$
        BEGIN PERFORM nextval('tries'); RAISE EXCEPTION 'no' USING ERRCODE = state; END $$`);
    });
    afterAll(async () => {
      for (const each of [client, watcher]) await each.close();
      await database[Symbol.asyncDispose]();
    });

    async function triesOf(work: (database: Database) => Promise<unknown>) {
      await watcher.query("SELECT setval('tries', 1, false)");
      const error: unknown = await work(new Database(client, timeoutMs)).catch((failure: unknown) => failure);
      const [row] = await watcher.query<{ tries: number }>("SELECT nextval('tries')::int - 1 AS tries");
      return { error, tries: row?.tries ?? 0 };
    }

    test.each([
      ["reads", (work: Database, text: string) => work.read(text)],
      ["changes", (work: Database, text: string) => work.change(text)],
      ["changes surely", (work: Database, text: string) => work.changeSurely(text)],
      ["changes in a transaction", (work: Database, text: string) => work.changeAll((query) => query(text))],
    ])("that %s is tried once if the database rejects it, with its own words", async (_, run) => {
      const { error, tries } = await triesOf((work) => run(work, failing.rejected));
      expect(tries).toBe(1);
      expect(error).toMatchObject({ errno: "22012", message: "no" });
    });

    test.each([
      ["reads", (work: Database, text: string) => work.read(text)],
      ["changes", (work: Database, text: string) => work.change(text)],
      ["changes in a transaction", (work: Database, text: string) => work.changeAll((query) => query(text))],
    ])("that %s is repeated while it is rolled back, but not for ever", async (_, run) => {
      for (const text of [failing["rolled back"], failing.blocked, failing.cancelled]) {
        const startedAtMs = performance.now();
        const { error, tries } = await triesOf((work) => run(work, text));
        expect(tries).toBeGreaterThan(1);
        expect(String(error)).toContain("no");
        expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(timeoutMs);
      }
    });

    test("that reads is repeated when its connection breaks, and gives up in words", async () => {
      const { error, tries } = await triesOf((work) => work.read(failing["cut off"]));
      expect(tries).toBeGreaterThan(1);
      expect(error).toBeInstanceOf(StoreError);
      expect(error).toMatchObject({
        reason: "unreachable",
        message: expect.stringContaining(
          `The database 127.0.0.1:${database.server.port}/${database.name} is unavailable`,
        ),
      });
    });

    test("that changes something is not repeated when its connection breaks: it may have been done", async () => {
      for (const run of [
        (work: Database) => work.change(failing["cut off"]),
        (work: Database) => work.changeAll((query) => query(failing["cut off"])),
      ]) {
        const { error, tries } = await triesOf(run);
        expect(tries).toBe(1);
        expect(error).toBeInstanceOf(StoreError);
      }
    });

    test("of several that are read together sees what the first has seen", async () => {
      const seen = await new Database(client, timeoutMs).readAll(async (query) => {
        const tables = () => query("SELECT FROM pg_tables WHERE tablename = 'later'");
        const before = await tables();
        await watcher.query("CREATE TABLE later (id int)");
        return [before.length, (await tables()).length];
      });
      expect(seen).toEqual([0, 0]);
    });
  });
