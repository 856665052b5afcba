import { ChurnMap } from "../../base/collections/churn-map.ts";
import { FairQueue } from "../../base/collections/fair-queue.ts";
import { GatewayError } from "../../base/errors.ts";
import { startDeadline } from "../../base/loop/deadline.ts";
import { IdleThread } from "../../base/threads/idle-thread.ts";
import { startThread, threadSource } from "../../base/threads/start-thread.ts";
import { parseModelInput } from "./model-input.ts";
import type { CountInput, CountJob, DecodeJob, JobDone } from "./worker.ts";

export interface TokenCounterOptions {
  /** How long a count can take, including loading, before a rough count is returned instead. */
  readonly deadlineMs?: number;
  readonly idleMs?: number;
  readonly startWorker?: () => Worker;
}

type Job = Omit<CountJob, "id"> | Omit<DecodeJob, "id">;

interface Waiting {
  readonly id: number;
  readonly keyId: string;
  readonly job: Job;
  /** Called with null if the worker did not answer in time, or is gone. */
  readonly settle: (done: JobDone | null) => void;
  readonly cancelDeadline: () => void;
}

const defaultDeadlineMs = 5000;
/** The worker's own limit per count, so that one slow text does not delay the others past their deadlines. */
const workerBudgetMs = 250;
/** Beyond this many waiting jobs, counts are rough: a longer queue would make all of them miss their deadlines. */
const maxWaiting = 256;
/**
 * A key with fewer waiting jobs than this still gets an exact count: another key may have filled the queue, and keys
 * take turns.
 */
const fewOfKey = 8;
const maxWaitingOfAll = 4 * maxWaiting;

/**
 * Maximum total size on the thread; the rest waits here. Keys take turns between large bodies, each of which takes up
 * to 250 ms.
 */
const maxSentSize = 64 * 1024;

const source = threadSource("catalog/tokens/worker.ts");

/** Counts for one key. They never reject: at worst a count is rough, and with `isAtMost` an upper bound. */
export interface KeyCounts {
  /** Counts the tokens of texts. */
  text(texts: readonly string[], isAtMost?: boolean): Promise<number>;
  /** Counts the input tokens of a request's body in any dialect, with tools and attachments. */
  request(body: Uint8Array, isForClaude?: boolean): Promise<number>;
  /**
   * Counts a request with the most that large attachments and unknown members of the body can add. Infinite if it
   * could not be counted: the estimate for the hold is then the best bound there is.
   */
  requestAtMost(body: Uint8Array): Promise<number>;
  /** The texts of tokens of OpenAI's older encoding; null if one is unknown. Rejects if the worker is unavailable. */
  decode(ids: readonly (readonly number[])[]): Promise<readonly string[] | null>;
}

/**
 * Counts tokens on a worker thread: loading the encoding takes half a second, a hostile text takes long to encode, and
 * neither may block the event loop. If it cannot be started, counts are rough.
 */
export class TokenCounter {
  readonly #deadlineMs: number;
  readonly #thread: IdleThread;
  /** All unsettled jobs. Those that the thread does not have yet are also in the queue. */
  readonly #waiting = new ChurnMap<number, Waiting>();
  /** Number of unsettled jobs of each key. */
  readonly #waitingOf = new Map<string, number>();
  readonly #queue = new FairQueue<Waiting>();
  /** Sizes of the jobs that the thread has and has not answered. */
  readonly #given = new Map<number, number>();
  #givenSize = 0;
  #isLoaded = false;
  #nextId = 0;

  constructor({ deadlineMs, idleMs, startWorker }: TokenCounterOptions = {}) {
    this.#deadlineMs = deadlineMs ?? defaultDeadlineMs;
    this.#thread = new IdleThread({
      start: startWorker ?? (() => startThread(source, { smol: true })),
      onMessage: ({ data }: MessageEvent<JobDone>) => this.#done(data),
      onStop: () => this.#giveUp(),
      isBusy: () => this.#waiting.size > 0,
      idleMs,
    });
  }

  /** Keys take turns: one whose bodies take long to count does not delay the others. */
  of(keyId: string): KeyCounts {
    return {
      text: (texts, isAtMost) =>
        texts.every((text) => text === "") ? Promise.resolve(0) : this.#count(keyId, texts, isAtMost),
      request: (body, isForClaude) => this.#count(keyId, body, false, isForClaude),
      requestAtMost: (body) => this.#count(keyId, body, true),
      decode: (ids) => this.#decode(keyId, ids),
    };
  }

  /** Ends the thread. The next count starts it again. */
  stop(): void {
    this.#thread.stop();
  }

  /** Whether a count starts at once. Loading takes half a second to two. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** Starts the thread for later counts. */
  load(): void {
    if (!this.running) void this.#count("", ["x"]);
  }

  get running(): boolean {
    return this.#thread.isRunning;
  }

  #giveUp(): void {
    this.#isLoaded = false;
    this.#given.clear();
    this.#givenSize = 0;
    for (const id of [...this.#waiting.keys()]) this.#settle(id, null);
  }

  #count(keyId: string, what: CountInput, isAtMost = false, isForClaude = false): Promise<number> {
    const roughly = () => roughCount(what, isAtMost, isForClaude);
    if (!this.#isAvailable(keyId)) return Promise.resolve(roughly());
    return new Promise((resolve) => {
      const job = { what, isAtMost, isForClaude, budgetMs: workerBudgetMs };
      this.#add(keyId, job, (done) => resolve(done?.tokens ?? roughly()));
    });
  }

  #decode(keyId: string, ids: DecodeJob["ids"]): Promise<readonly string[] | null> {
    if (!this.#isAvailable(keyId)) return Promise.reject(notDecoded());
    return new Promise((resolve, reject) => {
      this.#add(keyId, { ids }, (done) => (done === null ? reject(notDecoded()) : resolve(done.texts)));
    });
  }

  #isAvailable(keyId: string): boolean {
    const hasFew = (this.#waitingOf.get(keyId) ?? 0) < fewOfKey;
    return this.#waiting.size < (hasFew ? maxWaitingOfAll : maxWaiting) && this.#thread.get() !== null;
  }

  #add(keyId: string, job: Job, settle: Waiting["settle"]): void {
    this.#nextId += 1;
    const id = this.#nextId;
    const cancelDeadline = startDeadline(this.#deadlineMs, () => this.#settle(id, null));
    const waiting = { id, keyId, job, settle, cancelDeadline };
    this.#waiting.set(id, waiting);
    this.#waitingOf.set(keyId, (this.#waitingOf.get(keyId) ?? 0) + 1);
    this.#queue.add(keyId, waiting);
    this.#give();
  }

  #give(): void {
    while (this.#givenSize < maxSentSize) {
      const next = this.#queue.next();
      const worker = next === undefined ? null : this.#thread.get();
      if (next === undefined || worker === null) return;
      const size = sizeOf(next.job);
      this.#given.set(next.id, size);
      this.#givenSize += size;
      worker.postMessage({ id: next.id, ...next.job });
    }
  }

  #done(done: JobDone): void {
    this.#isLoaded = true;
    this.#givenSize -= this.#given.get(done.id) ?? 0;
    this.#given.delete(done.id);
    this.#settle(done.id, done);
    this.#give();
  }

  #settle(id: number, done: JobDone | null): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    this.#leave(waiting.keyId);
    // It would keep its body in memory as long as the thread is busy.
    if (done === null && !this.#given.has(id)) this.#queue.remove((each) => each === waiting);
    waiting.cancelDeadline();
    waiting.settle(done);
  }

  #leave(keyId: string): void {
    const others = (this.#waitingOf.get(keyId) ?? 0) - 1;
    if (others > 0) this.#waitingOf.set(keyId, others);
    else this.#waitingOf.delete(keyId);
  }
}

function sizeOf(job: Job): number {
  if ("ids" in job) return job.ids.reduce((sum, { length }) => sum + length, 0);
  return job.what instanceof Uint8Array ? job.what.length : bytesIn(job.what);
}

function notDecoded(): GatewayError {
  return new GatewayError(
    "service_unavailable",
    "The gateway could not count the tokens. Retry in a few seconds.",
  );
}

/** Larger bodies are not parsed here, because that would block the event loop. */
const maxParsedBytes = 1024 * 1024;

/**
 * About four bytes per token for English, and three for most other writing; one where the most is wanted, as for a hold. Never
 * throws: a charge may wait for it.
 */
export function roughCount(what: CountInput, isAtMost = false, isForClaude = false): number {
  if (!(what instanceof Uint8Array)) return isAtMost ? bytesIn(what) : roughlyIn(what);
  if (isAtMost) return Number.POSITIVE_INFINITY;
  if (what.length >= maxParsedBytes) return bytesAsTokens(what);
  try {
    const { texts, fixedTokens, claudeTokens } = parseModelInput(what);
    return fixedTokens + (isForClaude ? claudeTokens : 0) + roughlyIn(texts);
  } catch {
    return bytesAsTokens(what);
  }
}

function bytesIn(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

function bytesAsTokens(bytes: Uint8Array): number {
  return Math.ceil(bytes.length / 4);
}

function roughlyIn(texts: readonly string[]): number {
  let tokens = 0;
  for (const text of texts) {
    const bytes = Buffer.byteLength(text);
    tokens += Math.ceil(bytes / (bytes === text.length ? 4 : 3));
  }
  return tokens;
}
