import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../src/base/clock.ts";
import { checkDatabase, copyAll, openStore } from "../../../src/store/open.ts";
import { hasPostgres, withoutPostgres } from "../../support/postgres.ts";
import { startSluice } from "../../support/sluice.ts";
import { temporaryFolder } from "../fixtures.ts";
import { factsOf, formerDump, formerFacts } from "../former/facts.ts";
import { emptyDatabase, type PostgresDatabase, runIn } from "./fixtures.ts";

async function formerPostgres(): Promise<PostgresDatabase> {
  const database = await emptyDatabase();
  const file = join(database.server.dir, `${database.name}.sql`);
  writeFileSync(file, formerDump(), { mode: 0o644 });
  database.server.program("psql", ["--quiet", "--set=ON_ERROR_STOP=1", `--file=${file}`, database.url]);
  return database;
}

const at = ({ url }: PostgresDatabase) => ({ url, password: null, prepare: true });
const open = (database: PostgresDatabase) =>
  openStore({ location: at(database), clock: systemClock, role: "operator" });

function schemaOf({ server, url }: PostgresDatabase): string[] {
  const dump = server.program("pg_dump", ["--schema-only", "--no-owner", url]);
  return dump
    .replaceAll(/--.*$/gm, "")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("\\"));
}

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("a database from before the freeze", () => {
    test("is carried over with its balances, caps and counts", async () => {
      await using database = await formerPostgres();
      await expect(open(database)).rejects.toMatchObject({ reason: "schema_missing" });
      await checkDatabase(at(database), { migrates: true });
      const store = await open(database);
      expect(await factsOf(store)).toEqual(formerFacts("postgres"));
      await store.close();
    });

    test("then has the schema of a new one", async () => {
      await using database = await formerPostgres();
      await using fresh = await emptyDatabase();
      for (const each of [database, fresh]) await checkDatabase(at(each), { migrates: true });
      expect(schemaOf(database)).toEqual(schemaOf(fresh));
    });

    test("is left as it is while a gateway of its build runs", async () => {
      await using database = await formerPostgres();
      const before = schemaOf(database);
      await runIn(
        database,
        "UPDATE nodes SET dead_at = NULL, lease_until = clock_timestamp() + interval '1 minute'",
      );
      await expect(checkDatabase(at(database), { migrates: true })).rejects.toMatchObject({
        reason: "in_use",
      });
      expect(schemaOf(database)).toEqual(before);
    });

    test("serves a gateway, which charges the stream that was interrupted", async () => {
      await using database = await formerPostgres();
      const env = { SLUICE_STORE: database.url, SLUICE_TEST_NODE_TIMING: "1500,600,200,500" };
      await using sluice = await startSluice({ env });
      expect((await sluice.run("ledger", "audit")).code).toBe(0);
      const usage = ["usage", "--since", "2026-11-01", "--until", "2027-01-01"];
      const total = async () =>
        (await sluice.cliJson<{ total: { interrupted: number } }>(...usage)).total.interrupted;
      for (let tries = 0; tries < 100 && (await total()) === 0; tries += 1) await Bun.sleep(200);
      expect(await total()).toBe(1);
      expect((await sluice.run("ledger", "audit")).code).toBe(0);
      expect(await sluice.stop()).toBe(0);

      // A copy computes all reports again.
      using folder = temporaryFolder();
      const copied = { dir: join(folder.dir, "copied") };
      const request = { clock: systemClock, keepsSource: true, nodeFolders: [], onProgress: () => {} };
      await copyAll({ from: at(database), to: copied, ...request });
      const store = await open(database);
      const copy = await openStore({ ...copied, clock: systemClock, role: "operator" });
      expect(await factsOf(copy)).toEqual(await factsOf(store));
      for (const each of [store, copy]) await each.close();
    });
  });
