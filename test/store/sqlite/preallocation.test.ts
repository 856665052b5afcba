import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { copyFileSync, existsSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { openConnection } from "../../../src/store/sqlite/connection.ts";
import { LogSync } from "../../../src/store/sqlite/log/log-sync.ts";
import { LogPreallocation } from "../../../src/store/sqlite/log/preallocation.ts";
import { waitFor } from "../../support/wait.ts";
import { temporaryFolder } from "../fixtures.ts";

const fullBytes = 10 * 1024 * 1024;

function openLog(dir: string) {
  const file = join(dir, "x.db");
  const database = openConnection(file, { busyTimeoutMs: 3, syncsElsewhere: true });
  database.run("CREATE TABLE rows (no INTEGER PRIMARY KEY, text TEXT)");
  const log = new LogSync(file);
  const bytes = () => statSync(`${file}-wal`).size;
  return { file, database, log, preallocation: new LogPreallocation(database, log), bytes };
}

function countRows(database: Database): number {
  return database.query<{ rows: number }, []>("SELECT count(*) AS rows FROM rows").get()?.rows ?? 0;
}

test("fills the log while others write to it, and takes nothing from them: not after a crash either", async () => {
  using folder = temporaryFolder();
  const { file, database, log, preallocation, bytes } = openLog(folder.dir);
  const other = openConnection(file, { busyTimeoutMs: 5_000 });
  const texts = ["one", "x".repeat(9_000)];
  preallocation.start(1);
  let written = 0;
  await waitFor(() => {
    for (const connection of [database, other]) {
      for (const text of texts) connection.query("INSERT INTO rows (text) VALUES (?)").run(text);
    }
    written += 4;
    return bytes() >= fullBytes;
  }, "the log to be filled");
  expect(countRows(other)).toBe(written);
  const crashed = join(folder.dir, "crashed.db");
  for (const suffix of ["", "-wal"]) copyFileSync(file + suffix, crashed + suffix);
  const recovered = new Database(crashed);
  expect(countRows(recovered)).toBe(written);
  expect(recovered.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  recovered.close();
  await preallocation.stop();
  other.close();
  await log.close();
  database.close();
});

test("waits while another program writes", async () => {
  using folder = temporaryFolder();
  const { file, database, log, preallocation, bytes } = openLog(folder.dir);
  const other = openConnection(file, { busyTimeoutMs: 0 });
  other.run("BEGIN IMMEDIATE");
  const before = bytes();
  preallocation.start(1);
  await Bun.sleep(50);
  expect(bytes()).toBe(before);
  other.run("COMMIT");
  await waitFor(() => bytes() >= fullBytes, "the log to be filled");
  await preallocation.stop();
  other.close();
  await log.close();
  database.close();
});

test("leaves it when there is no log", async () => {
  using folder = temporaryFolder();
  const { file, database, log, preallocation } = openLog(folder.dir);
  rmSync(`${file}-wal`);
  preallocation.start(1);
  await Bun.sleep(50);
  expect(existsSync(`${file}-wal`)).toBe(false);
  await preallocation.stop();
  await log.close();
  database.close();
});
