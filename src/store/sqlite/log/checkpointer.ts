import type { Database } from "bun:sqlite";
import { CheckpointFailure, CheckpointWorker } from "./checkpoint-worker.ts";
import { checkpoint } from "./log-state.ts";
import type { LogSync } from "./log-sync.ts";

/** 8 MB. A longer log is read for longer after a crash; a shorter one begins again more often, and each time charges wait. */
const defaultMaxPages = 2_000;
/** Looking at the log costs 3 µs. */
const commitsPerLook = 16;

export interface CheckpointerOptions {
  readonly database: Database;
  readonly log: Pick<LogSync, "fail">;
  readonly maxPages?: number | undefined;
}

/**
 * Copies the log into the database on a thread, which is started for the first time that it is needed, so that the event loop never
 * waits for it. The log can only begin again if nobody has written behind what was copied: the journal waits while the last of it is.
 */
export class Checkpointer {
  readonly #database: Database;
  readonly #log: Pick<LogSync, "fail">;
  readonly #maxPages: number;
  #worker: CheckpointWorker | null = null;
  #running: Promise<void> | null = null;
  #restarting: Promise<void> | null = null;
  #commits = 0;
  /** More than usual after a checkpoint that a reader has kept from its end. */
  #dueAtFrames: number;
  #isClosed = false;

  constructor({ database, log, maxPages = defaultMaxPages }: CheckpointerOptions) {
    this.#database = database;
    this.#log = log;
    this.#maxPages = maxPages;
    this.#dueAtFrames = maxPages;
  }

  /** While the log begins again, batches wait for this. */
  get restarting(): Promise<void> | null {
    return this.#restarting;
  }

  /** To be called after each commit, behind which nothing may fail. */
  onCommit(): void {
    this.#commits += 1;
    if (this.#commits < commitsPerLook || this.#running !== null || this.#isClosed) return;
    this.#commits = 0;
    if (!this.#isDue()) return;
    this.#running = this.#run().finally(() => {
      this.#running = null;
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
    await this.#worker?.close();
  }

  /** Never throws: what was committed must not pass for failed. */
  #isDue(): boolean {
    try {
      return checkpoint(this.#database, "NOOP").frames >= this.#dueAtFrames;
    } catch {
      return false;
    }
  }

  /** Fails without consequences but for a longer log: the next commits ask for it again. */
  async #run(): Promise<void> {
    try {
      this.#worker ??= await CheckpointWorker.open(this.#database.filename);
      const { frames, copied } = await this.#worker.ask({ kind: "copy" });
      this.#dueAtFrames = copied < frames ? frames + this.#maxPages : this.#maxPages;
      if (copied === frames) await this.#restart(this.#worker);
    } catch (error) {
      if (error instanceof CheckpointFailure && error.isOfDisk) this.#log.fail(error);
      if (this.#worker?.isDead === true) this.#worker = null;
    }
  }

  #restart(worker: CheckpointWorker): Promise<unknown> {
    const restarted = worker.ask({ kind: "restart" });
    const end = () => {
      this.#restarting = null;
    };
    this.#restarting = restarted.then(end, end);
    return restarted;
  }
}
