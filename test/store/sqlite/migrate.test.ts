import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../src/base/clock.ts";
import type { Migration } from "../../../src/store/settings.ts";
import { dataFolder } from "../../../src/store/sqlite/files/folder.ts";
import { lockFolder } from "../../../src/store/sqlite/files/folder-lock.ts";
import { verifyCopy } from "../../../src/store/sqlite/files/restore.ts";
import { migrate, migrations, schemaVersion } from "../../../src/store/sqlite/migrate.ts";
import { readMovedFrom } from "../../../src/store/sqlite/moved.ts";
import { migrateUnlessServed, openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { temporaryFolder } from "../fixtures.ts";

const nowMs = Date.UTC(2026, 10, 15, 12);

test("a database of a build before 0.1.0 is refused, and nothing in it is changed", async () => {
  using folder = temporaryFolder();
  const file = join(folder.dir, "sluice.db");
  const old = new Database(file);
  old.run("CREATE TABLE notes (text TEXT)");
  old.run("PRAGMA application_id = 0x534c5543");
  old.run("PRAGMA user_version = 1");
  const message = `The database ${file} was made by a build before 0.1.0`;
  await expect(openSqliteStore({ dir: folder.dir, clock: systemClock, role: "gateway" })).rejects.toThrow(
    message,
  );
  await expect(verifyCopy(file)).rejects.toThrow(message);
  expect(() => readMovedFrom(folder.dir)).toThrow(message);
  expect(old.query("SELECT name FROM sqlite_master").all()).toEqual([{ name: "notes" }]);
  expect(schemaVersion(old)).toBe(1);
  old.close();
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
  migrate(database, {
    file,
    nowMs,
    migrations: ["CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('kept')"],
  });
  const told: Migration[] = [];
  const onMigration = (migration: Migration) => told.push(migration);
  migrate(database, { file, nowMs, migrations: ["never run again", "DELETE FROM notes"], onMigration });
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
  expect(database.query("SELECT name FROM sqlite_master").all()).toEqual([{ name: "notes" }]);
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
    `The gateway that runs on ${folder.dir} is of an older release (schema 1; this one has 2).`,
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
