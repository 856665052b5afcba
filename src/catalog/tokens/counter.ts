import { startThread } from "../../base/start-thread.ts";
import { readableIn } from "./request.ts";
import type { Countable, CountDone, CountJob } from "./worker.ts";

/**
 * Counts tokens on a thread of its own, because the encoding takes half a second to load and a nasty text
 * takes long to encode, and neither may stop the thread that moves the streams. The thread starts with the
 * first count and ends when nobody has counted for a while, so that an idle gateway stays small.
 */
export interface TokenCounterOptions {
  /** How long one count may take, loading included, before a rough one is given instead. */
  readonly deadlineMs?: number;
  readonly idleMs?: number;
  readonly startWorker?: () => Worker;
}

interface Waiting {
  readonly resolve: (tokens: number) => void;
  readonly what: Countable;
  readonly timer: ReturnType<typeof setTimeout>;
}

const defaultDeadlineMs = 5000;
const defaultIdleMs = 300_000;
/** The worker's own limit per count, so that one long text does not cost those behind it their real counts. */
const workerBudgetMs = 250;
/** More than so many at once are counted roughly; queueing them would only make all of them late. */
const mostWaiting = 256;

/**
 * In the executable a worker is an extra entry point, named by its path below the common folder of all entry
 * points (`src`): build with `src/catalog/tokens/worker.ts` beside `src/main.ts`. From source it is the file
 * beside this one. Without it counting still works, roughly.
 */
const workerSource = Bun.isStandaloneExecutable
  ? "./catalog/tokens/worker.ts"
  : new URL("./worker.ts", import.meta.url).href;

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

  /** Tokens of texts. Never rejects: the worst that happens is a rough count. */
  readonly text = (texts: readonly string[]): Promise<number> =>
    texts.every((text) => text === "") ? Promise.resolve(0) : this.#count(texts);

  /** Input tokens of a request's body in any dialect: messages, instructions, tools, pictures. Never rejects. */
  readonly request = (body: Uint8Array): Promise<number> => this.#count(body);

  /** Ends the thread; a later count starts it again. */
  stop(): void {
    this.#worker?.terminate();
    this.#worker = null;
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
    for (const id of [...this.#waiting.keys()]) this.#settle(id, null);
  }

  get running(): boolean {
    return this.#worker !== null;
  }

  #count(what: Countable): Promise<number> {
    const worker = this.#waiting.size < mostWaiting ? this.#running() : null;
    if (worker === null) return Promise.resolve(roughCount(what));
    this.#nextId += 1;
    const job: CountJob = { id: this.#nextId, what, budgetMs: workerBudgetMs };
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#settle(job.id, null), this.#deadlineMs);
      this.#waiting.set(job.id, { resolve, what, timer });
      worker.postMessage(job);
    });
  }

  #running(): Worker | null {
    this.#postponeEnd();
    if (this.#worker !== null) return this.#worker;
    try {
      const worker = this.#startWorker();
      worker.onmessage = ({ data }: MessageEvent<CountDone>) => this.#settle(data.id, data.tokens);
      worker.onerror = () => this.stop();
      worker.unref();
      this.#worker = worker;
    } catch {
      return null;
    }
    return this.#worker;
  }

  #postponeEnd(): void {
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => {
      if (this.#waiting.size > 0) this.#postponeEnd();
      else this.stop();
    }, this.#idleMs);
    this.#idleTimer.unref();
  }

  #settle(id: number, tokens: number | null): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    clearTimeout(waiting.timer);
    waiting.resolve(tokens ?? roughCount(waiting.what));
  }
}

/** Parsing it would hold up the thread that asks. Whoever wants to know more has the estimate as an upper bound. */
const tooLargeToRead = 1024 * 1024;

/** Four bytes a token is what English has, three what most other writing has. */
export function roughCount(what: Countable): number {
  if (what instanceof Uint8Array && what.length >= tooLargeToRead) return Math.ceil(what.length / 4);
  const { texts, fixedTokens } =
    what instanceof Uint8Array ? readableIn(what) : { texts: what, fixedTokens: 0 };
  let tokens = fixedTokens;
  for (const text of texts) {
    const bytes = Buffer.byteLength(text);
    tokens += Math.ceil(bytes / (bytes === text.length ? 4 : 3));
  }
  return tokens;
}
