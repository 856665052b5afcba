import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../src/base/clock.ts";
import { dataFolder } from "../../../src/store/sqlite/files/folder.ts";
import {
  beginNewLedger,
  finishRestore,
  rejectMissingLedger,
} from "../../../src/store/sqlite/files/missing-ledger.ts";
import { restoreDatabase } from "../../../src/store/sqlite/files/restore.ts";
import { openSqliteStore } from "../../../src/store/sqlite/open.ts";
import { keyRecord, settleItem, temporaryFolder } from "../fixtures.ts";
import { openGatewayStore } from "./fixtures.ts";

/** In one file, because it is started again and again. */
const scripts = temporaryFolder();
const script = join(scripts.dir, "restoring-process.js");
beforeAll(async () => {
  const source = new URL("./restoring-process.ts", import.meta.url).pathname;
  await Bun.build({ entrypoints: [source], outdir: scripts.dir, target: "bun" });
});
afterAll(() => scripts[Symbol.dispose]());
const nowMs = Date.UTC(2026, 10, 15);
/** Every way in which the procedure changes the folder or waits for the disk. */
const steps = ["rename", "link", "unlink", "fsync", "mkdir", "ftruncate", "chmod", "pwrite64"];
/** SQLite writes page by page; in the common run every fifth page does. */
const stride = (call: string) => (call === "pwrite64" && process.env["SLUICE_SOAK"] !== "1" ? 5 : 1);

/** What a ledger says: its balance, or that it is not there. */
function balanceIn(file: string): number | null {
  if (!existsSync(file)) return null;
  const database = new Database(file);
  try {
    return database.query<{ posted: number }, []>("SELECT posted FROM accounts").get()?.posted ?? null;
  } finally {
    database.close();
  }
}

/** A folder as a crashed gateway leaves it, with charges only in the log (400), and a backup from before them (1,000). */
async function crashedFolder(dir: string): Promise<{ data: string; copy: string }> {
  const [live, data, copy] = [join(dir, "live"), join(dir, "data"), join(dir, "copy.db")];
  const store = await openGatewayStore(live, systemClock);
  const key = keyRecord();
  await store.insertKey(key, 1_000);
  await store.files.backup(copy);
  await store.commit([settleItem(key.id, 600)]);
  cpSync(live, data, { recursive: true });
  await store.close();
  return { data, copy };
}

/** Kills the restore when it makes this system call for the n-th time; false when it never did and has finished. */
function restoreKilledAt(call: string, nth: number, data: string, copy: string): boolean {
  const kill = `inject=/^${call}(at2?)?$:signal=SIGKILL:when=${nth}`;
  const child = Bun.spawnSync(
    ["strace", "-f", "-qq", "-o", "/dev/null", "-e", kill, process.execPath, script, data, copy],
    { stderr: "pipe" },
  );
  if (child.exitCode === 0) return false;
  if (child.signalCode === "SIGKILL" || child.exitCode === 137) return true;
  throw new Error(`the restore failed by itself: ${child.stderr.toString()}`);
}

const hasStrace = Bun.which("strace") !== null;
if (!hasStrace) console.warn("SKIPPED: there is no strace here to kill a restore at each of its steps");

test.skipIf(!hasStrace).each(steps)(
  "a restore killed at any %s loses neither ledger, and the next start says which one is in place",
  async (call) => {
    using folder = temporaryFolder();
    const { data: crashed, copy } = await crashedFolder(folder.dir);
    for (let nth = 1; ; nth += stride(call)) {
      const data = join(folder.dir, `data-${nth}`);
      cpSync(crashed, data, { recursive: true });
      const isKilled = restoreKilledAt(call, nth, data, copy);
      const said = await finishRestore(data, nowMs + 1);
      const store = await openSqliteStore({ dir: data, clock: systemClock, role: "gateway" });
      const [account] = (await store.load()).accountTotals;
      await store.close();
      expect([400, 1_000]).toContain(account?.posted ?? 0);
      const backups = join(data, "backups");
      const kept = existsSync(backups) ? readdirSync(backups).filter((name) => name.endsWith(".db")) : [];
      if (account?.posted === 1_000)
        expect(kept.map((name) => balanceIn(join(backups, name)))).toEqual([400]);
      if (account?.posted === 400) expect(isKilled).toBe(true);
      if (said !== null) expect(said).toContain("interrupted");
      // SQLite leaves a journal that was never filled where it is; it is empty or void.
      const left = readdirSync(data).filter(
        (name) => name.startsWith("sluice.db") && !name.endsWith("-journal"),
      );
      expect(left).toEqual(["sluice.db"]);
      await restoreDatabase({ dir: data, from: copy, nowMs: nowMs + 2 });
      expect(balanceIn(join(data, "sluice.db"))).toBe(1_000);
      if (isKilled) continue;
      expect(nth).toBeGreaterThan(1);
      break;
    }
  },
  120_000,
);

test("a folder in which a restore into nothing was interrupted is not new: the start finishes it", async () => {
  using folder = temporaryFolder();
  const { copy } = await crashedFolder(folder.dir);
  const dir = join(folder.dir, "new");
  await restoreDatabase({ dir, from: copy, nowMs });
  cpSync(join(dir, "sluice.db"), join(dir, "sluice.db.incoming"));
  for (const left of [null, ""]) {
    const interrupted = join(folder.dir, `interrupted-${left === null}`);
    cpSync(dir, interrupted, { recursive: true, filter: (source) => !source.endsWith("sluice.db") });
    if (left !== null) writeFileSync(join(interrupted, "sluice.db"), left);
    const opening = openSqliteStore({ dir: interrupted, clock: systemClock, role: "operator" });
    await expect(opening).rejects.toThrow("interrupted");
    expect(await finishRestore(interrupted, nowMs)).toContain("finished an interrupted restore");
    expect(balanceIn(join(interrupted, "sluice.db"))).toBe(1_000);
  }
});

test("a folder that has lost its database is never begun anew", async () => {
  using folder = temporaryFolder();
  const { data, copy } = await crashedFolder(folder.dir);
  await restoreDatabase({ dir: data, from: copy, nowMs });
  const lost = join(folder.dir, "lost");
  cpSync(data, lost, { recursive: true, filter: (source) => !source.includes("sluice.db") });
  const open = () => openSqliteStore({ dir: lost, clock: systemClock, role: "gateway" });
  await expect(open()).rejects.toThrow(/sluice\.db is missing.*sluice restore .*replaced-2026-11-15/s);
  writeFileSync(join(lost, "sluice.db-wal"), "the last charges");
  await expect(open()).rejects.toThrow("write-ahead log");
  expect(existsSync(join(lost, "sluice.db"))).toBe(false);
  const [kept = ""] = readdirSync(join(lost, "backups"));
  await restoreDatabase({ dir: lost, from: join(lost, "backups", kept), nowMs: nowMs + 1 });
  expect(balanceIn(join(lost, "sluice.db"))).toBe(400);
  expect(() => rejectMissingLedger(dataFolder(join(folder.dir, "brand-new")))).not.toThrow();
});

const traces = ["reports.db", "sluice.reserve", "served.json", "content.db"];

test.each(traces)(
  "a folder that has %s had a ledger, and starts over only if it is told to",
  async (trace) => {
    using folder = temporaryFolder();
    const { dir } = folder;
    writeFileSync(join(dir, trace), "{}");
    const open = () => openSqliteStore({ dir, clock: systemClock, role: "gateway" });
    for (const state of ["is missing", "is empty"]) {
      await expect(open()).rejects.toThrow(
        new RegExp(
          `sluice\\.db ${state}, .*${trace} is .*sluice restore FILE.*sluice serve --new-ledger`,
          "s",
        ),
      );
      expect(existsSync(join(dir, "sluice.db"))).toBe(state === "is empty");
      writeFileSync(join(dir, "sluice.db"), "");
    }
    await beginNewLedger(dir, nowMs);
    await expect(beginNewLedger(dir, nowMs)).rejects.toThrow("has a ledger, so nothing was changed");
    const store = await open();
    expect((await store.load()).accounts).toEqual([]);
    await store.close();
  },
);

test("a folder whose gateway had its data in PostgreSQL has lost no ledger", async () => {
  using folder = temporaryFolder();
  writeFileSync(join(folder.dir, "served.json"), '{"store":"postgres://db/sluice"}');
  expect(() => rejectMissingLedger(dataFolder(folder.dir))).not.toThrow();
});

test("charges whose database is missing are not given up for a new ledger", async () => {
  using folder = temporaryFolder();
  writeFileSync(join(folder.dir, "sluice.db-wal"), "the last charges");
  await expect(beginNewLedger(folder.dir, nowMs)).rejects.toThrow("write-ahead log");
});
