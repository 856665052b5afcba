import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../src/base/clock.ts";
import { restoreDatabase } from "../../../src/store/sqlite/files/restore.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { StoreError, type StoreErrorReason } from "../../../src/store/store.ts";
import { keyRecord, settleItem, temporaryFolder } from "../fixtures.ts";

const nowMs = Date.UTC(2026, 10, 15, 12);

function openGateway(dir: string) {
  return openSqliteStore({ dir, clock: systemClock, role: "gateway" });
}

async function reasonOf(call: () => Promise<unknown>): Promise<StoreErrorReason> {
  try {
    await call();
  } catch (error) {
    if (error instanceof StoreError) return error.reason;
    throw error;
  }
  throw new Error("was not refused");
}

describe("a backup", () => {
  test("is a whole copy, made while the gateway goes on charging", async () => {
    using folder = temporaryFolder();
    const gateway = await openGateway(folder.dir);
    const key = keyRecord();
    await gateway.insertKey(key, 1_000);
    await gateway.commit([settleItem(key.id, 100)]);
    const operator = await openSqliteStore({ dir: folder.dir, clock: systemClock, role: "operator" });
    const file = join(folder.dir, "copy.db");
    await Promise.all([operator.files.backup(file), gateway.commit([settleItem(key.id, 1)])]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const copy = new Database(file);
    expect(copy.query("SELECT posted FROM accounts").get()).toEqual({ posted: 900 });
    copy.close();
    expect(await gateway.readTotals(key.id)).toMatchObject({ posted: 899 });
    await operator.close();
    await gateway.close();
  });

  test("never overwrites a file, and leaves nothing half done", async () => {
    using folder = temporaryFolder();
    const store = await openGateway(folder.dir);
    const file = join(folder.dir, "copy.db");
    writeFileSync(file, "precious");
    await expect(store.files.backup(file)).rejects.toThrow("already exists");
    expect(await Bun.file(file).text()).toBe("precious");
    await expect(store.files.backup(join(folder.dir, "nowhere", "copy.db"))).rejects.toThrow();
    expect(existsSync(join(folder.dir, "nowhere"))).toBe(false);
    await store.close();
  });
});

describe("a restore", () => {
  test("brings the copy back, and keeps what it replaces", async () => {
    using folder = temporaryFolder();
    const first = await openGateway(folder.dir);
    const key = keyRecord();
    await first.insertKey(key, 1_000);
    const from = join(folder.dir, "copy.db");
    await first.files.backup(from);
    await first.commit([settleItem(key.id, 600)]);
    await first.close();
    const { replaced } = await restoreDatabase({ dir: folder.dir, from, nowMs });
    const restored = await openGateway(folder.dir);
    expect(await restored.readTotals(key.id)).toMatchObject({ posted: 1_000 });
    await restored.close();
    expect(replaced).toBe(join(folder.dir, "backups", "replaced-2026-11-15T12-00-00.000Z.db"));
    await restoreDatabase({ dir: folder.dir, from: replaced ?? "", nowMs: nowMs + 1 });
    const undone = await openGateway(folder.dir);
    expect(await undone.readTotals(key.id)).toMatchObject({ posted: 400 });
    await undone.close();
  });

  test("brings back what only the log of the copy holds, as after a crash", async () => {
    using folder = temporaryFolder();
    const running = await openGateway(join(folder.dir, "running"));
    const key = keyRecord();
    await running.insertKey(key, 1_000);
    await running.commit([settleItem(key.id, 600)]);
    const from = join(folder.dir, "crashed.db");
    for (const suffix of ["", "-wal"]) {
      copyFileSync(join(folder.dir, `running/sluice.db${suffix}`), from + suffix);
    }
    await running.close();
    const dir = join(folder.dir, "new");
    await restoreDatabase({ dir, from, nowMs });
    const restored = await openGateway(dir);
    expect(await restored.readTotals(key.id)).toMatchObject({ posted: 400 });
    await restored.close();
  });

  test("works into an empty folder, and in the place of a database that is damaged", async () => {
    using folder = temporaryFolder();
    const store = await openGateway(join(folder.dir, "old"));
    await store.insertKey(keyRecord(), 5);
    const from = join(folder.dir, "copy.db");
    await store.files.backup(from);
    await store.close();
    const dir = join(folder.dir, "new");
    expect(await restoreDatabase({ dir, from, nowMs })).toEqual({ replaced: null });
    writeFileSync(join(dir, "sluice.db"), "damaged beyond recognition".repeat(99));
    writeFileSync(join(dir, "sluice.db-wal"), "and so is its log");
    await restoreDatabase({ dir, from, nowMs });
    const restored = await openGateway(dir);
    expect((await restored.load()).keys).toHaveLength(1);
    await restored.close();
    const kept = "replaced-2026-11-15T12-00-00.000Z.db";
    expect(readdirSync(join(dir, "backups")).sort()).toEqual([kept, `${kept}-wal`]);
    expect(await Bun.file(join(dir, "backups", `${kept}-wal`)).text()).toBe("and so is its log");
  });

  test("is refused while a gateway runs", async () => {
    using folder = temporaryFolder();
    const store = await openGateway(folder.dir);
    const from = join(folder.dir, "copy.db");
    await store.files.backup(from);
    expect(await reasonOf(() => restoreDatabase({ dir: folder.dir, from, nowMs }))).toBe("in_use");
    await store.close();
  });

  test("refuses a file that is missing, foreign, damaged or from the future", async () => {
    using folder = temporaryFolder();
    const from = join(folder.dir, "copy.db");
    const restore = () => restoreDatabase({ dir: folder.dir, from, nowMs });
    expect(await reasonOf(restore)).toBe("not_a_database");
    writeFileSync(from, "not a database at all".repeat(99));
    expect(await reasonOf(restore)).toBe("not_a_database");
    const foreign = new Database(join(folder.dir, "foreign.db"));
    foreign.run("CREATE TABLE other (x)");
    foreign.close();
    expect(
      await reasonOf(() => restoreDatabase({ dir: folder.dir, from: join(folder.dir, "foreign.db"), nowMs })),
    ).toBe("not_a_database");
    const store = await openGateway(join(folder.dir, "data"));
    for (let count = 0; count < 100; count += 1) await store.insertKey(keyRecord(), 5);
    const good = join(folder.dir, "good.db");
    await store.files.backup(good);
    await store.close();
    const bytes = await Bun.file(good).bytes();
    bytes.fill(7, 4 * 4096, 20 * 4096);
    await Bun.write(from, bytes);
    expect(await reasonOf(restore)).toBe("corrupt");
    const future = new Database(good);
    future.run("PRAGMA user_version = 99");
    future.close();
    expect(await reasonOf(() => restoreDatabase({ dir: folder.dir, from: good, nowMs }))).toBe(
      "newer_schema",
    );
    expect(existsSync(join(folder.dir, "sluice.db"))).toBe(false);
  });
});
