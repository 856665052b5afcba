import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { closeSync, copyFileSync, openSync, readFileSync, statSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { findLogDamage } from "../../../src/store/sqlite/log/log-damage.ts";
import { temporaryFolder } from "../fixtures.ts";

const pageBytes = 4_096;
const frameBytes = 24 + pageBytes;

/** A log of transactions of one row each, as a killed process leaves it. */
function killedLog(dir: string, transactions: number, pages = 0): string {
  const file = join(dir, "open.db");
  const database = new Database(file);
  database.run("PRAGMA journal_mode = wal");
  database.run("PRAGMA wal_autocheckpoint = 0");
  database.run("CREATE TABLE entries (id INTEGER PRIMARY KEY, text TEXT)");
  for (let id = 1; id <= transactions; id += 1)
    database.run("INSERT INTO entries VALUES (?, ?)", [id, "x".repeat(500 + pages * pageBytes)]);
  const copy = join(dir, `killed-${transactions}.db`);
  for (const suffix of ["", "-wal"]) copyFileSync(file + suffix, copy + suffix);
  database.close();
  return copy;
}

function overwrite(file: string, at: number, bytes: number[] | Uint8Array): void {
  const descriptor = openSync(file, "r+");
  writeSync(descriptor, Uint8Array.from(bytes), 0, bytes.length, at);
  closeSync(descriptor);
}

const rowsIn = (file: string) => {
  using database = new Database(file);
  return database.query<{ rows: number }, []>("SELECT count(*) AS rows FROM entries").get()?.rows;
};

test.each([
  ["its page", 24 + 100],
  ["its checksum", 16],
  ["its salt", 8],
])(
  "a frame damaged in %s is found by the transactions behind it, which SQLite drops without a word",
  (_, at) => {
    using folder = temporaryFolder();
    const file = killedLog(folder.dir, 20);
    const frames = (statSync(`${file}-wal`).size - 32) / frameBytes;
    expect(findLogDamage(`${file}-wal`)).toBeNull();
    overwrite(`${file}-wal`, 32 + 9 * frameBytes + at, [0xff, 0xfe]);
    const damage = findLogDamage(`${file}-wal`);
    expect(damage?.frame).toBe(10);
    expect(damage?.transactions).toBeGreaterThan(5);
    expect(damage?.transactions).toBeLessThan(frames - 9 + 1);
    expect(rowsIn(file)).toBeLessThan(20);
  },
);

test("a damaged header of the log is found", () => {
  using folder = temporaryFolder();
  const file = killedLog(folder.dir, 20);
  overwrite(`${file}-wal`, 13, [0xff]);
  expect(findLogDamage(`${file}-wal`)).toMatchObject({ frame: 1 });
});

test("a log that ends in the middle of a transaction, or has one of an earlier log behind it, is not damaged", () => {
  using folder = temporaryFolder();
  const file = killedLog(folder.dir, 20);
  const wal = readFileSync(`${file}-wal`);
  for (const cut of [1, frameBytes - 1, frameBytes + 7]) {
    writeFileSync(`${file}-wal`, wal.subarray(0, -cut));
    expect(findLogDamage(`${file}-wal`)).toBeNull();
  }
  // The last frame was only half written.
  writeFileSync(`${file}-wal`, wal);
  overwrite(`${file}-wal`, wal.length - 2_000, new Uint8Array(2_000));
  expect(findLogDamage(`${file}-wal`)).toBeNull();
  using database = new Database(file);
  database.run("PRAGMA wal_checkpoint(RESTART)");
  database.run("INSERT INTO entries VALUES (100, 'after')");
  expect(findLogDamage(`${file}-wal`)).toBeNull();
});

test("a last transaction of which a power cut has lost any frame is not damage: it was not acknowledged", () => {
  using folder = temporaryFolder();
  const file = killedLog(folder.dir, 3, 20);
  const { size } = statSync(`${file}-wal`);
  const frames = (size - 32) / frameBytes;
  const wal = readFileSync(`${file}-wal`);
  for (let lost = frames - 5; lost < frames; lost += 1) {
    writeFileSync(`${file}-wal`, wal);
    overwrite(`${file}-wal`, 32 + lost * frameBytes, new Uint8Array(frameBytes));
    expect([lost, findLogDamage(`${file}-wal`)]).toEqual([lost, null]);
  }
});

test("a log that is empty, missing or something else is not damaged", () => {
  using folder = temporaryFolder();
  const file = join(folder.dir, "log-wal");
  expect(findLogDamage(file)).toBeNull();
  for (const text of ["", "something else ".repeat(1_000)]) {
    writeFileSync(file, text);
    expect(findLogDamage(file)).toBeNull();
  }
});
