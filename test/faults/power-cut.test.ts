import { afterEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { openStore } from "../../src/store/open.ts";
import { keyRecord, temporaryFolder } from "../store/fixtures.ts";
import { isSoak } from "../support/effort.ts";
import {
  canRecordDisk,
  type RecordedDisk,
  recordDisk,
  recordOwnWrites,
} from "../support/recorded-disk/recorded-disk.ts";
import { waitFor } from "../support/wait.ts";
import { survivePowerCuts } from "./power-cut/power-cuts.ts";

const cuts = isSoak ? 5_000 : 200;
const acknowledgements = isSoak ? 10_000 : 1_200;
const timeoutMs = isSoak ? 3_600_000 : 120_000;
const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);

const started: Bun.Subprocess[] = [];
afterEach(killAll);

async function killAll(): Promise<void> {
  for (const each of started) each.kill("SIGKILL");
  await Promise.all(started.splice(0).map(({ exited }) => exited));
}

interface Ledger extends Disposable {
  readonly before: Buffer;
  readonly disk: RecordedDisk;
  /** Starts one of the processes in `power-cut/`; resolves when it runs. */
  start(name: string): Bun.Subprocess<"ignore", "pipe", "inherit">;
}

/** An empty ledger with two keys, on a disk that is recorded. */
async function recordedLedger(): Promise<Ledger> {
  const folder = temporaryFolder();
  const store = await openStore({ dir: folder.dir, clock: systemClock, role: "gateway" });
  const keys = [keyRecord(), keyRecord()];
  for (const key of keys) await store.insertKey(key, 1_000_000_000);
  await store.close();
  const file = join(folder.dir, "sluice.db");
  const disk = recordDisk(file);
  const start = (name: string) => {
    const script = new URL(`./power-cut/${name}.ts`, import.meta.url).pathname;
    const keyIds = keys.map(({ id }) => id).join(",");
    const cmd = [process.execPath, "--preload", recordOwnWrites, script, folder.dir, keyIds];
    const env = { ...process.env, ...disk.env };
    const process_ = Bun.spawn({ cmd, env, stdin: "ignore", stdout: "pipe", stderr: "inherit" });
    started.push(process_);
    return process_;
  };
  const dispose = () => {
    disk[Symbol.dispose]();
    folder[Symbol.dispose]();
  };
  return { before: readFileSync(file), disk, start, [Symbol.dispose]: dispose };
}

async function untilAcknowledged(disk: RecordedDisk, count: number): Promise<void> {
  await waitFor(() => disk.countAcknowledged() >= count, `${count} acknowledgements`, timeoutMs);
}

describe.skipIf(!canRecordDisk)(`a power cut (SEED=${seed})`, () => {
  test(
    "loses nothing that was acknowledged, whatever of the unsynced writes is lost",
    async () => {
      using ledger = await recordedLedger();
      const gateway = ledger.start("gateway-process");
      ledger.start("command-process");
      await untilAcknowledged(ledger.disk, acknowledgements);
      expect(gateway.exitCode).toBeNull();
      await killAll();
      const events = ledger.disk.events();
      const survived = await survivePowerCuts({ before: ledger.before, events, cuts, seed });
      expect(survived.acknowledged).toBeGreaterThan(acknowledgements / 2);
      expect(survived.logBeginnings).toBeGreaterThan(3);
      expect(survived.databaseSyncs).toBeGreaterThan(3);
    },
    timeoutMs,
  );

  test.each([
    ["gateway-process", 2],
    // It copies the log when it closes the database, which is after five.
    ["command-process", 7],
  ] as const)(
    "while the log of a failed sync is recovered by a %s loses nothing",
    async (next, acknowledged) => {
      using ledger = await recordedLedger();
      const { disk } = ledger;
      const failing = ledger.start("failing-process");
      await untilAcknowledged(disk, 1);
      disk.failSyncs(constants.errno.EIO);
      expect(await failing.exited).toBe(1);
      disk.failSyncs(0);
      ledger.start(next);
      await untilAcknowledged(disk, acknowledged);
      await killAll();
      const events = disk.events();
      const failed = events.findLastIndex(({ kind }) => kind === "syncFailed");
      const between = [failed, events.length - 1] as const;
      // What the failed sync has dropped is different each time.
      for (let time = 0; time < cuts / 20; time += 1) {
        await survivePowerCuts({ before: ledger.before, events, cuts: 10, seed: seed + time, between });
      }
    },
    timeoutMs,
  );

  test.each(["EIO", "ENOSPC"] as const)(
    "after a sync that failed with %s loses nothing either: the process ends, and the next one recovers",
    async (error) => {
      using ledger = await recordedLedger();
      const { disk } = ledger;
      const failing = ledger.start("gateway-process");
      await untilAcknowledged(disk, acknowledgements / 4);
      disk.failSyncs(constants.errno[error]);
      expect(await failing.exited).toBe(1);
      disk.failSyncs(0);
      expect(disk.events().filter(({ kind }) => kind === "syncFailed")).not.toEqual([]);
      ledger.start("gateway-process");
      await untilAcknowledged(disk, acknowledgements / 2);
      await killAll();
      await survivePowerCuts({ before: ledger.before, events: disk.events(), cuts: cuts / 4, seed });
    },
    timeoutMs,
  );
});
