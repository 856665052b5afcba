import { startThread, threadSource } from "../../../base/threads/start-thread.ts";
import { BatchFailure, type TimedWriter } from "../../journal/batch-writer.ts";
import type { JournalItem } from "../../records.ts";
import { type FromThread, pack, type ToThread } from "./thread-messages.ts";

const writerThread = threadSource("store/sqlite/writers/writer-thread.ts");

/** Passes batches to a separate thread, so that a slow disk does not block the thread that relays streams. */
export class ThreadWriter implements TimedWriter {
  readonly #worker: Worker;
  #waiting: PromiseWithResolvers<void> | null = null;
  #dead: Error | null = null;
  #lastCommitMs = 0;

  private constructor(worker: Worker) {
    this.#worker = worker;
    worker.onmessage = (event: MessageEvent<FromThread>) => this.#answered(event.data);
    worker.onerror = (event) => this.#died(event.message);
  }

  get lastCommitMs(): number {
    return this.#lastCommitMs;
  }

  static async open(file: string, source = writerThread): Promise<ThreadWriter> {
    const writer = new ThreadWriter(startThread(source));
    try {
      await writer.#ask({ kind: "open", file });
    } catch (error) {
      writer.#worker.terminate();
      throw error;
    }
    return writer;
  }

  write(items: readonly JournalItem[], rollUp: boolean): Promise<void> {
    return this.#ask({ kind: "write", items: pack(items), rollUp });
  }

  async close(): Promise<void> {
    try {
      await this.#ask({ kind: "close" });
    } finally {
      this.#worker.terminate();
    }
  }

  /** One request at a time: the journal awaits a batch before it sends the next. */
  #ask(question: ToThread): Promise<void> {
    if (this.#dead !== null) return Promise.reject(this.#dead);
    this.#waiting = Promise.withResolvers<void>();
    this.#worker.postMessage(question);
    return this.#waiting.promise;
  }

  #answered(answer: FromThread): void {
    if (answer.kind === "done") {
      this.#lastCommitMs = answer.commitMs;
      this.#waiting?.resolve();
    } else this.#waiting?.reject(new BatchFailure(answer.reason, answer.message));
  }

  /** It is unknown whether its last batch was committed, so it is not retried and the store stays unhealthy. */
  #died(message: string): void {
    this.#dead = new Error(`The writer thread failed: ${message}`);
    this.#waiting?.reject(this.#dead);
  }
}
