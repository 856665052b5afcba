import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { systemClock } from "../../../src/base/clock.ts";
import { patiently } from "../../../src/store/sqlite/connection.ts";
import { restoreDatabase } from "../../../src/store/sqlite/files/restore.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { StoreError } from "../../../src/store/store.ts";
import { keyRecord, settleItem, temporaryFolder } from "../fixtures.ts";

const holdLock = `
const { Database } = require("bun:sqlite");
const database = new Database(process.argv[1]);
database.run("PRAGMA busy_timeout = 5000");
database.run("BEGIN IMMEDIATE");
console.log("locked");
setTimeout(() => { database.run("ROLLBACK"); database.close(); }, 300);`;

/** Another process that writes for a while, as a top-up or a migration does; resolves when it has the lock. */
async function lockForAWhile(file: string): Promise<{ readonly released: Promise<number> }> {
  const other = Bun.spawn({ cmd: [process.execPath, "-e", holdLock, file], stdout: "pipe" });
  const { value } = await other.stdout.getReader().read();
  expect(new TextDecoder().decode(value)).toContain("locked");
  return { released: other.exited };
}

test("a gateway that starts while another process writes waits for it", async () => {
  using folder = temporaryFolder();
  const key = keyRecord();
  const first = await openSqliteStore({ dir: folder.dir, clock: systemClock, role: "gateway" });
  await first.insertKey(key, 1_000);
  await first.commit([settleItem(key.id, 100)]);
  await first.close();
  const other = await lockForAWhile(join(folder.dir, "sluice.db"));
  const store = await openSqliteStore({ dir: folder.dir, clock: systemClock, role: "gateway" });
  expect(await store.readTotals(key.id)).toMatchObject({ posted: 900 });
  await store.close();
  expect(await other.released).toBe(0);
});

test("a restore waits for whoever writes to the database that it replaces", async () => {
  using folder = temporaryFolder();
  const store = await openSqliteStore({ dir: folder.dir, clock: systemClock, role: "operator" });
  const from = join(folder.dir, "copy.db");
  await store.files.backup(from);
  await store.insertKey(keyRecord(), 5);
  await store.close();
  const other = await lockForAWhile(join(folder.dir, "sluice.db"));
  const { replaced } = await restoreDatabase({ dir: folder.dir, from, nowMs: 0 });
  expect(await other.released).toBe(0);
  const kept = new Database(replaced ?? "");
  expect(kept.query("SELECT count(*) AS keys FROM keys WHERE no > 0").get()).toEqual({ keys: 1 });
  kept.close();
});

test("a lock that outlasts the timeout is told in a sentence that says what to do", async () => {
  using folder = temporaryFolder();
  const file = join(folder.dir, "x.db");
  const [holder, waiter] = [new Database(file), new Database(file)];
  holder.run("BEGIN EXCLUSIVE");
  const outcome = await patiently(30, () => waiter.run("BEGIN IMMEDIATE")).catch((error: unknown) => error);
  expect(outcome).toBeInstanceOf(StoreError);
  expect(outcome).toMatchObject({ reason: "locked" });
  expect(String(outcome)).toMatch(/locked by another program.*Nothing was changed.*fuser -v sluice\.db/s);
  holder.close();
  waiter.close();
});
