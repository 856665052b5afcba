import { afterEach, describe, expect, test } from "bun:test";
import { readdirSync, readlinkSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LogSync } from "../../../src/store/sqlite/log/log-sync.ts";
import { temporaryFolder } from "../fixtures.ts";

const opened: LogSync[] = [];
afterEach(async () => {
  for (const log of opened.splice(0)) await log.close();
});

function logOf(dir: string): { log: LogSync; file: string; failures: () => number } {
  const file = join(dir, "x.db-wal");
  writeFileSync(file, "frames");
  let failures = 0;
  const log = new LogSync(join(dir, "x.db"), () => {
    failures += 1;
  });
  opened.push(log);
  return { log, file, failures: () => failures };
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

  test("in place waits for nothing while the disk is fast, and for one that runs", async () => {
    using folder = temporaryFolder();
    const { log } = logOf(folder.dir);
    expect(log.syncAlone()).toBeUndefined();
    const running = log.sync();
    expect(log.syncAlone()).toBeInstanceOf(Promise);
    await running;
  });

  test.skipIf(process.platform !== "linux")(
    "follows a log that was replaced, and keeps the one that SQLite may have open",
    async () => {
      using folder = temporaryFolder();
      const { log, file } = logOf(folder.dir);
      await log.sync();
      renameSync(file, `${file}.before`);
      await log.sync();
      expect(openFiles(folder.dir)).toEqual(["x.db-wal.before"]);
      writeFileSync(file, "other frames");
      await log.sync();
      await log.sync();
      expect(openFiles(folder.dir)).toEqual(["x.db-wal", "x.db-wal.before"]);
      await log.close();
      expect(openFiles(folder.dir)).toEqual([]);
    },
  );
});

describe("a failed sync", () => {
  test.each(["sync", "syncAlone"] as const)(
    "is final: %s says so once, and nothing is synced or may be committed again",
    async (how) => {
      using folder = temporaryFolder();
      const { log, file, failures } = logOf(folder.dir);
      rmSync(file);
      await expect((async () => log[how]())()).rejects.toThrow("The disk failed to sync");
      writeFileSync(file, "frames");
      await expect(log.sync()).rejects.toThrow("The disk failed to sync");
      expect(() => log.check()).toThrow("The disk failed to sync");
      expect(failures()).toBe(1);
    },
  );

  test("fails all who wait for the next one", async () => {
    using folder = temporaryFolder();
    const { log } = logOf(folder.dir);
    const outcomes = Promise.allSettled([log.sync(), log.sync(), log.sync()]);
    log.fail("EIO");
    expect((await outcomes).map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
  });
});

/** The names of the folder's files that this process has open. */
function openFiles(dir: string): string[] {
  const links = readdirSync("/proc/self/fd").flatMap((descriptor) => {
    try {
      return [readlinkSync(`/proc/self/fd/${descriptor}`)];
    } catch {
      return [];
    }
  });
  const prefix = `${dir}/`;
  return links
    .filter((link) => link.startsWith(prefix))
    .map((link) => link.slice(prefix.length))
    .sort();
}
