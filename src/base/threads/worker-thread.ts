import { systemCode } from "../system/system-code.ts";
import { IdleThread } from "./idle-thread.ts";

/** An error on a thread, which crosses to the caller as its code and its text. */
export class ThreadError extends Error {
  override readonly name = "ThreadError";
  /** Empty if it has none. */
  readonly code: string;

  constructor({ code, message, stack }: ThreadFailure) {
    super(message);
    this.code = code;
    this.stack = stack;
  }
}

interface ThreadFailure {
  readonly code: string;
  readonly message: string;
  readonly stack: string;
}

type Reply<Answer> = { readonly answer: Answer } | { readonly failure: ThreadFailure };

export interface WorkerThreadOptions<Question> {
  readonly start: () => Worker;
  /** The error for pending questions if the thread cannot be started, or is gone. */
  readonly lost: () => Error;
  /** Sent first whenever the thread starts. If it fails, the thread ends. */
  readonly opening?: Question;
}

/** A thread that answers questions one after the other. It runs while it is needed. */
export class WorkerThread<Question, Answer> {
  readonly #thread: IdleThread;
  readonly #lost: () => Error;
  readonly #opening: Question | undefined;
  #waiting: PromiseWithResolvers<Reply<Answer>> | null = null;

  constructor({ start, lost, opening }: WorkerThreadOptions<Question>) {
    this.#lost = lost;
    this.#opening = opening;
    this.#thread = new IdleThread({
      start,
      onMessage: ({ data }: MessageEvent<Reply<Answer>>) => this.#waiting?.resolve(data),
      onStop: () => this.#waiting?.reject(lost()),
      isBusy: () => this.#waiting !== null,
    });
  }

  get isRunning(): boolean {
    return this.#thread.isRunning;
  }

  /** Only if none other waits. Rejects with a `ThreadError` for what fails on the thread. */
  ask(question: Question): Promise<Answer> {
    if (this.isRunning || this.#opening === undefined) return this.#ask(question);
    return this.start().then(() => this.#ask(question));
  }

  /** Starts the thread ahead of the first question, if it does not run. */
  async start(): Promise<void> {
    if (this.isRunning || this.#opening === undefined) return;
    try {
      await this.#ask(this.#opening);
    } catch (error) {
      this.stop();
      throw error;
    }
  }

  async #ask(question: Question): Promise<Answer> {
    const worker = this.#thread.get();
    if (worker === null) throw this.#lost();
    this.#waiting = Promise.withResolvers<Reply<Answer>>();
    worker.postMessage(question);
    try {
      const reply = await this.#waiting.promise;
      if ("failure" in reply) throw new ThreadError(reply.failure);
      return reply.answer;
    } finally {
      this.#waiting = null;
    }
  }

  /** Ends the thread; the next question starts it again. */
  stop(): void {
    this.#thread.stop();
  }
}

declare const self: Worker;

/** On the thread: answers every question. With `collects`, its garbage is collected after each, which an idle thread does not do by itself. */
export function serveRequests<Question, Answer>(
  answer: (question: Question) => Answer,
  { collects = false } = {},
): void {
  self.onmessage = ({ data }: MessageEvent<Question>) => {
    self.postMessage(replyTo(data, answer));
    if (collects) Bun.gc(false);
  };
}

function replyTo<Question, Answer>(
  question: Question,
  answer: (question: Question) => Answer,
): Reply<Answer> {
  try {
    return { answer: answer(question) };
  } catch (error) {
    const { message, stack = message } = error instanceof Error ? error : new Error(String(error));
    return { failure: { code: systemCode(error) ?? "", message, stack } };
  }
}
