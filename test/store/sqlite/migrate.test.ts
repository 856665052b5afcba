import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../src/base/clock.ts";
import type { Migration } from "../../../src/store/settings.ts";
import { applicationId } from "../../../src/store/sqlite/connection.ts";
import { dataFolder } from "../../../src/store/sqlite/files/folder.ts";
import { lockFolder } from "../../../src/store/sqlite/files/folder-lock.ts";
import { verifyCopy } from "../../../src/store/sqlite/files/restore.ts";
import { migrate, migrations, schemaVersion } from "../../../src/store/sqlite/migrate.ts";
import { readMovedFrom } from "../../../src/store/sqlite/moved.ts";
import { migrateUnlessServed, openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { temporaryFolder } from "../fixtures.ts";

const nowMs = Date.UTC(2026, 10, 15, 12);

/** What a build with another 001.sql left: the current version, and its fingerprints, if it kept any. */
const otherBuilds: Readonly<Record<string, (database: Database, file: string) => void>> = {
  "with another fingerprint": (database, file) =>
    migrate(database, {
      file,
      nowMs,
      migrations: ["CREATE TABLE notes (text TEXT)", ...migrations.slice(1).map(() => "SELECT 1")],
    }),
  "without a fingerprint": (database) => {
    database.run("CREATE TABLE notes (text TEXT)");
    database.run(`PRAGMA application_id = ${applicationId}`);
    database.run(`PRAGMA user_version = ${migrations.length}`);
  },
};

for (const [which, create] of Object.entries(otherBuilds))
  test(`a database of another build, ${which}, is refused, and nothing in it is changed`, async () => {
    using folder = temporaryFolder();
    const file = join(folder.dir, "sluice.db");
    const old = new Database(file);
    create(old, file);
    const schema = old.query("SELECT * FROM sqlite_schema").all();
    for (const role of ["gateway", "operator"] as const) {
      const opened = openSqliteStore({ dir: folder.dir, clock: systemClock, role });
      await expect(opened).rejects.toMatchObject({
        reason: "other_schema",
        message: expect.stringContaining(
          `The database ${file} has the schema of a different build. Nothing was changed. Run \`sluice store export FILE\``,
        ),
      });
    }
    await expect(verifyCopy(file)).rejects.toMatchObject({ reason: "other_schema" });
    expect(() => readMovedFrom(folder.dir)).toThrow("the schema of a different build");
    expect(old.query("SELECT * FROM sqlite_schema").all()).toEqual(schema);
    expect(schemaVersion(old)).toBe(migrations.length);
    expect(existsSync(join(folder.dir, "backups"))).toBe(false);
    old.close();
  });

test("comments and whitespace of a migration are not part of its schema", () => {
  using folder = temporaryFolder();
  const file = join(folder.dir, "sluice.db");
  const database = new Database(file);
  migrate(database, { file, nowMs, migrations: ["CREATE TABLE notes (text TEXT);"] });
  migrate(database, { file, nowMs, migrations: ["-- Notes.\nCREATE TABLE  notes (text TEXT);\n"] });
  expect(() => migrate(database, { file, nowMs, migrations: ["CREATE TABLE notes (line TEXT);"] })).toThrow(
    "the schema of a different build",
  );
  database.close();
});

test("a new database is brought up to date without a copy of nothing", () => {
  using folder = temporaryFolder();
  const file = join(folder.dir, "sluice.db");
  const database = new Database(file);
  migrate(database, { file, nowMs });
  expect(schemaVersion(database)).toBe(migrations.length);
  expect(existsSync(join(folder.dir, "backups"))).toBe(false);
  migrate(database, { file, nowMs });
  database.close();
});

test("a database with data is copied before it is changed", () => {
  using folder = temporaryFolder();
  const file = join(folder.dir, "sluice.db");
  const database = new Database(file);
  const first = "CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('kept')";
  migrate(database, { file, nowMs, migrations: [first] });
  const told: Migration[] = [];
  const onMigration = (migration: Migration) => told.push(migration);
  const steps = [first, "DELETE FROM notes"];
  migrate(database, { file, nowMs, migrations: steps, onMigration });
  expect(database.query("SELECT * FROM notes").all()).toEqual([]);
  const [copy] = readdirSync(join(folder.dir, "backups"));
  expect(copy).toBe("before-schema-2-2026-11-15T12-00-00.000Z.db");
  expect(told).toEqual([{ from: 1, to: 2, copy: join(folder.dir, "backups", copy ?? "") }]);
  const before = new Database(join(folder.dir, "backups", copy ?? ""));
  expect(before.query("SELECT * FROM notes").all()).toEqual([{ text: "kept" }]);
  expect(schemaVersion(before)).toBe(1);
  before.close();
  database.close();
});

test("a step that fails leaves the database as it was", () => {
  using folder = temporaryFolder();
  const file = join(folder.dir, "sluice.db");
  const database = new Database(file);
  const steps = [
    "CREATE TABLE notes (text TEXT)",
    "CREATE TABLE more (text TEXT); INSERT INTO nowhere VALUES (1)",
  ];
  expect(() => migrate(database, { file, nowMs, migrations: steps })).toThrow("nowhere");
  expect(schemaVersion(database)).toBe(1);
  const tables = database.query("SELECT name FROM sqlite_schema ORDER BY name");
  expect(tables.all()).toEqual([{ name: "notes" }, { name: "schema_steps" }]);
  database.close();
});

test("two processes that start at once do not run a step twice", () => {
  using folder = temporaryFolder();
  const file = join(folder.dir, "sluice.db");
  const first = new Database(file);
  const second = new Database(file);
  const steps = ["CREATE TABLE notes (text TEXT)"];
  const late = new Proxy(second, {
    get(database, name) {
      if (name === "transaction") migrate(first, { file, nowMs, migrations: steps });
      const value: unknown = Reflect.get(database, name);
      return typeof value === "function" ? value.bind(database) : value;
    },
  });
  migrate(late, { file, nowMs, migrations: steps });
  expect(schemaVersion(second)).toBe(1);
  first.close();
  second.close();
});

test("a command of a newer release leaves the database of a running gateway as it is", async () => {
  using folder = temporaryFolder();
  const file = join(folder.dir, "sluice.db");
  const database = new Database(file);
  const [first, second] = ["CREATE TABLE notes (text TEXT)", "CREATE TABLE more (text TEXT)"];
  migrate(database, { file, nowMs, migrations: [first] });
  const gateway = await lockFolder(dataFolder(folder.dir));
  const migrateAsCommand = () =>
    migrateUnlessServed(database, dataFolder(folder.dir), { file, nowMs, migrations: [first, second] });
  expect(migrateAsCommand).toThrow(
    `The gateway running on ${folder.dir} is an older release (schema 1; this one has 2).`,
  );
  expect(schemaVersion(database)).toBe(1);
  expect(existsSync(join(folder.dir, "backups"))).toBe(false);

  gateway.release();
  migrateAsCommand();
  expect(schemaVersion(database)).toBe(2);
  // The lock was given back.
  (await lockFolder(dataFolder(folder.dir))).release();
  database.close();
});

test("an alert that has another name now stays acknowledged, and the new one of its name is not", () => {
  using folder = temporaryFolder();
  const file = join(folder.dir, "sluice.db");
  const database = new Database(file);
  migrate(database, { file, nowMs, migrations: migrations.slice(0, 4) });
  database.run(
    "INSERT INTO acknowledged_alerts VALUES ('model_unavailable', 'ada', 9), ('disk_low', 'ada', 9)",
  );
  const alert = '{"kind":"model_unavailable","text":"Model m is not served."}';
  database.run("INSERT INTO findings VALUES ('gw_1', ?, 9)", [`[${alert}]`]);
  database.run("INSERT INTO past_alerts (id, alert, began_at_ms) VALUES (?, ?, 1)", [
    "model_unavailable model m ",
    alert,
  ]);
  migrate(database, { file, nowMs });
  const renamed = alert.replace("model_unavailable", "model_skipped");
  expect(database.query("SELECT kind FROM acknowledged_alerts ORDER BY kind").values()).toEqual([
    ["disk_low"],
    ["model_skipped"],
  ]);
  expect(database.query("SELECT findings FROM findings").values()).toEqual([[`[${renamed}]`]]);
  expect(database.query("SELECT id, alert FROM past_alerts").values()).toEqual([
    ["model_skipped model m ", renamed],
  ]);
  database.close();
});
