import { startDeadline } from "../../base/deadline.ts";
import { GatewayError } from "../../base/errors.ts";
import { startThread } from "../../base/start-thread.ts";
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
const defaultIdleMs = 300_000;
/** The worker's own limit per count, so that one slow text does not delay the others past their deadlines. */
const workerBudgetMs = 250;
/** Beyond this many, counts are rough: a longer queue would make all of them miss their deadlines. */
const maxWaiting = 256;

/**
 * In the executable the worker is an extra entry point, named by its path below `src`, the common folder of all entry
 * points. From source it is the file next to this one. If it cannot be started, counts are rough.
 */
const workerSource = Bun.isStandaloneExecutable
  ? "./catalog/tokens/worker.ts"
  : new URL("./worker.ts", import.meta.url).href;

/**
 * Counts tokens on a worker thread: loading the encoding takes half a second, a hostile text takes long to encode, and
 * neither may block the event loop. The thread starts with the first count and ends after a while without
 * one, so that an idle gateway needs little memory.
 */
export class TokenCounter {
  readonly #deadlineMs: number;
  readonly #idleMs: number;
  readonly #startWorker: () => Worker;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  #idleTimer: ReturnType<typeof setTimeout> | null = null;
  #nextId = 0;

  constructor(options: TokenCounterOptions = {}) {
    this.#deadlineMs = options.deadlineMs ?? defaultDeadlineMs;
    this.#idleMs = options.idleMs ?? defaultIdleMs;
    this.#startWorker = options.startWorker ?? (() => startThread(workerSource, { smol: true }));
  }

  /** Counts the tokens of texts. Never rejects: at worst the count is rough. */
  readonly text = (texts: readonly string[]): Promise<number> =>
    texts.every((text) => text === "") ? Promise.resolve(0) : this.#count(texts);

  /** Counts the input tokens of a request's body in any dialect, with tools and attachments. Never rejects. */
  readonly request = (body: Uint8Array): Promise<number> => this.#count(body);

  /** The same with the most that large attachments, and members of the body that are not known here, may add. */
  readonly requestAtMost = (body: Uint8Array): Promise<number> => this.#count(body, true);

  /** The texts of tokens of OpenAI's older encoding; null if one is unknown. Rejects if nobody could look. */
  readonly decode = (ids: readonly (readonly number[])[]): Promise<readonly string[] | null> => {
    const worker = this.#waiting.size < maxWaiting ? this.#ensureWorker() : null;
    if (worker === null) return Promise.reject(notDecoded());
    return new Promise((resolve, reject) => {
      this.#give(worker, { ids }, (done) => (done === null ? reject(notDecoded()) : resolve(done.texts)));
    });
  };

  /** Ends the thread. The next count starts it again. */
  stop(): void {
    this.#worker?.terminate();
    this.#worker = null;
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
    for (const id of [...this.#waiting.keys()]) this.#settle(id, null);
  }

  get running(): boolean {
    return this.#worker !== null;
  }

  #count(what: Countable, isAtMost = false): Promise<number> {
    const worker = this.#waiting.size < maxWaiting ? this.#ensureWorker() : null;
    if (worker === null) return Promise.resolve(roughCount(what, isAtMost));
    return new Promise((resolve) => {
      this.#give(worker, { what, isAtMost, budgetMs: workerBudgetMs }, (done) =>
        resolve(done?.tokens ?? roughCount(what, isAtMost)),
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

  #ensureWorker(): Worker | null {
    this.#restartIdleTimer();
    if (this.#worker !== null) return this.#worker;
    try {
      const worker = this.#startWorker();
      worker.onmessage = ({ data }: MessageEvent<JobDone>) => this.#settle(data.id, data);
      worker.onerror = () => this.stop();
      worker.unref();
      this.#worker = worker;
    } catch {
      return null;
    }
    return this.#worker;
  }

  #restartIdleTimer(): void {
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => {
      if (this.#waiting.size > 0) this.#restartIdleTimer();
      else this.stop();
    }, this.#idleMs);
    this.#idleTimer.unref();
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

/** About four bytes per token for English, and three for most other writing. Never throws: a charge may wait for it. */
export function roughCount(what: Countable, isAtMost = false): number {
  if (!(what instanceof Uint8Array)) return roughlyIn(what);
  if (what.length >= maxParsedBytes) return bytesAsTokens(what);
  try {
    const { texts, fixedTokens, possibleTokens } = parseModelInput(what);
    return fixedTokens + (isAtMost ? possibleTokens : 0) + roughlyIn(texts);
  } catch {
    return bytesAsTokens(what);
  }
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
