import { malformed } from "./answer-head.ts";
import type { Receiver, Transfer } from "./transfer.ts";

/** Answers like `fetch`; rejects when the signal fires. */
export type Ask = (signal: AbortSignal) => Promise<Response>;

/**
 * A transfer by `fetch`, or by something that answers like it. It is how servers behind an HTTP proxy are
 * reached, and the built-in demo, which has no server at all.
 */
export class FetchTransfer implements Transfer {
  /** Not told by `fetch`, but for a failure that means that nobody was there. */
  isConnected = true;
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
      const response = await this.#askLater();
      if (signal.aborted) return;
      this.#receiver.answered({ status: response.status, get: (name) => response.headers.get(name) });
      await this.#read(response);
    } catch (cause) {
      this.isConnected = !unreachableCodes.has(codeOf(cause));
      if (!signal.aborted)
        this.#receiver.failed(codeOf(cause) === malformedCode ? malformed("fetch refused it") : cause);
      return;
    }
    if (!signal.aborted) this.#receiver.ended();
  }

  /** Asynchronous, so that nothing is told before the constructor has returned, even if asking throws. */
  async #askLater(): Promise<Response> {
    return this.#ask(this.#controller.signal);
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

/** Failures of `fetch` that mean that nobody was there: no such host, no connection to it or to the proxy, no way through that. */
const unreachableCodes: ReadonlySet<unknown> = new Set(["ENOTFOUND", "ECONNREFUSED", "ERR_PROXY_TUNNEL"]);
const malformedCode = "Malformed_HTTP_Response";

function codeOf(cause: unknown): unknown {
  return cause instanceof Error && "code" in cause ? cause.code : null;
}
