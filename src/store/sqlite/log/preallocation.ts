import type { Database } from "bun:sqlite";
import { closeSync, fstatSync, ftruncateSync, openSync, statfsSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { Repeating } from "../../../base/loop/repeating.ts";
import { codeOf, isBusy } from "../connection.ts";
import type { LogSync } from "./log-sync.ts";

/** The log's length before it restarts, plus some for what is written while it is copied. */
const preallocatedBytes = 10 * 1024 * 1024;
/** Takes about half a millisecond. */
const bytesPerStep = 512 * 1024;
/** Deferred: a start has better things to do, and a short-lived process needs none of it. */
const stepEveryMs = 250;
/** Skipped if less than this many times the space is free: charges need it more. */
const minFree = 10;

/**
 * Fills the log with zeros up to its expected size. Each sync of a growing file also has to write the file's new
 * size: on ext4 that took 0.4 to 2.3 ms, overwriting took 0.13. SQLite does not read trailing zeros as frames.
 */
export class LogPreallocation {
  readonly #database: Database;
  readonly #log: LogSync;
  readonly #timer = new Repeating();

  constructor(database: Database, log: LogSync) {
    this.#database = database;
    this.#log = log;
  }

  start(everyMs = stepEveryMs): void {
    this.#timer.start(everyMs, () => this.#step());
  }

  stop(): Promise<void> {
    return this.#timer.stop();
  }

  /** Failures are harmless: the log then grows as it is written. */
  async #step(): Promise<void> {
    try {
      this.#log.check();
      // Everything that changes the size of the log takes this lock, in every process.
      const isWhole = this.#database.transaction(() => this.#extend()).immediate();
      await this.#log.sync();
      if (isWhole) void this.stop();
    } catch (error) {
      if (!isBusy(codeOf(error))) void this.stop();
    }
  }

  #extend(): boolean {
    const file = `${this.#database.filename}-wal`;
    const disk = statfsSync(dirname(file));
    if (disk.bavail * disk.bsize < minFree * preallocatedBytes) return true;
    const descriptor = openSync(file, "r+");
    const { size } = fstatSync(descriptor);
    try {
      if (size < preallocatedBytes)
        writeSync(descriptor, new Uint8Array(bytesPerStep), 0, bytesPerStep, size);
      return size + bytesPerStep >= preallocatedBytes;
    } catch (error) {
      ftruncateSync(descriptor, size);
      throw error;
    } finally {
      closeSync(descriptor);
    }
  }
}
