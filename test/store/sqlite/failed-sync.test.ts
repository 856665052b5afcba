import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../src/base/clock.ts";
import { dataFolder } from "../../../src/store/sqlite/files/folder.ts";
import { noteFailedSync } from "../../../src/store/sqlite/log/failed-sync.ts";
import { keyRecord, settleItem, temporaryFolder } from "../fixtures.ts";
import { openGatewayStore } from "./fixtures.ts";

/** A gateway that has charged and is left behind as a crash would, and the newest entry. */
async function crashed(dir: string): Promise<number> {
  // So that the tables are in the database itself.
  await (await openGatewayStore(dir, systemClock)).close();
  const store = await openGatewayStore(dir, systemClock);
  const key = keyRecord();
  await store.insertKey(key, 1_000);
  await store.commit([settleItem(key.id, 1)]);
  return (await store.listEntries({ afterId: 0, limit: 10 })).at(-1)?.id ?? 0;
}

/** The charges that are in the database itself. */
function chargesWithoutLog(dir: string): number {
  const copy = join(dir, "without-log.db");
  copyFileSync(dataFolder(dir).databaseFile, copy);
  const database = new Database(copy);
  const row = database.query("SELECT count(*) AS count FROM entries WHERE kind = 'charge'").get();
  database.close();
  return (row as { count: number }).count;
}

test("a gateway begins with an empty log, since nothing may be acknowledged behind what was not synced", async () => {
  using folder = temporaryFolder();
  await crashed(folder.dir);
  expect(chargesWithoutLog(folder.dir)).toBe(0);
  const store = await openGatewayStore(folder.dir, systemClock);
  expect(chargesWithoutLog(folder.dir)).toBe(1);
  await store.close();
});

test("after a failed sync a ledger that has all that was acknowledged is used again", async () => {
  using folder = temporaryFolder();
  const { failedSyncFile } = dataFolder(folder.dir);
  const newest = await crashed(folder.dir);
  noteFailedSync(dataFolder(folder.dir), newest);
  expect(readFileSync(failedSyncFile, "utf8")).toBe(String(newest));
  const store = await openGatewayStore(folder.dir, systemClock);
  expect(existsSync(failedSyncFile)).toBe(false);
  expect(store.healthy).toBe(true);
  await store.close();
});

test("after a failed sync a ledger that lacks what was acknowledged is refused, until an operator decides", async () => {
  using folder = temporaryFolder();
  const newest = await crashed(folder.dir);
  noteFailedSync(dataFolder(folder.dir), newest + 3);
  const lost = `lost entries ${newest + 1} to ${newest + 3}`;
  for (const _ of [1, 2]) await expect(openGatewayStore(folder.dir, systemClock)).rejects.toThrow(lost);
});

test("a note that cannot be left changes nothing", () => {
  using folder = temporaryFolder();
  noteFailedSync(dataFolder(`${folder.dir}/missing`), 7);
  expect(existsSync(`${folder.dir}/missing`)).toBe(false);
});
