import { bodyPacer } from "../../base/loop/body-pacer.ts";
import type { ClientCall, DirectController, Piece, StreamSource } from "../exchange/client-call.ts";
import type { Exchange } from "../exchange/exchange.ts";
import { sourceResponse } from "./client-stream.ts";

export interface PacedBody {
  /** Read one by one, each when the one before was sent. `isOver`: nothing more is wanted. */
  pieces(isOver: () => boolean): AsyncIterable<Piece> | Iterable<Piece>;
  /** Called at least once when the body is over, for whatever reason. */
  release?(): void;
}

/**
 * A body of any length, sent as fast as its client reads it: every body that was stored, and every large one. What the exchange has
 * taken for it is released when the body is over, not with the exchange.
 */
export function pacedResponse(
  { call, configured, taken }: Exchange,
  body: PacedBody,
  head: ResponseInit,
): Response {
  const { memory, download } = taken;
  taken.memory = taken.download = null;
  const release = () => {
    memory?.release();
    download?.release();
    body.release?.();
  };
  const { clientIdleTimeoutMs } = configured.settings.server;
  return sourceResponse(new PacedSource(call, { ...body, release }, clientIdleTimeoutMs), call, () => head);
}

/** Writes a body piece by piece, each through the pacer. A client that stalls is disconnected. */
export class PacedSource implements StreamSource {
  readonly #call: ClientCall;
  readonly #body: PacedBody;
  readonly #idleMs: number;
  #isOver = false;

  constructor(call: ClientCall, body: PacedBody, idleMs: number) {
    this.#call = call;
    this.#body = body;
    this.#idleMs = idleMs;
    const { signal } = call.request;
    // The runtime neither pulls nor cancels the stream of a client that has already disconnected.
    if (signal.aborted) this.cancel();
    else signal.addEventListener("abort", () => this.cancel(), { once: true });
  }

  async pull(controller: DirectController): Promise<void> {
    this.#call.keepWaiting();
    try {
      for await (const piece of this.#body.pieces(() => this.#isOver)) {
        await bodyPacer.wait();
        if (this.#isOver) return;
        const written = controller.write(piece);
        if (written instanceof Promise) await this.#untilRead(written);
        if (this.#isOver) return;
      }
      // What was written last may not have been sent yet.
      this.#call.disconnect(this.#idleMs);
      controller.end();
    } catch (error) {
      // What breaks off must not look complete.
      this.#call.disconnect();
      throw error;
    } finally {
      this.cancel();
    }
  }

  cancel(): void {
    this.#isOver = true;
    this.#body.release?.();
  }

  async #untilRead(written: Promise<number>): Promise<void> {
    this.#call.disconnect(this.#idleMs);
    await written;
    this.#call.keepWaiting();
  }
}
