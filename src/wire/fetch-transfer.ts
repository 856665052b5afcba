import { isConnectionLost, type Receiver, staleMs, type Transfer } from "./transfer.ts";

/** Answers like `fetch`; rejects when the signal fires. */
export type Ask = (signal: AbortSignal) => Promise<Response>;

/**
 * A transfer by `fetch`, or by something that answers like it. It is how servers behind an HTTP proxy are
 * reached, and the built-in demo, which has no server at all.
 */
export class FetchTransfer implements Transfer {
  /** `fetch` does not tell. */
  readonly isConnected = true;
  readonly #ask: Ask;
  readonly #receiver: Receiver;
  readonly #controller = new AbortController();
  #paused: PromiseWithResolvers<void> | null = null;

  constructor(ask: Ask, receiver: Receiver) {
    this.#ask = ask;
    this.#receiver = receiver;
    this.#run();
  }

  pause(): void {
    this.#paused ??= Promise.withResolvers<void>();
  }

  resume(): void {
    this.#paused?.resolve();
    this.#paused = null;
  }

  cancel(): void {
    this.#controller.abort();
    this.resume();
  }

  async #run(): Promise<void> {
    const { signal } = this.#controller;
    try {
      const response = await this.#askTwice();
      if (signal.aborted) return;
      this.#receiver.answered({ status: response.status, get: (name) => response.headers.get(name) });
      await this.#read(response);
    } catch (cause) {
      if (!signal.aborted) this.#receiver.failed(cause);
      return;
    }
    if (!signal.aborted) this.#receiver.ended();
  }

  async #askTwice(): Promise<Response> {
    const { signal } = this.#controller;
    const startedMs = performance.now();
    try {
      return await this.#ask(signal);
    } catch (cause) {
      const isStale = isConnectionLost(cause) && performance.now() - startedMs < staleMs;
      if (!isStale || signal.aborted) throw cause;
      return this.#ask(signal);
    }
  }

  async #read({ body }: Response): Promise<void> {
    const { signal } = this.#controller;
    const reader = body?.getReader();
    if (reader === undefined) return;
    while (!signal.aborted) {
      const { done, value } = await reader.read();
      if (done) return;
      if (signal.aborted) break;
      this.#receiver.received(value);
      if (this.#paused !== null && !signal.aborted) await this.#paused.promise;
    }
    // The body of a `fetch` ends by the signal; that of something like it has to be told.
    await reader.cancel();
  }
}
