import type { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { BatchFailure, type BatchWriter } from "../../src/store/sqlite/batch-writer.ts";
import { openConnection } from "../../src/store/sqlite/connection.ts";
import { InlineWriter } from "../../src/store/sqlite/inline-writer.ts";
import { Journal } from "../../src/store/sqlite/journal.ts";
import { DiskReserve } from "../../src/store/sqlite/reserve.ts";
import type { StoreStats } from "../../src/store/store.ts";
import { keyRecord, openGatewayStore, settleItem, temporaryFolder } from "./fixtures.ts";

function newStats(): StoreStats {
  return {
    batches: 0,
    items: 0,
    failedBatches: 0,
    lastBatchItems: 0,
    lastBatchMs: 0,
    pendingItems: 0,
    journal: "inline",
  };
}

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

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe("a batch", () => {
  test("is one transaction for all that wait in a turn of the event loop", async () => {
    using folder = temporaryFolder();
    const store = await openGatewayStore(folder.dir, systemClock);
    const key = keyRecord();
    await store.insertKey(key, 1_000);
    await Promise.all(Array.from({ length: 50 }, () => store.commit([settleItem(key.id, 2)])));
    expect(store.stats).toMatchObject({
      batches: 1,
      items: 50,
      lastBatchItems: 50,
      pendingItems: 0,
      failedBatches: 0,
    });
    expect(await store.readTotals(key.id)).toMatchObject({ posted: 900, requests: 50 });
    await store.close();
  });

  test("has a limit, so that a crowd does not stall the streams", async () => {
    using folder = temporaryFolder();
    const store = await openGatewayStore(folder.dir, systemClock);
    const key = keyRecord();
    await store.insertKey(key, 100_000);
    await Promise.all(Array.from({ length: 1_300 }, () => store.commit([settleItem(key.id, 1)])));
    expect(store.stats).toMatchObject({ batches: 3, items: 1_300 });
    await store.close();
  });

  test.each([
    [7, [7, 1, 1]],
    [8, [8, 2]],
  ])("after one of %d items takes along who comes a turn later only in a crowd", async (first, expected) => {
    const sizes: number[] = [];
    const writer: BatchWriter = {
      write(items) {
        if (items.length > 0) sizes.push(items.length);
      },
      close() {},
    };
    const journal = new Journal(writer, newStats(), null);
    const release = { kind: "release", holdId: "hold" } as const;
    await journal.commit(Array.from({ length: first }, () => release));
    await nextTurn();
    const early = journal.commit([release]);
    await nextTurn();
    await Promise.all([early, journal.commit([release])]);
    expect(sizes).toEqual(expected);
    await journal.close();
  });

  test("is not spoilt by a commit that can never be written", async () => {
    using folder = temporaryFolder();
    const store = await openGatewayStore(folder.dir, systemClock);
    const key = keyRecord();
    await store.insertKey(key, 1_000);
    const outcomes = await Promise.allSettled([
      store.commit([settleItem(key.id, 1)]),
      store.commit([settleItem("key_unknown", 1)]),
      store.commit([settleItem(key.id, 2)]),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(await store.readTotals(key.id)).toMatchObject({ posted: 997, requests: 2 });
    expect(store.stats.pendingItems).toBe(0);
    expect(store.healthy).toBe(true);
    await store.close();
  });
});

describe("closing", () => {
  test("writes what still waits and takes nothing more", async () => {
    using folder = temporaryFolder();
    const { database, keyId } = await withKey(folder.dir);
    const journal = new Journal(new InlineWriter(database), newStats(), null);
    const waiting = journal.commit([settleItem(keyId, 3)]);
    await journal.close();
    await waiting;
    expect(countCharges(database)).toBe(1);
    expect(journal.healthy).toBe(false);
    await expect(journal.commit([])).rejects.toThrow("closed");
    database.close();
  });

  test("does not wait forever for a disk that stays full", async () => {
    const writer: BatchWriter = {
      write() {
        throw new BatchFailure("SQLITE_FULL", "database or disk is full");
      },
      close() {},
    };
    const journal = new Journal(writer, newStats(), null, 20);
    const waiting = journal.commit([]);
    await Promise.all([journal.close(), expect(waiting).rejects.toThrow("full")]);
  });
});

test("a file that turns out to be damaged makes the store unhealthy for good", async () => {
  const writer: BatchWriter = {
    write() {
      throw new BatchFailure("SQLITE_CORRUPT", "database disk image is malformed");
    },
    close() {
      throw new BatchFailure("SQLITE_CORRUPT", "database disk image is malformed");
    },
  };
  const journal = new Journal(writer, newStats(), null);
  await expect(journal.commit([])).rejects.toThrow("malformed");
  expect(journal.healthy).toBe(false);
  await journal.close();
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
    const journal = new Journal(new InlineWriter(database), stats, reserve);
    database.run("PRAGMA max_page_count = 1");
    const waiting = Array.from({ length: 200 }, () => journal.commit([settleItem(keyId, 1)]));
    await Bun.sleep(10);
    expect(journal.healthy).toBe(false);
    expect(existsSync(file)).toBe(false);
    expect(countCharges(database)).toBe(0);
    database.run("PRAGMA max_page_count = 1000000");
    await Promise.all(waiting);
    expect(countCharges(database)).toBe(200);
    expect(stats.failedBatches).toBeGreaterThan(0);
    expect(journal.healthy).toBe(false);
    for (let waitedMs = 0; !journal.healthy && waitedMs < 10_000; waitedMs += 100) await Bun.sleep(100);
    expect(existsSync(file)).toBe(true);
    expect(journal.healthy).toBe(true);
    await journal.close();
    reserve.close();
    database.close();
  });
});

describe("a lock", () => {
  test("that lasts makes the store unhealthy, until it is gone", async () => {
    let isLocked = true;
    const writer: BatchWriter = {
      write() {
        if (isLocked) throw new BatchFailure("SQLITE_BUSY", "database is locked");
      },
      close() {},
    };
    const journal = new Journal(writer, newStats(), null);
    const waiting = journal.commit([]);
    await Bun.sleep(5);
    expect(journal.healthy).toBe(true);
    await Bun.sleep(1_100);
    expect(journal.healthy).toBe(false);
    isLocked = false;
    await waiting;
    expect(journal.healthy).toBe(true);
    await journal.close();
  });

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
    await Bun.sleep(50);
    expect(await store.readTotals(key.id)).toMatchObject({ posted: 1_000 });
    await both;
    expect(await store.readTotals(key.id)).toMatchObject({ posted: 1_043, used: 7, purchased: 1_050 });
    expect(store.stats.failedBatches).toBeGreaterThan(0);
    await other.exited;
    await store.close();
  });
});
