import type { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { newStats } from "../../src/store/health.ts";
import { BatchFailure, type BatchWriter } from "../../src/store/journal/batch-writer.ts";
import { Journal, type JournalOptions } from "../../src/store/journal/journal.ts";
import { openConnection } from "../../src/store/sqlite/connection.ts";
import { InlineWriter } from "../../src/store/sqlite/inline-writer.ts";
import { DiskReserve } from "../../src/store/sqlite/reserve.ts";
import { sqliteTroubles } from "../../src/store/sqlite/troubles.ts";
import type { JournalItem } from "../../src/store/store.ts";
import { waitFor } from "../support/wait.ts";
import { keyRecord, openGatewayStore, settleItem, temporaryFolder } from "./fixtures.ts";

function newJournal(writer: BatchWriter, overrides: Partial<JournalOptions> = {}): Journal {
  return new Journal({ writer, stats: newStats(), reserve: null, troubles: sqliteTroubles, ...overrides });
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

/** Takes note of every batch, by the ids of its holds. */
function notingWriter(): BatchWriter & { readonly batches: string[][] } {
  const batches: string[][] = [];
  return {
    batches,
    write(items) {
      const ids = items.flatMap((item) => (item.kind === "release" ? [item.holdId] : []));
      if (ids.length > 0) batches.push(ids);
    },
    close() {},
  };
}

const releases = (...ids: readonly string[]): JournalItem[] =>
  ids.map((holdId) => ({ kind: "release", holdId }));

describe("a batch", () => {
  test("is one transaction for all that wait in a turn of the event loop", async () => {
    using folder = temporaryFolder();
    const sizes: number[] = [];
    const store = await openGatewayStore(folder.dir, systemClock, (inner) => ({
      write(items, rollUp) {
        if (items.length > 0) sizes.push(items.length);
        return inner.write(items, rollUp);
      },
      close: () => inner.close(),
    }));
    const key = keyRecord();
    await store.insertKey(key, 1_000);
    await Promise.all(Array.from({ length: 50 }, () => store.commit([settleItem(key.id, 2)])));
    expect(sizes).toEqual([50]);
    expect(store.stats).toMatchObject({ pendingItems: 0, failedBatches: 0 });
    expect(await store.readTotals(key.id)).toMatchObject({ posted: 900, requests: 50 });
    await store.close();
  });

  test("has a limit, so that a crowd does not stall the streams; all are written, in order, none torn apart", async () => {
    const writer = notingWriter();
    const journal = newJournal(writer);
    const ended: number[] = [];
    const pairs = Array.from({ length: 900 }, (_, index) => [`${index} first`, `${index} second`] as const);
    await Promise.all(
      pairs.map((pair, index) => journal.commit(releases(...pair)).then(() => ended.push(index))),
    );
    expect(writer.batches.flat()).toEqual(pairs.flat());
    expect(ended).toEqual(pairs.map((_, index) => index));
    for (const batch of writer.batches) {
      expect(batch.length).toBeLessThanOrEqual(512);
      expect(batch[0]).toEndWith("first");
      expect(batch.at(-1)).toEndWith("second");
    }
    await journal.close();
  });

  test("of those who come while a crowd is being written goes out behind it, in order", async () => {
    const writer = notingWriter();
    const gate = Promise.withResolvers<void>();
    const slow: BatchWriter = {
      async write(items, rollUp) {
        await gate.promise;
        await writer.write(items, rollUp);
      },
      close() {},
    };
    const journal = newJournal(slow);
    const early = Array.from({ length: 700 }, (_, index) => journal.commit(releases(`early ${index}`)));
    await nextTurn();
    await nextTurn();
    const late = Array.from({ length: 700 }, (_, index) => journal.commit(releases(`late ${index}`)));
    gate.resolve();
    await Promise.all([...early, ...late]);
    const expected = ["early", "late"].flatMap((who) => early.map((_, index) => `${who} ${index}`));
    expect(writer.batches.flat()).toEqual(expected);
    await journal.close();
  });

  test("may be a single commit that is larger than the limit", async () => {
    const writer = notingWriter();
    const journal = newJournal(writer);
    const ids = Array.from({ length: 600 }, (_, index) => String(index));
    await Promise.all([journal.commit(releases("before")), journal.commit(releases(...ids))]);
    expect(writer.batches).toEqual([["before"], ids]);
    await journal.close();
  });

  test.each([
    [7, false],
    [8, true],
  ])(
    "after one of %d items takes along who comes a turn later only in a crowd",
    async (first, isTogether) => {
      const writer = notingWriter();
      const journal = newJournal(writer);
      await journal.commit(releases(...Array.from({ length: first }, () => "first")));
      await nextTurn();
      const early = journal.commit(releases("early"));
      await nextTurn();
      await Promise.all([early, journal.commit(releases("late"))]);
      expect(writer.batches.slice(1)).toEqual(isTogether ? [["early", "late"]] : [["early"], ["late"]]);
      await journal.close();
    },
  );

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
    const journal = newJournal(new InlineWriter(database));
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
    const journal = newJournal(new InlineWriter(database), { stats });
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
    const journal = newJournal(new InlineWriter(database), { patienceAtCloseMs: 50 });
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

  test("does not wait forever for a disk that stays full", async () => {
    const writer: BatchWriter = {
      write() {
        throw new BatchFailure("full", "database or disk is full");
      },
      close() {},
    };
    const journal = newJournal(writer, { patienceAtCloseMs: 20 });
    const waiting = journal.commit([]);
    await Promise.all([journal.close(), expect(waiting).rejects.toThrow("full")]);
  });
});

test("a file that turns out to be damaged makes the store unhealthy for good", async () => {
  const writer: BatchWriter = {
    write() {
      throw new BatchFailure("damaged", "database disk image is malformed");
    },
    close() {
      throw new BatchFailure("damaged", "database disk image is malformed");
    },
  };
  const journal = newJournal(writer);
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
    const journal = newJournal(new InlineWriter(database), { stats, reserve });
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
  test("that lasts makes the store unhealthy, until it is gone", async () => {
    let isLocked = true;
    const writer: BatchWriter = {
      write() {
        if (isLocked) throw new BatchFailure("busy", "database is locked");
      },
      close() {},
    };
    const stats = newStats();
    const journal = newJournal(writer, { stats });
    const waiting = journal.commit([]);
    await waitFor(() => stats.failedBatches > 0, "the lock to be met");
    expect(journal.healthy).toBe(true);
    await waitFor(() => !journal.healthy, "the lock to last too long");
    expect(journal.trouble?.reason).toContain("locked by another program");
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
    await waitFor(() => store.stats.failedBatches > 0, "the lock to be met");
    expect(await store.readTotals(key.id)).toMatchObject({ posted: 1_000 });
    await both;
    expect(await store.readTotals(key.id)).toMatchObject({ posted: 1_043, used: 7, purchased: 1_050 });
    expect(store.stats.failedBatches).toBeGreaterThan(0);
    await other.exited;
    await store.close();
  });
});
