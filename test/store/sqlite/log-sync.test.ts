import { afterEach, describe, expect, test } from "bun:test";
import { closeSync, openSync, readdirSync, readlinkSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { LogSync } from "../../../src/store/sqlite/log/log-sync.ts";
import { temporaryFolder } from "../fixtures.ts";

const onLinux = test.skipIf(process.platform !== "linux");

const opened: LogSync[] = [];
afterEach(async () => {
  for (const log of opened.splice(0)) await log.close();
});

interface OpenedLog {
  readonly log: LogSync;
  readonly file: string;
  failures(): number;
}

/** By a clock that stands still, unless another one is given. */
function logOf(dir: string, now: () => number = () => 0): OpenedLog {
  const file = join(dir, "x.db-wal");
  writeFileSync(file, "frames");
  let failures = 0;
  const noteFailure = () => {
    failures += 1;
  };
  const log = new LogSync(join(dir, "x.db"), noteFailure, now);
  opened.push(log);
  return { log, file, failures: () => failures };
}

async function becomeQuick(log: LogSync): Promise<void> {
  for (let time = 0; time < 16; time += 1) await log.sync();
}

describe("a sync", () => {
  test("is one for all who ask while another runs, and a new one for whoever asks after that", async () => {
    using folder = temporaryFolder();
    const { log } = logOf(folder.dir);
    const running = log.sync();
    const next = log.sync();
    expect(log.sync()).toBe(next);
    expect(next).not.toBe(running);
    const ended: string[] = [];
    await Promise.all([running.then(() => ended.push("running")), next.then(() => ended.push("next"))]);
    expect(ended).toEqual(["running", "next"]);
    expect(log.sync()).not.toBe(next);
  });

  test("waits for the disk in place only after enough quick ones, and while none runs", async () => {
    using folder = temporaryFolder();
    const disk = { nowMs: 0, syncMs: 0.5 };
    const { log } = logOf(folder.dir, () => {
      disk.nowMs += disk.syncMs;
      return disk.nowMs;
    });
    await becomeQuick(log);
    expect(log.syncAlone()).toBeUndefined();
    const running = log.sync();
    expect(log.syncAlone()).toBeInstanceOf(Promise);
    await running;
    await log.sync();
    disk.syncMs = 50;
    expect(log.syncAlone()).toBeUndefined();
    disk.syncMs = 0.5;
    for (let time = 0; time < 16; time += 1) {
      const syncing = log.syncAlone();
      expect(syncing).toBeInstanceOf(Promise);
      await syncing;
    }
    expect(log.syncAlone()).toBeUndefined();
  });

  onLinux("stays with the log that SQLite has open, whatever has its name since", async () => {
    using folder = temporaryFolder();
    const { log, file } = logOf(folder.dir);
    await log.sync();
    renameSync(file, `${file}.before`);
    await log.sync();
    writeFileSync(file, "other frames");
    await log.sync();
    expect(openFiles(folder.dir).map(({ name }) => name)).toEqual(["x.db-wal.before"]);
    await log.close();
    expect(openFiles(folder.dir)).toEqual([]);
  });
});

describe("a failed sync", () => {
  for (const how of ["sync", "syncAlone"] as const) {
    onLinux(`is final: ${how} says so once, and nothing is synced or may be committed again`, async () => {
      using folder = temporaryFolder();
      const { log, file, failures } = logOf(folder.dir);
      await becomeQuick(log);
      for (const { descriptor } of openFiles(folder.dir)) closeSync(descriptor);
      await expect((async () => log[how]())()).rejects.toThrow("The disk failed to sync");
      // The lowest number that is free, which is the one that the log had.
      openSync(file, "r+");
      await expect(log.sync()).rejects.toThrow("The disk failed to sync");
      expect(() => log.check()).toThrow("The disk failed to sync");
      expect(failures()).toBe(1);
    });
  }

  test("is one of a log that cannot be opened", async () => {
    using folder = temporaryFolder();
    const { log, file } = logOf(folder.dir);
    rmSync(file);
    await expect(log.sync()).rejects.toThrow("The disk failed to sync");
  });

  test("fails all who wait for the next one", async () => {
    using folder = temporaryFolder();
    const { log } = logOf(folder.dir);
    const outcomes = Promise.allSettled([log.sync(), log.sync(), log.sync()]);
    log.fail("EIO");
    expect((await outcomes).map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
  });
});

/** The folder's files that this process has open. */
function openFiles(dir: string): { readonly name: string; readonly descriptor: number }[] {
  return readdirSync("/proc/self/fd").flatMap((descriptor) => {
    const path = linkTarget(`/proc/self/fd/${descriptor}`);
    return path.startsWith(`${dir}/`) ? [{ name: basename(path), descriptor: Number(descriptor) }] : [];
  });
}

/** Empty for the descriptor that listing them has used. */
function linkTarget(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return "";
  }
}
