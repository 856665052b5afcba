import { GatewayError } from "../../base/errors.ts";
import { sharedCopy } from "../../base/shared-bytes.ts";
import { startThread } from "../../base/start-thread.ts";
import { TurnPacer } from "../../base/turn-pacer.ts";
import { FailedAnswer } from "../../dialects/errors/failure.ts";
import type { ParsedEvent } from "../../dialects/sse/frame.ts";
import type { DoneMessage, ExpectedError, Job, JobMessage, ResultOf } from "./jobs.ts";

/**
 * In the executable a worker is an extra entry point, named by its path below the common folder of all entry points
 * (`src`); see build.ts. From source it is the file beside this one.
 */
const threadSource = Bun.isStandaloneExecutable
  ? "./gateway/large/thread.ts"
  : new URL("./thread.ts", import.meta.url).href;

const idleMs = 300_000;

interface Waiting {
  readonly type: Job["type"];
  resolve(result: never): void;
  reject(error: Error): void;
}

/**
 * Processes large requests and answers on a thread of its own: parsing 31 MB takes up to half a second, and writing or hashing them a
 * tenth, during which no stream would move. The thread starts with the first large body and ends when it has been idle
 * for a while.
 */
export class LargeBodies {
  /** For what is done with large bodies on the event loop: copying one takes milliseconds. */
  readonly pacer = new TurnPacer();
  readonly #waiting = new Map<number, Waiting>();
  readonly #startThread: () => Worker;
  #thread: Worker | null = null;
  #idleTimer: ReturnType<typeof setTimeout> | null = null;
  #lastId = 0;
  /** Set once no more requests are read or prepared. */
  #refusal: GatewayError | null = null;

  constructor(start: () => Worker = () => startThread(threadSource, { smol: true })) {
    this.#startThread = start;
  }

  /** Rejects with the job's refusal. Results come one in a turn, because taking one takes milliseconds too. */
  async run<J extends Job>(job: J): Promise<ResultOf<J>> {
    const result = await this.#send(job);
    await this.pacer.turn();
    return result;
  }

  /** An event of a stream, or its data. */
  async parseEvent(event: string | Uint8Array): Promise<ParsedEvent> {
    await this.pacer.turn();
    return this.run({ type: "event", source: typeof event === "string" ? event : sharedCopy(event) });
  }

  #send<J extends Job>(job: J): Promise<ResultOf<J>> {
    if (this.#refusal !== null && isForRequest(job.type)) return Promise.reject(this.#refusal);
    const thread = this.#running();
    if (thread === null) return Promise.reject(threadLost());
    this.#lastId += 1;
    const message: JobMessage = { id: this.#lastId, job };
    return new Promise((resolve, reject) => {
      this.#waiting.set(message.id, { type: job.type, resolve, reject });
      thread.postMessage(message);
    });
  }

  /**
   * Refuses requests from now on, also those that wait: a shutdown should not take as long as their jobs, which cannot be
   * interrupted. Answers are still read, because a provider has been paid for them.
   */
  refuseRequests(error: GatewayError): void {
    this.#refusal = error;
    for (const [id, { type, reject }] of this.#waiting) {
      if (!isForRequest(type)) continue;
      this.#waiting.delete(id);
      reject(error);
    }
  }

  /** Ends the thread; a later job starts it again. */
  stop(): void {
    this.#thread?.terminate();
    this.#thread = null;
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
    const lost = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of lost) reject(threadLost());
  }

  #running(): Worker | null {
    this.#postponeEnd();
    if (this.#thread !== null) return this.#thread;
    try {
      const thread = this.#startThread();
      thread.onmessage = ({ data }: MessageEvent<DoneMessage>) => this.#done(data);
      thread.onerror = () => this.stop();
      thread.unref();
      this.#thread = thread;
    } catch {
      return null;
    }
    return this.#thread;
  }

  #postponeEnd(): void {
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => {
      if (this.#waiting.size > 0) this.#postponeEnd();
      else this.stop();
    }, idleMs);
    this.#idleTimer.unref();
  }

  #done(message: DoneMessage): void {
    const waiting = this.#waiting.get(message.id);
    if (waiting === undefined) return;
    this.#waiting.delete(message.id);
    // The thread answers each job with the result of its kind.
    if ("result" in message) waiting.resolve(message.result as never);
    else if ("refusal" in message) waiting.reject(refused(message.refusal));
    else waiting.reject(new Error(`a large body could not be worked on: ${message.failure}`));
  }
}

function isForRequest(type: Job["type"]): boolean {
  return type !== "answer" && type !== "event";
}

function refused({ code, message, param, vendor, reported }: ExpectedError): GatewayError {
  const error = new GatewayError(code, message, { param, vendor });
  return reported === null ? error : new FailedAnswer(error, reported.usage, reported.extras);
}

function threadLost(): GatewayError {
  return new GatewayError(
    "service_unavailable",
    "The gateway could not read a large body; try again shortly.",
  );
}
