import { nextLoopIteration } from "../../base/loop/pacer.ts";
import type { StoreProblem, StoreStats } from "../health.ts";
import type { ChargeEntry, JournalItem } from "../records.ts";
import { type BatchWriter, type FailureReason, reasonOf } from "./batch-writer.ts";
import type { Reserve } from "./reserve.ts";

export interface JournalOptions {
  readonly writer: BatchWriter;
  readonly stats: StoreStats;
  /** Null for a database that manages its own space. */
  readonly reserve: Reserve | null;
  /** Describes this database's failures to operators. */
  readonly problems: StoreProblems;
  /** How long `close` waits for a database that cannot be written. */
  readonly closeTimeoutMs?: number;
  readonly now?: () => number;
}

export type StoreProblems = Readonly<Record<Exclude<FailureReason, "rejected">, StoreProblem>>;

/** One call of `commit`: its items are written in one transaction, or none of them is. */
interface Commit {
  readonly items: readonly JournalItem[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  /** Durable or rejected. */
  isEnded: boolean;
}

/** Takes about 5 ms to write; a larger batch would delay streams. */
const maxItemsPerBatch = 512;
/** Content per batch. Charges that arrive meanwhile wait for at most one such batch. */
const maxContentBytes = 512 * 1024;
/**
 * After a batch of this size, more commits are expected within an iteration of the event loop. After smaller ones,
 * waiting gained nothing.
 */
const batchThreshold = 8;
/** With 32 concurrent requests, 4 iterations reduce a request's CPU time by 5% compared to 2, and 8 save nothing more. */
const maxIterations = 4;
/** Iterations are long when the gateway is busy, and a stream that ends waits for its charge. */
const maxGatheringMs = 2;
/** A response's ids are a separate commit. */
const commitsOfOne = 2;
/** A shorter lock by another process makes commits wait, but does not make the journal unhealthy. */
const lockTimeoutMs = 1_000;
const defaultCloseTimeoutMs = 10_000;
const firstPauseMs = 1;
const maxPauseMs = 250;

/**
 * Collects commits and writes them in batches: one transaction and one sync for all that are waiting. A batch is
 * written in the next iteration of the event loop; under load a few iterations later, as long as each brings more
 * commits; at once if no other commit is expected. Content, which is not charged, has its own queue and transactions,
 * and alternates with charges. A batch that cannot be written for now is retried, in order, until it succeeds:
 * nothing is dropped. The journal knows no database; a `BatchWriter` does the writing.
 */
export class Journal {
  readonly #writer: BatchWriter;
  readonly #stats: StoreStats;
  readonly #reserve: Reserve | null;
  readonly #problems: StoreProblems;
  readonly #closeTimeoutMs: number;
  readonly #now: () => number;
  #waiting: Commit[] = [];
  #content: Commit[] = [];
  #isContentNext = false;
  /** The batch being written. */
  #writing: readonly Commit[] = [];
  /** Charges of commits that were rejected. */
  readonly #lost: ChargeEntry[] = [];
  #draining: Promise<void> | null = null;
  /** No other commit is expected after the latest one. */
  #isLast = false;
  #failingSinceMs: number | null = null;
  #outOfSpace = false;
  /** The writer has failed or the database is damaged: nothing can be written until the next start. */
  #broken = false;
  #closingUntilMs: number | null = null;

  constructor(options: JournalOptions) {
    this.#writer = options.writer;
    this.#stats = options.stats;
    this.#reserve = options.reserve;
    this.#problems = options.problems;
    this.#closeTimeoutMs = options.closeTimeoutMs ?? defaultCloseTimeoutMs;
    this.#now = options.now ?? (() => performance.now());
  }

  get healthy(): boolean {
    if (this.#broken || this.#closingUntilMs !== null || this.#reserve?.isSpent === true) return false;
    if (this.#failingSinceMs === null) return true;
    return !this.#outOfSpace && this.#now() - this.#failingSinceMs < lockTimeoutMs;
  }

  get problem(): StoreProblem | null {
    if (this.healthy) return null;
    if (this.#broken) return this.#problems.damaged;
    if (this.#closingUntilMs !== null) return closing;
    return this.#outOfSpace || this.#reserve?.isSpent === true ? this.#problems.full : this.#problems.busy;
  }

  /** Charges that are not durable: waiting or rejected. */
  get unwritten(): readonly ChargeEntry[] {
    // Content charges nothing.
    const pending = [...this.#writing, ...this.#waiting].filter(({ isEnded }) => !isEnded);
    return [...this.#lost, ...pending.flatMap(chargesOf)];
  }

  commit(items: readonly JournalItem[], othersFollow = true): Promise<void> {
    if (this.#closingUntilMs !== null) {
      this.#lost.push(...chargesOf({ items }));
      return Promise.reject(new Error("The store is closed."));
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const queue = items.length > 0 && items.every(isContent) ? this.#content : this.#waiting;
    queue.push({ items, resolve, reject, isEnded: false });
    this.#stats.pendingItems += items.length;
    this.#isLast = !othersFollow;
    this.#start();
    return promise;
  }

  /** Accepts no further commits. Resolves once all earlier ones are durable, or have been retried for too long. */
  async close(): Promise<void> {
    this.#closingUntilMs = this.#now() + this.#closeTimeoutMs;
    await this.#draining;
  }

  #start(): void {
    this.#draining ??= this.#drain();
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0 || this.#content.length > 0) {
      await this.#gather();
      this.#writing = this.#takeBatch();
      await this.#write(this.#writing);
      this.#writing = [];
      if (this.#isLast && this.#waiting.length + this.#content.length > 0) await nextLoopIteration();
    }
    this.#draining = null;
  }

  /** Waits for other commits to join the batch. */
  async #gather(): Promise<void> {
    if (this.#isLast) return;
    const untilMs = this.#now() + maxGatheringMs;
    await nextLoopIteration();
    if (this.#stats.lastBatchItems < batchThreshold) return;
    let known = 0;
    for (let turn = 1; turn < maxIterations && this.#waiting.length > known; turn += 1) {
      if (this.#now() > untilMs) return;
      known = this.#waiting.length;
      await nextLoopIteration();
    }
  }

  #takeBatch(): readonly Commit[] {
    const isContentBatch = this.#content.length > 0 && (this.#isContentNext || this.#waiting.length === 0);
    this.#isContentNext = !isContentBatch;
    const queue = isContentBatch ? this.#content : this.#waiting;
    let items = 0;
    let bytes = 0;
    let commits = 0;
    for (const commit of queue) {
      items += commit.items.length;
      bytes += contentBytesOf(commit);
      if (commits > 0 && (items > maxItemsPerBatch || bytes > maxContentBytes)) break;
      commits += 1;
    }
    if (commits < queue.length) return queue.splice(0, commits);
    if (isContentBatch) this.#content = [];
    else this.#waiting = [];
    return queue;
  }

  async #write(batch: readonly Commit[]): Promise<void> {
    const items: JournalItem[] = [];
    for (const commit of batch) for (const item of commit.items) items.push(item);
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
      const startedMs = this.#now();
      try {
        const othersWait = batch.length > commitsOfOne || this.#waiting.length + this.#content.length > 0;
        const isAlone = this.#isLast && !othersWait;
        const writing = this.#writer.write(items, isAlone);
        if (writing !== undefined) await writing;
      } catch (error) {
        const reason = reasonOf(error);
        if (this.#shouldRetry(reason)) {
          const hasGainedSpace = this.#outOfSpace && this.#reserve?.spend() === true;
          if (!hasGainedSpace) await Bun.sleep(pauseMs);
          continue;
        }
        // Only a rejected batch is certainly not on disk: any other, written again, might be charged twice.
        if (reason === "rejected" && batch.length > 1) return this.#isolate(batch);
        return this.#giveUp(batch, error);
      }
      // Outside the `try`: the batch is durable, and no later error may count as its failure.
      this.#succeeded(batch, items.length, this.#now() - startedMs);
      return;
    }
  }

  #succeeded(batch: readonly Commit[], items: number, tookMs: number): void {
    for (const commit of batch) {
      commit.isEnded = true;
      commit.resolve();
    }
    this.#failingSinceMs = null;
    this.#outOfSpace = false;
    this.#stats.batches += 1;
    this.#stats.items += items;
    this.#stats.lastBatchItems = items;
    this.#stats.lastBatchMs = tookMs;
    this.#stats.pendingItems -= items;
  }

  #shouldRetry(reason: FailureReason): boolean {
    this.#stats.failedBatches += 1;
    if (reason === "damaged") this.#broken = true;
    if (reason === "damaged" || reason === "rejected") return false;
    this.#failingSinceMs ??= this.#now();
    this.#outOfSpace = reason === "full";
    return this.#closingUntilMs === null || this.#now() < this.#closingUntilMs;
  }

  /** Writes the commits of a rejected batch one by one, so that only the one at fault is rejected. */
  async #isolate(batch: readonly Commit[]): Promise<void> {
    for (const commit of batch) await this.#write([commit]);
  }

  #giveUp(batch: readonly Commit[], error: unknown): void {
    for (const commit of batch) {
      this.#stats.pendingItems -= commit.items.length;
      this.#lost.push(...chargesOf(commit));
      commit.isEnded = true;
      commit.reject(error);
    }
  }
}

const closing: StoreProblem = { reason: "The store is closing.", advice: "No action is needed." };

function chargesOf({ items }: Pick<Commit, "items">): readonly ChargeEntry[] {
  return items.flatMap((item) => (item.kind === "settle" ? [item.charge] : []));
}

/** Content: neither charges nor anything that a charge needs. */
function isContent({ kind }: JournalItem): boolean {
  return kind === "part" || kind === "turn" || kind === "discard";
}

function contentBytesOf({ items }: Pick<Commit, "items">): number {
  let bytes = 0;
  for (const item of items) {
    if (item.kind === "part") bytes += item.part.body.length;
    else if (item.kind === "turn") bytes += item.turn.body.length;
  }
  return bytes;
}
