import type { Database } from "bun:sqlite";
import { startThread, threadSource } from "../../../base/threads/start-thread.ts";
import { ThreadError, WorkerThread } from "../../../base/threads/worker-thread.ts";
import type { LogSync } from "./log-sync.ts";

const source = threadSource("store/sqlite/log/checkpoint-thread.ts");

/**
 * 8 MB. A longer log takes longer to recover after a crash; a shorter one restarts more often, and charges wait each
 * time.
 */
const defaultMaxPages = 2_000;

export interface CheckpointerOptions {
  readonly database: Database;
  readonly log: Pick<LogSync, "check" | "fail">;
  readonly maxPages?: number | undefined;
}

/**
 * Copies the log into the database on a thread, which starts when first needed, so that the event loop never waits
 * for it. The log can only restart if nothing was written after what was copied, so the journal waits while the last
 * part is copied.
 */
export class Checkpointer {
  readonly #database: Database;
  readonly #log: Pick<LogSync, "check" | "fail">;
  readonly #maxPages: number;
  readonly #thread: WorkerThread<CheckpointStep, LogState>;
  #running: Promise<void> | null = null;
  #restarting: Promise<void> | null = null;
  /** Higher after a checkpoint that a reader kept from finishing. */
  #dueAtFrames: number;
  #isClosed = false;

  constructor({ database, log, maxPages = defaultMaxPages }: CheckpointerOptions) {
    this.#database = database;
    this.#thread = new WorkerThread({
      start: () => startThread(source),
      lost: () => new Error("The checkpoint thread stopped."),
      opening: { kind: "open", file: database.filename },
    });
    this.#log = log;
    this.#maxPages = maxPages;
    this.#dueAtFrames = maxPages;
  }

  /** Batches wait for this while the log restarts. */
  get restarting(): Promise<void> | null {
    return this.#restarting;
  }

  /** Call it after each commit. It must not fail. */
  onCommit(): void {
    if (this.#running !== null || this.#isClosed || !this.#isDue()) return;
    this.#running = this.#run().finally(() => {
      this.#running = null;
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
    if (this.#thread.isRunning) await this.#thread.ask({ kind: "close" }).catch(() => {});
    this.#thread.stop();
  }

  /** Never throws: a committed batch must not count as failed. */
  #isDue(): boolean {
    try {
      return checkpoint(this.#database, "NOOP").frames >= this.#dueAtFrames;
    } catch {
      return false;
    }
  }

  /** A failure only makes the log longer: later commits trigger it again. */
  async #run(): Promise<void> {
    try {
      await this.#thread.start();
      // The thread's own sync of the log could succeed after one that failed.
      this.#log.check();
      const { frames, copied } = await this.#thread.ask({ kind: "copy" });
      this.#dueAtFrames = copied < frames ? frames + this.#maxPages : this.#maxPages;
      if (copied === frames) await this.#restart();
    } catch (error) {
      // A failed sync shows up here first if this thread was the first to sync.
      const isOfDisk = error instanceof ThreadError && error.code.startsWith("SQLITE_IOERR_FSYNC");
      if (isOfDisk) this.#log.fail(error);
    }
  }

  #restart(): Promise<unknown> {
    const restarted = this.#thread.ask({ kind: "restart" });
    const end = () => {
      this.#restarting = null;
    };
    this.#restarting = restarted.then(end, end);
    return restarted;
  }
}

/** A request to the checkpoint thread, which replies with the current state of the log. */
export type CheckpointStep =
  | { readonly kind: "open"; readonly file: string }
  /** Copies the log into the database. Others may write meanwhile. */
  | { readonly kind: "copy" }
  /** Copies what was written meanwhile and restarts the log. Nothing else should write. */
  | { readonly kind: "restart" }
  | { readonly kind: "close" };

/** In frames: one page each. */
export interface LogState {
  readonly frames: number;
  readonly copied: number;
}

interface CheckpointRow {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

/**
 * `NOOP` only reads the state (3 µs). `PASSIVE` copies what no reader needs, without waiting. `TRUNCATE` needs
 * exclusive use of the log.
 */
type Mode = "NOOP" | "PASSIVE" | "TRUNCATE";

/** Copies the log into the database as far as the mode allows, and returns the progress. */
export function checkpoint(database: Database, mode: Mode): LogState & { readonly isBusy: boolean } {
  const row = database.query<CheckpointRow, []>(`PRAGMA wal_checkpoint(${mode})`).get();
  return { frames: row?.log ?? 0, copied: row?.checkpointed ?? 0, isBusy: row?.busy === 1 };
}
