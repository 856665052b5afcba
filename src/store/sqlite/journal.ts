import type { ChargeEntry, JournalItem } from "../records.ts";
import type { StoreStats, Trouble } from "../store.ts";
import { BatchFailure, type BatchWriter } from "./batch-writer.ts";
import { isCorrupt, isOutOfSpace, isTransient } from "./connection.ts";
import type { DiskReserve } from "./reserve.ts";

/** One call of `commit`: its items share a transaction and a fate. */
interface Commit {
  readonly items: readonly JournalItem[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  /** It is on disk, or was refused. */
  isEnded: boolean;
}

/** So many items take about 5 ms to write: more would let other streams wait. */
const mostItemsPerBatch = 512;
/** After a batch of so many, more are on their way. With fewer at once another turn was seen to bring nobody. */
const crowdItems = 8;
const rollUpEveryMs = 1_000;
/** A lock that another process holds for less than this is waited for without refusing anyone. */
const patienceWithLocksMs = 1_000;
const defaultPatienceAtCloseMs = 10_000;
const firstPauseMs = 1;
const longestPauseMs = 250;

/**
 * Collects commits and writes them in batches: one transaction and one fsync for all that wait. A batch goes out
 * on the next turn of the event loop, in a crowd on the one after it; waiting longer for a fuller one costs more
 * than it saves. A batch that cannot be written for now (disk full, locked) is tried again, in order, until it is:
 * nothing is dropped.
 */
export class Journal {
  readonly #writer: BatchWriter;
  readonly #stats: StoreStats;
  readonly #reserve: DiskReserve | null;
  readonly #patienceAtCloseMs: number;
  #waiting: Commit[] = [];
  /** The batch that is being written. */
  #writing: readonly Commit[] = [];
  /** Charges that were refused for good. */
  readonly #lost: ChargeEntry[] = [];
  #draining: Promise<void> | null = null;
  #rollUpDue = false;
  #rollUpTimer: ReturnType<typeof setTimeout> | null = null;
  #failingSinceMs: number | null = null;
  #outOfSpace = false;
  /** The writer is gone or the file is damaged: nothing can be written until the next start. */
  #broken = false;
  #closingUntilMs: number | null = null;

  constructor(
    writer: BatchWriter,
    stats: StoreStats,
    reserve: DiskReserve | null,
    patienceAtCloseMs = defaultPatienceAtCloseMs,
  ) {
    this.#patienceAtCloseMs = patienceAtCloseMs;
    this.#writer = writer;
    this.#stats = stats;
    this.#reserve = reserve;
  }

  get healthy(): boolean {
    if (this.#broken || this.#closingUntilMs !== null || this.#reserve?.isSpent === true) return false;
    if (this.#failingSinceMs === null) return true;
    return !this.#outOfSpace && performance.now() - this.#failingSinceMs < patienceWithLocksMs;
  }

  get trouble(): Trouble | null {
    if (this.healthy) return null;
    if (this.#broken) return troubles.broken;
    if (this.#closingUntilMs !== null) return troubles.closing;
    return this.#outOfSpace || this.#reserve?.isSpent === true ? troubles.full : troubles.locked;
  }

  /** Charges that are not on disk: those that wait, and those that could not be written. */
  get unwritten(): readonly ChargeEntry[] {
    const pending = [...this.#writing, ...this.#waiting].filter(({ isEnded }) => !isEnded);
    return [...this.#lost, ...pending.flatMap(chargesOf)];
  }

  commit(items: readonly JournalItem[]): Promise<void> {
    if (this.#closingUntilMs !== null) {
      this.#lost.push(...chargesOf({ items }));
      return Promise.reject(new Error("The store is closed."));
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ items, resolve, reject, isEnded: false });
    this.#stats.pendingItems += items.length;
    this.#start();
    return promise;
  }

  /** Refuses further commits and resolves when all earlier ones are on disk, or cannot be for too long. */
  async close(): Promise<void> {
    this.#closingUntilMs = performance.now() + this.#patienceAtCloseMs;
    if (this.#rollUpTimer !== null) clearTimeout(this.#rollUpTimer);
    await this.#draining;
    try {
      await this.#writer.close();
    } catch {
      // Only the roll-up can fail here, and what it lacks is added up from the entries at the next start.
    }
  }

  #start(): void {
    this.#draining ??= this.#drain();
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0 || this.#rollUpDue) {
      await nextTurn();
      // In a crowd the next turn brings more than it delays: a quarter fewer syncs at 32 requests at once.
      if (this.#stats.lastBatchItems >= crowdItems) await nextTurn();
      const rollUp = this.#rollUpDue;
      this.#rollUpDue = false;
      this.#writing = this.#takeBatch();
      await this.#write(this.#writing, rollUp);
      this.#writing = [];
    }
    this.#draining = null;
  }

  #takeBatch(): readonly Commit[] {
    let items = 0;
    let commits = 0;
    for (const commit of this.#waiting) {
      items += commit.items.length;
      if (commits > 0 && items > mostItemsPerBatch) break;
      commits += 1;
    }
    if (commits === this.#waiting.length) {
      const all = this.#waiting;
      this.#waiting = [];
      return all;
    }
    return this.#waiting.splice(0, commits);
  }

  async #write(batch: readonly Commit[], rollUp: boolean): Promise<void> {
    const items: JournalItem[] = [];
    for (const commit of batch) for (const item of commit.items) items.push(item);
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      const startedMs = performance.now();
      try {
        const writing = this.#writer.write(items, rollUp);
        if (writing !== undefined) await writing;
        this.#succeeded(items.length, performance.now() - startedMs);
        for (const commit of batch) {
          commit.isEnded = true;
          commit.resolve();
        }
        return;
      } catch (error) {
        if (!this.#worthAnotherTry(error)) return this.#isolate(batch, error);
        if (this.#outOfSpace && this.#reserve?.spend() === true) continue;
      }
      await Bun.sleep(pauseMs);
    }
  }

  #succeeded(items: number, tookMs: number): void {
    this.#failingSinceMs = null;
    this.#outOfSpace = false;
    this.#stats.batches += 1;
    this.#stats.items += items;
    this.#stats.lastBatchItems = items;
    this.#stats.lastBatchMs = tookMs;
    this.#stats.pendingItems -= items;
    if (items > 0 && this.#closingUntilMs === null) this.#rollUpTimer ??= this.#rollUpLater();
  }

  #rollUpLater(): ReturnType<typeof setTimeout> {
    const timer = setTimeout(() => {
      this.#rollUpTimer = null;
      this.#rollUpDue = true;
      this.#start();
    }, rollUpEveryMs);
    timer.unref();
    return timer;
  }

  #worthAnotherTry(error: unknown): boolean {
    this.#stats.failedBatches += 1;
    if (!(error instanceof BatchFailure) || isCorrupt(error.code)) this.#broken = true;
    if (!(error instanceof BatchFailure && isTransient(error.code))) return false;
    this.#failingSinceMs ??= performance.now();
    this.#outOfSpace = isOutOfSpace(error.code);
    return this.#closingUntilMs === null || performance.now() < this.#closingUntilMs;
  }

  /** A commit that can never be written must not take the others of its batch with it. */
  async #isolate(batch: readonly Commit[], error: unknown): Promise<void> {
    if (batch.length > 1) {
      for (const commit of batch) await this.#write([commit], false);
      return;
    }
    for (const commit of batch) {
      this.#stats.pendingItems -= commit.items.length;
      this.#lost.push(...chargesOf(commit));
      commit.isEnded = true;
      commit.reject(error);
    }
  }
}

function chargesOf({ items }: Pick<Commit, "items">): readonly ChargeEntry[] {
  return items.flatMap((item) => (item.kind === "settle" ? [item.charge] : []));
}

const troubles = {
  broken: {
    reason: "The database is damaged, or the thread that writes to it has failed.",
    advice:
      "Nothing can be written until the next start. Stop the gateway: it then says which charges are missing. " +
      "Run `sluice ledger audit`, and `sluice restore FILE` if the database is damaged.",
  },
  closing: { reason: "The store is closing.", advice: "Nothing is to be done." },
  full: {
    reason: "The disk is full, or nearly.",
    advice:
      "No new work is taken; what runs is charged from the reserve. Make room: it then goes on by itself.",
  },
  locked: {
    reason: "The database is locked by another program.",
    advice:
      "Charges wait, and no new work is taken. `fuser -v sluice.db` in the data folder names the program; when it lets go, " +
      "the gateway goes on by itself.",
  },
} as const satisfies Record<string, Trouble>;

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
