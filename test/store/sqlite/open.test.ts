import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { closeSync, mkdirSync, openSync, readFileSync, statSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../src/base/clock.ts";
import type { StoreSettings } from "../../../src/store/settings.ts";
import { openConnection, readPragma } from "../../../src/store/sqlite/connection.ts";
import { migrations } from "../../../src/store/sqlite/migrate.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { StoreError } from "../../../src/store/store.ts";
import { keyRecord, temporaryFolder } from "../fixtures.ts";

function open(dir: string, role: StoreSettings["role"] = "gateway") {
  return openSqliteStore({ dir, clock: systemClock, role });
}

async function refusalOf(opening: Promise<unknown>): Promise<StoreError> {
  const outcome = await opening.catch((error: unknown) => error);
  if (outcome instanceof StoreError) return outcome;
  throw new Error(`was not refused: ${String(outcome)}`);
}

describe("opening", () => {
  test("an empty folder makes everything, readable for the owner only", async () => {
    using folder = temporaryFolder();
    const dir = join(folder.dir, "deep", "data");
    const store = await open(dir);
    await store.insertKey(keyRecord(), 5);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    for (const name of ["sluice.db", "sluice.db-wal", "sluice.lock", "sluice.reserve"]) {
      expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600);
    }
    await store.close();
    expect(readPragma(new Database(join(dir, "sluice.db")), "user_version")).toBe(migrations.length);
  });

  test("reads back the settings that durability rests on", () => {
    using folder = temporaryFolder();
    const database = openConnection(join(folder.dir, "x.db"), { busyTimeoutMs: 10 });
    const settings = ["journal_mode", "synchronous", "foreign_keys", "busy_timeout"];
    expect(settings.map((name) => readPragma(database, name))).toEqual(["wal", 2, 1, 10]);
    database.close();
    // A gateway syncs the log itself, and makes its own checkpoints.
    const gateway = openConnection(join(folder.dir, "x.db"), { busyTimeoutMs: 10, isSyncedByLog: true });
    const expected = ["wal", 1, 0];
    const names = ["journal_mode", "synchronous", "wal_autocheckpoint"];
    expect(names.map((name) => readPragma(gateway, name))).toEqual(expected);
    gateway.close();
  });

  test("fails when a setting does not hold, as a log beside the file cannot in memory", () => {
    expect(() => openConnection(":memory:", { busyTimeoutMs: 10 })).toThrow("rejected journal_mode = wal");
  });
});

describe("one folder", () => {
  test("has one gateway; the second is refused, and may come when the first has gone", async () => {
    using folder = temporaryFolder();
    const first = await open(folder.dir);
    const refusal = await refusalOf(open(folder.dir));
    expect(refusal.reason).toBe("in_use");
    await first.close();
    await (await open(folder.dir)).close();
  });

  test("has as many operators as there are, beside the gateway; they cannot charge", async () => {
    using folder = temporaryFolder();
    const gateway = await open(folder.dir);
    const operators = await Promise.all([open(folder.dir, "operator"), open(folder.dir, "operator")]);
    for (const operator of operators) {
      await operator.insertKey(keyRecord(), 5);
      await expect(operator.commit([])).rejects.toThrow("Only the gateway");
      expect(operator.healthy).toBe(true);
    }
    expect((await gateway.load()).accounts).toHaveLength(2);
    for (const store of [...operators, gateway]) await store.close();
  });

  test("is not left locked by a gateway that failed to open", async () => {
    using folder = temporaryFolder();
    writeFileSync(join(folder.dir, "sluice.db"), "this is not a database".repeat(100));
    await refusalOf(open(folder.dir));
    writeFileSync(join(folder.dir, "sluice.db"), "");
    await (await open(folder.dir)).close();
  });
});

describe("a damaged database", () => {
  test("is refused, untouched, with the way out in the message", async () => {
    using folder = temporaryFolder();
    const store = await open(folder.dir);
    for (let count = 0; count < 200; count += 1) await store.insertKey(keyRecord(), 5);
    await store.close();
    const file = join(folder.dir, "sluice.db");
    const descriptor = openSync(file, "r+");
    for (let page = 4; page < 20; page += 1)
      writeSync(descriptor, new Uint8Array(2048).fill(7), 0, 2048, page * 4096);
    closeSync(descriptor);
    const before = readFileSync(file);
    const refusal = await refusalOf(open(folder.dir));
    expect(refusal.reason).toBe("corrupt");
    expect(refusal.message).toContain("sluice restore");
    expect(readFileSync(file)).toEqual(before);
  });

  test("is refused as well when it is no database at all", async () => {
    using folder = temporaryFolder();
    mkdirSync(folder.dir, { recursive: true });
    writeFileSync(join(folder.dir, "sluice.db"), "this is not a database".repeat(100));
    expect((await refusalOf(open(folder.dir, "operator"))).reason).toBe("corrupt");
  });
});

test("a database from the future is refused with a clear message", async () => {
  using folder = temporaryFolder();
  await (await open(folder.dir)).close();
  const database = new Database(join(folder.dir, "sluice.db"));
  database.run("PRAGMA user_version = 99");
  database.close();
  const refusal = await refusalOf(open(folder.dir));
  expect(refusal.reason).toBe("newer_schema");
  expect(refusal.message).toContain("newer Sluice (schema 99;");
});
