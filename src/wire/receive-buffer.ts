import { autotuneReceiveBuffer, limitSocketBuffer } from "../base/system/socket-buffers.ts";
import type { Head } from "./transfer.ts";

/** Twice of this, as the kernel counts: less than Bun reads at once, so that it does not read again before it can be paused. */
const streamBytes = 128 * 1024;
const eventStream = /^text\/event-stream/i;
const shortBytes = 64 * 1024;
/** Size up to which the kernel's buffer may grow for long responses. */
const longBytes = 1024 * 1024;

/**
 * Limits the kernel's buffer for a connection. By default it grows to 6 MB, and Bun reads several half megabytes of it
 * before the socket can be paused. For a stream whose client stalls, all of that would stay in memory. A long response
 * that is not a stream is read as fast as it arrives, so its buffer may grow.
 */
export class ReceiveBuffer {
  readonly #descriptor: number;
  #isNarrow = false;

  /** Bun's sockets have an `fd` that its types do not mention. */
  constructor(socket: object) {
    this.#descriptor = "fd" in socket && typeof socket.fd === "number" ? socket.fd : -1;
    this.#narrow();
  }

  /** `length` is null if only the response's end tells its length. */
  answered(head: Head, length: number | null): void {
    // A short answer fits into any of them.
    if (length !== null && length <= shortBytes) return;
    if (eventStream.test(head.get("content-type") ?? "")) this.#narrow();
    else if (this.#isNarrow) {
      this.#isNarrow = false;
      limitSocketBuffer(this.#descriptor, "receive", longBytes);
      autotuneReceiveBuffer(this.#descriptor);
    }
  }

  #narrow(): void {
    if (this.#isNarrow || this.#descriptor < 0) return;
    this.#isNarrow = limitSocketBuffer(this.#descriptor, "receive", streamBytes);
  }
}
