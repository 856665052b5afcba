import type { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../src/base/clock.ts";
import { newStats } from "../../../src/store/health.ts";
import { openConnection } from "../../../src/store/sqlite/connection.ts";
import { DiskReserve } from "../../../src/store/sqlite/files/reserve.ts";
import { waitFor } from "../../support/wait.ts";
import { keyRecord, settleItem, temporaryFolder } from "../fixtures.ts";
import { newJournal } from "../journal/fixtures.ts";
import { openGatewayStore, sqliteWriter } from "./fixtures.ts";

/** A folder with a schema and one key, and a connection of the test's own to it. */
async function withKey(dir: string): Promise<{ database: Database; keyId: string }> {
  const store = await openGatewayStore(dir, systemClock);
  const key = keyRecord();
  await store.insertKey(key, 1_000_000);
  await store.close();
  return { database: openConnection(join(dir, "sluice.db"), { busyTimeoutMs: 0 }), keyId: key.id };
}

function countCharges(database: Database): number {
  const row = database
    .query<{ count: number }, []>("SELECT count(*) AS count FROM entries WHERE kind = 'charge'")
    .get();
  return row?.count ?? 0;
}

describe("closing", () => {
  test("writes what still waits and takes nothing more", async () => {
    using folder = temporaryFolder();
    const { database, keyId } = await withKey(folder.dir);
    const journal = newJournal(sqliteWriter(database));
    const waiting = journal.commit([settleItem(keyId, 3)]);
    await journal.close();
    await waiting;
    expect(countCharges(database)).toBe(1);
    expect(journal.healthy).toBe(false);
    await expect(journal.commit([])).rejects.toThrow("closed");
    database.close();
  });

  test("on a locked database waits for the lock, and writes what waited", async () => {
    using folder = temporaryFolder();
    const { database, keyId } = await withKey(folder.dir);
    const other = openConnection(join(folder.dir, "sluice.db"), { busyTimeoutMs: 0 });
    other.run("BEGIN IMMEDIATE");
    const stats = newStats();
    const journal = newJournal(sqliteWriter(database), { stats });
    const charge = settleItem(keyId, 3);
    const waiting = journal.commit([charge]);
    const closing = journal.close();
    await waitFor(() => stats.failedBatches > 0, "the lock to be met");
    expect(journal.unwritten).toEqual([charge.charge]);
    other.run("ROLLBACK");
    other.close();
    await Promise.all([waiting, closing]);
    expect(countCharges(database)).toBe(1);
    expect(journal.unwritten).toEqual([]);
    database.close();
  });

  test("on a database that stays locked ends after a while, and names the charges that are missing", async () => {
    using folder = temporaryFolder();
    const { database, keyId } = await withKey(folder.dir);
    const other = openConnection(join(folder.dir, "sluice.db"), { busyTimeoutMs: 0 });
    other.run("BEGIN IMMEDIATE");
    const journal = newJournal(sqliteWriter(database), { closeTimeoutMs: 50 });
    const [first, second, late] = [settleItem(keyId, 3), settleItem(keyId, 4), settleItem(keyId, 5)];
    const outcomes = Promise.allSettled([journal.commit([first]), journal.commit([second])]);
    await journal.close();
    expect((await outcomes).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await expect(journal.commit([late])).rejects.toThrow("closed");
    expect(journal.unwritten).toEqual([first.charge, second.charge, late.charge]);
    other.close();
    expect(countCharges(database)).toBe(0);
    database.close();
  });
});

describe("a full disk", () => {
  test("makes the store unhealthy, spends the reserve, and loses nothing when there is space again", async () => {
    using folder = temporaryFolder();
    const { database, keyId } = await withKey(folder.dir);
    const file = join(folder.dir, "sluice.reserve");
    const reserve = new DiskReserve(file);
    reserve.fill();
    expect(statSync(file).size).toBe(8 * 1024 * 1024);
    const stats = newStats();
    const journal = newJournal(sqliteWriter(database), { stats, reserve });
    database.run("PRAGMA max_page_count = 1");
    const waiting = Array.from({ length: 200 }, () => journal.commit([settleItem(keyId, 1)]));
    await waitFor(() => !journal.healthy, "the full disk to be noticed");
    expect(existsSync(file)).toBe(false);
    expect(countCharges(database)).toBe(0);
    database.run("PRAGMA max_page_count = 1000000");
    await Promise.all(waiting);
    expect(countCharges(database)).toBe(200);
    expect(stats.failedBatches).toBeGreaterThan(0);
    expect(journal.healthy).toBe(false);
    await waitFor(() => journal.healthy, "the reserve to be filled again");
    expect(existsSync(file)).toBe(true);
    expect(journal.healthy).toBe(true);
    await journal.close();
    reserve.close();
    database.close();
  });
});

describe("a lock", () => {
  test("of another process for a while delays charges and top-ups, and changes no balance", async () => {
    using folder = temporaryFolder();
    const store = await openGatewayStore(folder.dir, systemClock);
    const key = keyRecord();
    await store.insertKey(key, 1_000);
    const other = Bun.spawn({
      cmd: [
        process.execPath,
        "-e",
        `const { Database } = require("bun:sqlite");
        const database = new Database(process.argv[1]);
        database.run("BEGIN IMMEDIATE");
        console.log("locked");
        setTimeout(() => database.run("ROLLBACK"), 600);`,
        join(folder.dir, "sluice.db"),
      ],
      stdout: "pipe",
    });
    const reader = other.stdout.getReader();
    await reader.read();
    const topUp = { keyId: key.id, amountNano: 50, reference: null, note: null, atMs: 0 };
    const both = Promise.all([store.commit([settleItem(key.id, 7)]), store.recordTopUp(topUp)]);
    await waitFor(() => store.stats.failedBatches > 0, "the lock to be met");
    expect(await store.readTotals(key.id)).toMatchObject({ posted: 1_000 });
    await both;
    expect(await store.readTotals(key.id)).toMatchObject({ posted: 1_043, used: 7, purchased: 1_050 });
    expect(store.stats.failedBatches).toBeGreaterThan(0);
    await other.exited;
    await store.close();
  });
});
