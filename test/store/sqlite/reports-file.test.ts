import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { cpSync, existsSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../src/base/clock.ts";
import { openStore } from "../../../src/store/open.ts";
import type { Store } from "../../../src/store/store.ts";
import { summarizeUsage } from "../../support/usage.ts";
import { keyRecord, outcomeRecordOf, settleItem, temporaryFolder } from "../fixtures.ts";
import { openGatewayStore } from "./fixtures.ts";

const atMs = Date.UTC(2026, 10, 15, 12, 20);

async function totalsOf(store: Store) {
  const [{ requests, spendNano, rejected } = { requests: 0, spendNano: 0, rejected: 0 }] =
    await summarizeUsage(store, { by: "key", sinceMs: 0 });
  return { requests, spendNano, rejected };
}

/** A store with one key, one charge of 5 and three rejections, which a report has counted. */
async function countedStore(dir: string) {
  const store = await openGatewayStore(dir, systemClock);
  const key = keyRecord();
  await store.insertKey(key, 1_000_000);
  await store.commit([settleItem(key.id, 5, { atMs })]);
  await store.recordOutcomes([outcomeRecordOf(key.id, { atMs, alike: 2 })]);
  expect(await totalsOf(store)).toEqual({ requests: 1, spendNano: 5, rejected: 3 });
  return { store, key, charge: (nano: number) => store.commit([settleItem(key.id, nano, { atMs })]) };
}

test("a report includes a charge as soon as that is acknowledged", async () => {
  using folder = temporaryFolder();
  const { store, charge } = await countedStore(folder.dir);
  for (let count = 1; count <= 20; count += 1) {
    await charge(1);
    expect((await totalsOf(store)).spendNano).toBe(5 + count);
  }
  await store.close();
});

function removeWithLog(file: string): void {
  for (const end of ["", "-wal", "-shm"]) rmSync(file + end, { force: true });
}

const damages: readonly (readonly [string, (file: string) => void])[] = [
  ["was deleted", (file) => rmSync(file)],
  ["was deleted with its log", removeWithLog],
  [
    "was replaced by something else",
    (file) => {
      rmSync(file);
      writeFileSync(file, "not a database, ".repeat(1_000));
    },
  ],
  [
    "was emptied",
    (file) => {
      rmSync(`${file}-wal`, { force: true });
      truncateSync(file);
    },
  ],
];

test.each(damages)(
  "reports are computed again while the gateway runs if their file %s",
  async (_name, damage) => {
    using folder = temporaryFolder();
    const { store, charge } = await countedStore(folder.dir);
    damage(join(folder.dir, "reports.db"));
    await charge(2);
    expect(await totalsOf(store)).toEqual({ requests: 2, spendNano: 7, rejected: 3 });
    await store.close();
    const again = await openGatewayStore(folder.dir, systemClock);
    expect(await totalsOf(again)).toEqual({ requests: 2, spendNano: 7, rejected: 3 });
    await again.close();
  },
);

test("pages of the file that are overwritten lead to a new one", async () => {
  using folder = temporaryFolder();
  const { store } = await countedStore(folder.dir);
  await store.close();
  const file = join(folder.dir, "reports.db");
  using database = new Database(file);
  database.run("PRAGMA journal_mode = delete");
  const bytes = new Uint8Array(await Bun.file(file).arrayBuffer());
  writeFileSync(file, bytes.fill(0xff, 4096));
  const again = await openGatewayStore(folder.dir, systemClock);
  expect(await totalsOf(again)).toEqual({ requests: 1, spendNano: 5, rejected: 3 });
  await again.close();
});

test("what retention has deleted is counted after the totals are computed again", async () => {
  using folder = temporaryFolder();
  const { store, key } = await countedStore(folder.dir);
  const failed = { atMs, outcome: "failed", status: 502, totalMs: 40 } as const;
  await store.recordOutcomes([
    outcomeRecordOf(key.id, failed),
    outcomeRecordOf(key.id, { ...failed, totalMs: 80_000 }),
  ]);
  const range = { sinceMs: 0, untilMs: Number.MAX_SAFE_INTEGER - 807 };
  const reported = async (from: Store) => [
    await from.reports.usagePage(["model", "provider"], { ...range, order: "name", skip: 0, limit: 9 }),
    await from.reports.latencyInSteps({ ...range, stepMs: 3_600_000 }),
  ];
  const before = await reported(store);
  expect(await store.pruneRequestLog({ beforeMs: atMs + 1, keep: 100, limit: 100 })).toBe(3);
  expect((await store.reports.requestLogSize()).count).toBe(0);
  expect(await reported(store)).toEqual(before);
  rmSync(join(folder.dir, "reports.db"));
  expect(await reported(store)).toEqual(before);
  await store.recordOutcomes([outcomeRecordOf(key.id, { atMs })]);
  expect((await totalsOf(store)).rejected).toBe(4);
  await store.close();
});

test("rows that retention deletes before a report has counted them are not lost", async () => {
  using folder = temporaryFolder();
  const { store, key } = await countedStore(folder.dir);
  await store.close();
  // A process without reports of its own deletes them.
  const other = await openStore({ dir: folder.dir, clock: systemClock, role: "gateway" });
  await other.recordOutcomes([outcomeRecordOf(key.id, { atMs })]);
  const kept = join(folder.dir, "kept.db");
  cpSync(join(folder.dir, "reports.db"), kept);
  expect(await other.pruneRequestLog({ beforeMs: atMs + 1, keep: 100, limit: 100 })).toBe(2);
  await other.close();
  // As if the totals had not included the second one.
  removeWithLog(join(folder.dir, "reports.db"));
  cpSync(kept, join(folder.dir, "reports.db"));
  const again = await openGatewayStore(folder.dir, systemClock);
  expect((await totalsOf(again)).rejected).toBe(4);
  await again.close();
});

test("another ledger in the same place gets totals of its own", async () => {
  using folder = temporaryFolder();
  using backup = temporaryFolder();
  const { store, charge } = await countedStore(folder.dir);
  await store.files.backup(join(backup.dir, "copy.db"));
  await charge(100);
  expect((await totalsOf(store)).spendNano).toBe(105);
  await store.close();
  removeWithLog(join(folder.dir, "sluice.db"));
  cpSync(join(backup.dir, "copy.db"), join(folder.dir, "sluice.db"));
  const restored = await openGatewayStore(folder.dir, systemClock);
  const [key] = (await restored.listKeys({ limit: 1 })).keys;
  await restored.commit([settleItem(key?.id ?? "", 7, { atMs })]);
  await restored.commit([settleItem(key?.id ?? "", 8, { atMs })]);
  expect((await totalsOf(restored)).spendNano).toBe(20);
  await restored.close();
});

test("a gateway and commands fold the same file, and each is exact", async () => {
  using folder = temporaryFolder();
  const { store, charge } = await countedStore(folder.dir);
  const commands = [1, 2].map(() => openStore({ dir: folder.dir, clock: systemClock, role: "operator" }));
  const readers = [store, ...(await Promise.all(commands))];
  for (let count = 1; count <= 15; count += 1) {
    await charge(1);
    const found = await Promise.all(readers.map(totalsOf));
    expect(found.map(({ spendNano }) => spendNano)).toEqual([5 + count, 5 + count, 5 + count]);
  }
  for (const reader of readers) await reader.close();
});

test("a process that is killed while it folds leaves totals that are right", async () => {
  using folder = temporaryFolder();
  const { store, charge } = await countedStore(folder.dir);
  const module = join(import.meta.dir, "../../../src/store/sqlite/reports/reports-file.ts");
  const file = join(folder.dir, "reports.db");
  const program = `import { rmSync } from "node:fs";
    import { ReportsFile } from ${JSON.stringify(module)};
    console.log("folding");
    for (;;) { rmSync(${JSON.stringify(file)}, { force: true }); new ReportsFile(${JSON.stringify(folder.dir)}).fold(); }`;
  for (let round = 1; round <= 5; round += 1) {
    const child = Bun.spawn([process.execPath, "-e", program], { stdout: "pipe" });
    await child.stdout.getReader().read();
    await charge(1);
    child.kill("SIGKILL");
    await child.exited;
    expect((await totalsOf(store)).spendNano).toBe(5 + round);
  }
  await store.close();
  expect(existsSync(file)).toBe(true);
});
