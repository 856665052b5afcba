import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import {
  closeSync,
  cpSync,
  existsSync,
  openSync,
  readdirSync,
  statSync,
  utimesSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { backUp } from "../../../src/admin/system/back-up.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { restoreDatabase } from "../../../src/store/sqlite/files/restore.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { keyRecord, settleItem, temporaryFolder } from "../fixtures.ts";
import { openGatewayStore } from "./fixtures.ts";

/** Adds 20 MB to a table that no start reads. */
function makeLarge(file: string): void {
  using database = new Database(file);
  const insert = database.query(
    "INSERT INTO audit_log (at_ms, actor, address, action, target, detail) VALUES (1, 'a', 'b', 'c', 'd', ?)",
  );
  database.transaction(() => {
    for (let row = 0; row < 5_000; row += 1) insert.run("x".repeat(4_000));
  })();
}

const frameBytes = 24 + 4_096;
const charges = 16;

function damage(file: string, at: number): void {
  const descriptor = openSync(file, "r+");
  writeSync(descriptor, Uint8Array.of(0xde, 0xad), 0, 2, at);
  closeSync(descriptor);
}

/** The folder of a gateway that was killed after its charges had been acknowledged, and a backup from before them. */
async function killedFolder(folder: string) {
  const live = join(folder, "live");
  const store = await openGatewayStore(live, systemClock);
  const key = keyRecord();
  await store.insertKey(key, 1_000);
  const backup = join(folder, "backup.db");
  await store.files.backup(backup);
  const sizeBefore = statSync(join(live, "sluice.db-wal")).size;
  for (let charge = 0; charge < charges; charge += 1)
    await store.commit([settleItem(key.id, 1, { atMs: systemClock.wallMs() })]);
  const dir = join(folder, "killed");
  cpSync(live, dir, { recursive: true, filter: (source) => !source.endsWith(".sock") });
  await store.close();
  return { dir, backup, sizeBefore };
}

const entriesIn = async (dir: string) => {
  await using opened = new AsyncDisposableStack();
  const store = await openSqliteStore({ dir, clock: systemClock, role: "gateway" });
  opened.defer(() => store.close());
  const entries = await store.listEntries({ afterId: 0, limit: 100 });
  return { damage: store.files.damage, entries: entries.length };
};

test.each(["gateway", "operator"] as const)(
  "a log that lost acknowledged charges to a damaged frame is reported from the first opening on, by a %s, until a backup is restored",
  async (role) => {
    using folder = temporaryFolder();
    const { dir, backup, sizeBefore } = await killedFolder(folder.dir);
    damage(join(dir, "sluice.db-wal"), sizeBefore + 3 * frameBytes + 500);
    const first = await openSqliteStore({ dir, clock: systemClock, role });
    expect(first.files.damage?.text).toMatch(
      /log was damaged at frame \d+, and \d+ transactions after it .*sluice restore FILE.*sluice\.log-damaged/s,
    );
    await first.close();
    const later = await entriesIn(dir);
    expect(later.entries).toBeLessThan(1 + charges);
    expect(later.damage?.text).toContain("acknowledged charges may be missing");
    expect(readdirSync(join(dir, "backups")).filter((name) => name.startsWith("damaged-log-"))).toHaveLength(
      1,
    );
    await restoreDatabase({ dir, from: backup, nowMs: systemClock.wallMs() });
    expect(await entriesIn(dir)).toEqual({ damage: null, entries: 1 });
  },
);

test("the log of a killed gateway is not damaged, and all its charges are there", async () => {
  using folder = temporaryFolder();
  const { dir } = await killedFolder(folder.dir);
  expect(await entriesIn(dir)).toEqual({ damage: null, entries: 1 + charges });
  expect(existsSync(join(dir, "sluice.log-damaged"))).toBe(false);
});

test("damage of a large database is found by a backup, which is not written, and within a week by the gateway", async () => {
  using folder = temporaryFolder();
  const { dir } = folder;
  const store = await openGatewayStore(dir, systemClock);
  await store.insertKey(keyRecord(), 1_000);
  const nowMs = systemClock.wallMs();
  // A small one is checked at every start.
  await store.files.checkIfDue(nowMs);
  expect(existsSync(join(dir, "sluice.checked"))).toBe(false);
  await store.close();
  const file = join(dir, "sluice.db");
  makeLarge(file);
  const whole = await openGatewayStore(dir, systemClock);
  await whole.files.checkIfDue(nowMs);
  expect(whole.files.damage).toBeNull();
  await whole.close();
  damage(file, statSync(file).size - 10 * 4_096);
  damage(file, statSync(file).size - 20 * 4_096);
  const damaged = await openGatewayStore(dir, systemClock);
  await damaged.files.checkIfDue(nowMs);
  expect(damaged.files.damage).toBeNull();
  const weekAgo = new Date(nowMs - 8 * 24 * 60 * 60_000);
  utimesSync(join(dir, "sluice.checked"), weekAgo, weekAgo);
  await damaged.files.checkIfDue(nowMs);
  expect(damaged.files.damage?.text).toMatch(/sluice\.db is damaged \(.+\).*sluice restore FILE/);
  const copy = join(dir, "copy.db");
  await expect(backUp({ store: damaged, clock: systemClock }, copy)).rejects.toThrow("is damaged");
  expect(existsSync(copy)).toBe(false);
  await damaged.close();
});
