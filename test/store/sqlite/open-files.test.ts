import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { $ } from "bun";
import { systemClock } from "../../../src/base/clock.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import type { SqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import type { KeyRecord } from "../../../src/store/store.ts";
import { waitFor } from "../../support/wait.ts";
import { keyRecord, settleItem, temporaryFolder } from "../fixtures.ts";

/** A gateway's store in `dir/data` with a key that has 1,000 and one charge of 100. */
async function openCharged(
  dir: string,
): Promise<{ store: SqliteStore; key: KeyRecord; file: string; data: string }> {
  const data = join(dir, "data");
  const store = await openSqliteStore({ dir: data, clock: systemClock, role: "gateway" });
  const key = keyRecord();
  await store.insertKey(key, 1_000);
  await store.commit([settleItem(key.id, 100)]);
  return { store, key, data, file: join(data, "sluice.db") };
}

function postedIn(file: string): unknown {
  const database = new Database(file);
  try {
    return database.query("SELECT posted FROM accounts").get();
  } finally {
    database.close();
  }
}

/** Opens the store of the folder that it is given as another gateway. */
const opening = `
  const { openSqliteStore } = await import(${JSON.stringify(import.meta.resolve("../../../src/store/sqlite/open.ts"))});
  const { systemClock } = await import(${JSON.stringify(import.meta.resolve("../../../src/base/clock.ts"))});
  await openSqliteStore({ dir: process.argv.at(-1), clock: systemClock, role: "gateway" });
  process.exit();
`;

const isNoticed = (store: SqliteStore) => waitFor(() => !store.healthy, "the loss to be noticed", 5_000);

/** Each takes the ledger away from under a running gateway in another way. */
const losses: readonly (readonly [string, (file: string, data: string) => void])[] = [
  ["removed with its log", (file) => ["", "-wal", "-shm"].forEach((suffix) => void rmSync(file + suffix))],
  ["removed alone", (file) => rmSync(file)],
  ["moved away", (file, data) => renameSync(file, join(data, "elsewhere.db"))],
  [
    "in a folder that was replaced",
    (_file, data) => {
      renameSync(data, `${data}-before`);
      mkdirSync(data);
    },
  ],
];

// Each waits for a look that comes once a second.
describe.concurrent("a database that is", () => {
  test.each(losses)("%s takes no new work; what runs is charged and can be restored", async (_how, lose) => {
    using folder = temporaryFolder();
    const { store, key, file, data } = await openCharged(folder.dir);
    expect(store.problem).toBeNull();
    lose(file, data);
    await isNoticed(store);
    expect(store.problem?.reason).toMatch(/^sluice\.db was removed/);
    expect(store.problem?.advice).toContain("still open");
    await store.commit([settleItem(key.id, 200)]);
    expect(await store.readTotals(key.id)).toMatchObject({ posted: 700 });
    await store.close();
    expect(store.unwritten).toEqual([]);
    const rescued = store.files.rescuedTo ?? "";
    expect(rescued).toStartWith(join(data, "backups", "rescued-"));
    expect(statSync(rescued).mode & 0o777).toBe(0o600);
    expect(postedIn(rescued)).toEqual({ posted: 700 });
    expect(existsSync(file)).toBe(false);
  });

  test("replaced by another one is noticed, and its log is never applied to the other", async () => {
    using folder = temporaryFolder();
    const { store, key, file } = await openCharged(folder.dir);
    const other = await openCharged(join(folder.dir, "other"));
    await other.store.commit([settleItem(other.key.id, 900)]);
    await other.store.close();
    copyFileSync(other.file, `${file}.new`);
    renameSync(`${file}.new`, file);
    await isNoticed(store);
    expect(store.problem?.reason).toContain("sluice.db was replaced by another file");
    expect(existsSync(`${file}-wal`)).toBe(false);
    await store.commit([settleItem(key.id, 200)]);
    await store.close();
    expect(postedIn(store.files.rescuedTo ?? "")).toEqual({ posted: 700 });
    expect(postedIn(file)).toEqual({ posted: 0 });
  });

  test.each(["-wal", "-shm"])(
    "without its %s takes no new work, and is whole after a stop",
    async (suffix) => {
      using folder = temporaryFolder();
      const { store, key, file } = await openCharged(folder.dir);
      rmSync(file + suffix);
      await isNoticed(store);
      await store.commit([settleItem(key.id, 200)]);
      await store.close();
      expect(store.files.rescuedTo).toBeNull();
      expect(postedIn(file)).toEqual({ posted: 700 });
    },
  );

  test("put back is taken for what it is", async () => {
    using folder = temporaryFolder();
    const { store, key, file } = await openCharged(folder.dir);
    renameSync(file, `${file}.away`);
    await isNoticed(store);
    renameSync(`${file}.away`, file);
    await waitFor(() => store.healthy, "the file to be noticed", 5_000);
    await store.commit([settleItem(key.id, 200)]);
    await store.close();
    expect(store.files.rescuedTo).toBeNull();
    expect(postedIn(file)).toEqual({ posted: 700 });
  });
});

describe("a lock file that is removed", () => {
  test("takes no new work, since on some file systems a second gateway could start beside this one", async () => {
    using folder = temporaryFolder();
    const { store, data } = await openCharged(folder.dir);
    rmSync(join(data, "sluice.lock"));
    await isNoticed(store);
    expect(store.problem?.reason).toContain("sluice.lock was removed");
    await store.close();
  });

  test("lets no second gateway start, in this process or another, until the first has closed", async () => {
    using folder = temporaryFolder();
    const { store, data } = await openCharged(folder.dir);
    // Children of the gateway must not keep the lock.
    await using child = Bun.spawn(["sleep", "60"]);
    const open = () => openSqliteStore({ dir: data, clock: systemClock, role: "gateway" });
    rmSync(join(data, "sluice.lock"));
    await expect(open()).rejects.toThrow("in use by a running gateway");
    rmSync(join(data, "sluice.lock"), { force: true });
    const other = await $`${process.execPath} -e ${opening} ${data}`.quiet().nothrow();
    expect(other.stderr.toString()).toContain("in use by a running gateway");
    await store.close();
    expect(child.exitCode).toBeNull();
    await (await open()).close();
  });
});
