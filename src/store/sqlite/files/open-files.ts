import type { Database } from "bun:sqlite";
import { mkdirSync, rmSync, statSync } from "node:fs";
import { basename } from "node:path";
import type { Clock } from "../../../base/clock.ts";
import { Repeating } from "../../../base/loop/repeating.ts";
import type { StoreProblem } from "../../health.ts";
import { StoreError } from "../../store.ts";
import { copyDatabase } from "./backup.ts";
import { backupFile, createBackupFolder } from "./backup-folder.ts";
import type { DataFolder } from "./folder.ts";

const pollEveryMs = 1_000;

/**
 * Checks every second that the open files are still the ones at their paths, and with the batches that the database is.
 * SQLite keeps writing to a deleted or replaced file without an error, and those charges would be lost when the process
 * ends.
 */
export class OpenFiles {
  readonly #folder: DataFolder;
  readonly #clock: Clock;
  /** Device and inode of each file when it was opened, by path. */
  readonly #identities = new Map<string, string>();
  readonly #timer = new Repeating();
  #problem: StoreProblem | null = null;

  /** Construct it after all files have been opened. */
  constructor(folder: DataFolder, clock: Clock) {
    this.#folder = folder;
    this.#clock = clock;
    const { databaseFile, lockFile } = folder;
    for (const file of [databaseFile, `${databaseFile}-wal`, `${databaseFile}-shm`, lockFile]) {
      const identity = identify(file);
      if (identity !== null) this.#identities.set(file, identity);
    }
    this.#timer.start(pollEveryMs, () => this.look());
  }

  get problem(): StoreProblem | null {
    return this.#problem;
  }

  /** A file that is put back counts as present again. */
  look(): StoreProblem | null {
    const lost = [...this.#identities.keys()].find((file) => !this.#isInPlace(file));
    this.#problem = lost === undefined ? null : this.#describe(lost);
    if (lost === this.#folder.databaseFile && identify(lost) !== null) this.#removeLog();
    return this.#problem;
  }

  /** Called before a batch is written. The batch goes to the file that is still open; the next request is rejected. */
  checkBeforeBatch(): void {
    if (this.#problem === null && !this.#isInPlace(this.#folder.databaseFile)) this.look();
  }

  /** If the file is gone, copies the database while it is still open. Returns the copy's path. */
  rescue(database: Database): string | null {
    this.look();
    if (this.#isInPlace(this.#folder.databaseFile)) return null;
    const file = backupFile(this.#folder, "rescued", this.#clock.wallMs());
    try {
      mkdirSync(this.#folder.dir, { recursive: true, mode: 0o700 });
      createBackupFolder(this.#folder);
      copyDatabase(database, file);
      return file;
    } catch (error) {
      throw new StoreError(
        "ledger_missing",
        `${this.#folder.databaseFile} was removed, and its data could not be copied to ${file}: ${String(error)}`,
      );
    }
  }

  close(): void {
    this.#timer.stop();
  }

  /**
   * Our WAL now lies next to another database, and SQLite would apply it to that one. Processes that have it open can
   * still read it.
   */
  #removeLog(): void {
    for (const file of [`${this.#folder.databaseFile}-wal`, `${this.#folder.databaseFile}-shm`]) {
      if (this.#isInPlace(file)) rmSync(file, { force: true });
    }
  }

  #isInPlace(file: string): boolean {
    return identify(file) === this.#identities.get(file);
  }

  #describe(file: string): StoreProblem {
    const what = identify(file) === null ? "was removed" : "was replaced by another file";
    return {
      reason: `${basename(file)} ${what} while the gateway runs.`,
      advice:
        `${file} ${what}. New requests are rejected; charges go to the file that is still open. Stop the gateway: ` +
        `it saves the ledger as ${this.#folder.backupDir}/rescued-TIME.db. Then \`sluice restore\` that file.`,
    };
  }
}

/** Null if the file does not exist or must not be read. */
function identify(file: string): string | null {
  try {
    const { dev, ino } = statSync(file, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return null;
  }
}
