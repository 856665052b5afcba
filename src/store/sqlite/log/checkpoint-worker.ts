import { startThread, threadSource } from "../../../base/threads/start-thread.ts";
import type { FromThread, LogState, ToThread } from "./checkpoint-messages.ts";

const checkpointThread = threadSource("store/sqlite/log/checkpoint-thread.ts");

export class CheckpointFailure extends Error {
  readonly #code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = "CheckpointFailure";
    this.#code = code;
  }

  /** A failed sync shows up here first if this thread was the first to sync. */
  get isOfDisk(): boolean {
    return this.#code.startsWith("SQLITE_IOERR_FSYNC");
  }
}

/** The event loop's handle on the checkpoint thread. */
export class CheckpointWorker {
  readonly #worker: Worker;
  #waiting: PromiseWithResolvers<LogState> | null = null;
  #isDead = false;

  private constructor(worker: Worker) {
    this.#worker = worker;
    worker.onmessage = (event: MessageEvent<FromThread>) => this.#answered(event.data);
    worker.onerror = (event) => {
      this.#isDead = true;
      this.#waiting?.reject(new CheckpointFailure("", event.message));
    };
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  static async open(file: string): Promise<CheckpointWorker> {
    const worker = new CheckpointWorker(startThread(checkpointThread));
    try {
      await worker.ask({ kind: "open", file });
      return worker;
    } catch (error) {
      worker.#worker.terminate();
      throw error;
    }
  }

  /** One request at a time. */
  ask(question: ToThread): Promise<LogState> {
    this.#waiting = Promise.withResolvers<LogState>();
    this.#worker.postMessage(question);
    return this.#waiting.promise;
  }

  async close(): Promise<void> {
    try {
      await this.ask({ kind: "close" });
    } finally {
      this.#worker.terminate();
    }
  }

  #answered(answer: FromThread): void {
    if (answer.kind === "done") this.#waiting?.resolve(answer.log);
    else this.#waiting?.reject(new CheckpointFailure(answer.code, answer.message));
  }
}
