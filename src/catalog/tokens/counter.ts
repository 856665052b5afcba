import { ChurnMap } from "../../base/churn-map.ts";
import { startDeadline } from "../../base/deadline.ts";
import { GatewayError } from "../../base/errors.ts";
import { IdleThread } from "../../base/idle-thread.ts";
import { startThread, threadSource } from "../../base/start-thread.ts";
import { parseModelInput } from "./model-input.ts";
import type { Countable, CountJob, DecodeJob, JobDone } from "./worker.ts";

export interface TokenCounterOptions {
  /** How long a count may take, including loading, before a rough count is returned instead. */
  readonly deadlineMs?: number;
  readonly idleMs?: number;
  readonly startWorker?: () => Worker;
}

interface Waiting {
  /** With null if the worker has not answered in time, or is gone. */
  readonly settle: (done: JobDone | null) => void;
  readonly cancelDeadline: () => void;
}

const defaultDeadlineMs = 5000;
/** The worker's own limit per count, so that one slow text does not delay the others past their deadlines. */
const workerBudgetMs = 250;
/** Beyond this many, counts are rough: a longer queue would make all of them miss their deadlines. */
const maxWaiting = 256;

const source = threadSource("catalog/tokens/worker.ts");

/**
 * Counts tokens on a worker thread: loading the encoding takes half a second, a hostile text takes long to encode, and
 * neither may block the event loop. If it cannot be started, counts are rough.
 */
export class TokenCounter {
  readonly #deadlineMs: number;
  readonly #thread: IdleThread;
  readonly #waiting = new ChurnMap<number, Waiting>();
  #nextId = 0;

  constructor({ deadlineMs, idleMs, startWorker }: TokenCounterOptions = {}) {
    this.#deadlineMs = deadlineMs ?? defaultDeadlineMs;
    this.#thread = new IdleThread({
      start: startWorker ?? (() => startThread(source, { smol: true })),
      onMessage: ({ data }: MessageEvent<JobDone>) => this.#settle(data.id, data),
      onStop: () => this.#giveUp(),
      isBusy: () => this.#waiting.size > 0,
      idleMs,
    });
  }

  /** Counts the tokens of texts. Never rejects: at worst the count is rough, and with `isAtMost` an upper bound. */
  readonly text = (texts: readonly string[], isAtMost = false): Promise<number> =>
    texts.every((text) => text === "") ? Promise.resolve(0) : this.#count(texts, isAtMost);

  /** Counts the input tokens of a request's body in any dialect, with tools and attachments. Never rejects. */
  readonly request = (body: Uint8Array, isForClaude = false): Promise<number> =>
    this.#count(body, false, isForClaude);

  /**
   * The same with the most that large attachments, and members of the body that are not known here, may add. Infinite if it
   * could not be counted: the estimate for the hold is then the best bound there is.
   */
  readonly requestAtMost = (body: Uint8Array): Promise<number> => this.#count(body, true);

  /** The texts of tokens of OpenAI's older encoding; null if one is unknown. Rejects if nobody could look. */
  readonly decode = (ids: readonly (readonly number[])[]): Promise<readonly string[] | null> => {
    const worker = this.#waiting.size < maxWaiting ? this.#thread.get() : null;
    if (worker === null) return Promise.reject(notDecoded());
    return new Promise((resolve, reject) => {
      this.#give(worker, { ids }, (done) => (done === null ? reject(notDecoded()) : resolve(done.texts)));
    });
  };

  /** Ends the thread. The next count starts it again. */
  stop(): void {
    this.#thread.stop();
  }

  #giveUp(): void {
    for (const id of [...this.#waiting.keys()]) this.#settle(id, null);
  }

  get running(): boolean {
    return this.#thread.isRunning;
  }

  #count(what: Countable, isAtMost = false, isForClaude = false): Promise<number> {
    const worker = this.#waiting.size < maxWaiting ? this.#thread.get() : null;
    const roughly = () => roughCount(what, isAtMost, isForClaude);
    if (worker === null) return Promise.resolve(roughly());
    return new Promise((resolve) => {
      this.#give(worker, { what, isAtMost, isForClaude, budgetMs: workerBudgetMs }, (done) =>
        resolve(done?.tokens ?? roughly()),
      );
    });
  }

  #give(worker: Worker, job: Omit<CountJob, "id"> | Omit<DecodeJob, "id">, settle: Waiting["settle"]): void {
    this.#nextId += 1;
    const id = this.#nextId;
    const cancelDeadline = startDeadline(this.#deadlineMs, () => this.#settle(id, null));
    this.#waiting.set(id, { settle, cancelDeadline });
    worker.postMessage({ id, ...job });
  }

  #settle(id: number, done: JobDone | null): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    waiting.cancelDeadline();
    waiting.settle(done);
  }
}

function notDecoded(): GatewayError {
  return new GatewayError("service_unavailable", "The gateway could not read the tokens; try again shortly.");
}

/** Larger bodies are not parsed here, because that would block the event loop. */
const maxParsedBytes = 1024 * 1024;

/**
 * About four bytes per token for English, and three for most other writing; one where the most is wanted, as for a hold. Never
 * throws: a charge may wait for it.
 */
export function roughCount(what: Countable, isAtMost = false, isForClaude = false): number {
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
