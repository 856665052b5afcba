import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../src/base/clock.ts";
import { openStore } from "../../../src/store/open.ts";
import { dataFolder } from "../../../src/store/sqlite/files/folder.ts";
import { lockFolder } from "../../../src/store/sqlite/files/folder-lock.ts";
import { restoreDatabase } from "../../../src/store/sqlite/files/restore.ts";
import { migrate, migrations } from "../../../src/store/sqlite/migrate.ts";
import { startSluice } from "../../support/sluice.ts";
import { type TemporaryFolder, temporaryFolder } from "../fixtures.ts";
import { factsOf, formerDatabase, formerFacts } from "../former/facts.ts";

function formerFolder(): TemporaryFolder {
  const folder = temporaryFolder();
  putFormer(join(folder.dir, "sluice.db"));
  return folder;
}

function putFormer(file: string): void {
  writeFileSync(file, formerDatabase(), { mode: 0o600 });
}

const open = (dir: string) => openStore({ dir, clock: systemClock, role: "operator" });

/** Without comments, by name. */
function schemaOf(database: Database) {
  const all = database.query<{ name: string; sql: string | null }, []>(
    "SELECT name, sql FROM sqlite_schema ORDER BY name",
  );
  const plain = (sql: string) => sql.replaceAll(/--.*$/gm, "").replaceAll(/\s+/g, " ");
  return all.all().map(({ name, sql }) => `${name}: ${plain(sql ?? "")}`);
}

test("a folder from before the freeze is carried over with its balances, caps and counts, after a copy", async () => {
  using folder = formerFolder();
  for (const time of ["at once", "and again"]) {
    const store = await open(folder.dir);
    expect({ time, facts: await factsOf(store) }).toEqual({ time, facts: formerFacts("sqlite") });
    await store.close();
  }
  expect(readdirSync(join(folder.dir, "backups"))).toHaveLength(1);
});

test("its schema is then that of a new folder", async () => {
  using folder = formerFolder();
  await (await open(folder.dir)).close();
  const file = join(folder.dir, "sluice.db");
  const carried = new Database(file, { readonly: true });
  const fresh = new Database(":memory:");
  migrate(fresh, { file, nowMs: 0 });
  expect(schemaOf(carried)).toEqual(schemaOf(fresh));
  const steps = "SELECT * FROM schema_steps";
  expect(carried.query(steps).all()).toEqual(fresh.query(steps).all());
  expect(steps).not.toBeEmpty();
  carried.close();
});

test("a gateway that is started on it charges the stream that was interrupted", async () => {
  await using sluice = await startSluice({
    fill: async (dir) => {
      using folder = formerFolder();
      await restoreDatabase({ dir, from: join(folder.dir, "sluice.db"), nowMs: Date.now() });
    },
  });
  expect((await sluice.run("ledger", "audit")).code).toBe(0);
  const { total } = await sluice.cliJson<{ total: { interrupted: number; recorded_requests: number } }>(
    ...["usage", "--since", "2026-11-01", "--until", "2027-01-01"],
  );
  expect(total).toMatchObject({ interrupted: 1 });
});

test("a command leaves it as it is while its gateway runs", async () => {
  using folder = formerFolder();
  const gateway = await lockFolder(dataFolder(folder.dir));
  await expect(open(folder.dir)).rejects.toMatchObject({ reason: "in_use" });
  gateway.release();
  await (await open(folder.dir)).close();
});

test("a step that fails leaves it as it was", async () => {
  using folder = formerFolder();
  const file = join(folder.dir, "sluice.db");
  const database = new Database(file);
  database.run("CREATE TABLE pruned_usage (id INTEGER)");
  const before = schemaOf(database);
  expect(() => migrate(database, { file, nowMs: 0 })).toThrow("pruned_usage");
  expect(schemaOf(database)).toEqual(before);
  database.run("DROP TABLE pruned_usage");
  rmSync(join(folder.dir, "backups"), { recursive: true });
  migrate(database, { file, nowMs: 0 });
  expect(database.query("SELECT count(*) AS steps FROM schema_steps").get()).toEqual({
    steps: migrations.length,
  });
  database.close();
});
