import { systemCode } from "../base/system/system-code.ts";
import { malformed } from "./response-head.ts";
import type { Receiver, Transfer } from "./transfer.ts";

/** Responds like `fetch`; rejects when the signal is aborted. */
export type Fetch = (signal: AbortSignal) => Promise<Response>;

/**
 * A transfer over `fetch`, or over a function that responds like it. Used for servers behind an HTTP proxy, and for the
 * built-in demo, which has no server.
 */
export class FetchTransfer implements Transfer {
  /** `fetch` does not report this. Only certain failures prove that there was no connection. */
  isConnected = true;
  readonly #fetch: Fetch;
  readonly #receiver: Receiver;
  readonly #controller = new AbortController();
  #paused: PromiseWithResolvers<void> | null = null;

  constructor(fetch: Fetch, receiver: Receiver) {
    this.#fetch = fetch;
    this.#receiver = receiver;
    this.#run();
  }

  get isSent(): boolean {
    return this.isConnected;
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
      const response = await this.#fetchLater();
      if (signal.aborted) return;
      this.#receiver.answered({ status: response.status, get: (name) => response.headers.get(name) });
      await this.#read(response);
    } catch (cause) {
      this.isConnected = !unreachableCodes.has(systemCode(cause));
      if (!signal.aborted)
        this.#receiver.failed(systemCode(cause) === malformedCode ? malformed("fetch rejected it") : cause);
      return;
    }
    if (!signal.aborted) this.#receiver.ended();
  }

  /** Asynchronous, so that the receiver is not called before the constructor returns, even if `fetch` throws. */
  async #fetchLater(): Promise<Response> {
    return this.#fetch(this.#controller.signal);
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
    // The signal ends the body of a real `fetch`, but not of a function like it.
    await reader.cancel();
  }
}

/** Errors of `fetch` that prove there was no connection: unknown host, refused by it or by the proxy, no tunnel. */
const unreachableCodes: ReadonlySet<string | null> = new Set([
  "ENOTFOUND",
  "ECONNREFUSED",
  "ERR_PROXY_TUNNEL",
]);
const malformedCode = "Malformed_HTTP_Response";
