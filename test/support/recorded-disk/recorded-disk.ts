import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder } from "../new-folder.ts";
import { type DiskEvent, readRecord } from "./record.ts";

export interface RecordedDisk extends Disposable {
  /** For the programs whose disk it is. */
  readonly env: Readonly<Record<string, string>>;
  /** From now on every sync of the log fails with this error; 0 for none. */
  failSyncs(errno: number): void;
  /** What has happened so far. */
  events(): readonly DiskEvent[];
  /** How much has been acknowledged so far. */
  countAcknowledged(): number;
}

/** To be preloaded by the programs whose disk it is. */
export const recordOwnWrites = new URL("./record-own-writes.ts", import.meta.url).pathname;

const compiler = process.platform === "linux" ? (Bun.which("gcc") ?? Bun.which("cc")) : null;

/** Whether there is a compiler for the shim. Tests of power cuts are skipped where there is none. */
export const canRecordDisk = compiler !== null;
if (!canRecordDisk) console.warn("SKIPPED: there is no C compiler here, so no power cut can be simulated");

/** Records what programs do to a database and its log. */
export function recordDisk(databaseFile: string): RecordedDisk {
  const folder = newFolder();
  const at = (name: string) => join(folder, name);
  const source = new URL("./shim.c", import.meta.url).pathname;
  const made = Bun.spawnSync([
    compiler ?? "cc",
    "-shared",
    "-fPIC",
    "-O1",
    "-o",
    at("shim.so"),
    source,
    "-ldl",
  ]);
  if (made.exitCode !== 0) {
    rmSync(folder, { recursive: true, force: true });
    throw new Error(`the shim of a recorded disk cannot be compiled: ${made.stderr}`);
  }
  const counted = { bytes: 0, acknowledged: 0 };
  writeFileSync(at("record"), "");
  writeFileSync(at("errno"), "0");
  return {
    env: {
      LD_PRELOAD: at("shim.so"),
      RECORDED_FILE: databaseFile,
      RECORDED_LOG: at("record"),
      FAILING_SYNC_FILE: at("errno"),
    },
    failSyncs: (errno) => writeFileSync(at("errno"), String(errno)),
    events: () => [...readRecord(readFileSync(at("record")))],
    countAcknowledged() {
      for (const { kind, endsAt } of readRecord(readFileSync(at("record")), counted.bytes)) {
        counted.bytes = endsAt;
        if (kind === "acknowledged") counted.acknowledged += 1;
      }
      return counted.acknowledged;
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
