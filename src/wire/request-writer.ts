import type { Socket } from "bun";
import { RequestBuffer } from "./request-buffer.ts";

type WritableSocket = Pick<Socket<unknown>, "write">;

/** Shared by all connections: a request is assembled and written without an await in between. */
const buffer = new RequestBuffer();

/** Writes the requests of one connection, and keeps count of what the kernel has accepted. */
export class RequestWriter {
  startedAtMs = 0;
  /** Bytes of the current request that the kernel has accepted. */
  sentBytes = 0;
  /** After a failed write the kernel no longer distinguishes a close from a reset. */
  hasFailed = false;
  #unsent: Uint8Array | null = null;

  /** The kernel has accepted the whole request. */
  get isDone(): boolean {
    return this.#unsent === null;
  }

  start(socket: WritableSocket, head: string, body: Uint8Array | string): void {
    this.startedAtMs = performance.now();
    this.sentBytes = 0;
    const rest = buffer.put(head, body);
    const { bytes, length } = buffer;
    const written = this.#count(socket.write(bytes, 0, length));
    // A copy, because the next request overwrites the buffer.
    if (written < length) this.#unsent = Buffer.from(bytes.subarray(written, length));
    if (rest !== null) this.#write(socket, rest);
  }

  /** Called when the socket has room again. */
  continue(socket: WritableSocket): void {
    const unsent = this.#unsent;
    this.#unsent = null;
    if (unsent !== null) this.#write(socket, unsent);
  }

  /** Forgets what was not sent. */
  abandon(): void {
    this.#unsent = null;
  }

  #write(socket: WritableSocket, bytes: Uint8Array): void {
    if (this.#unsent !== null) {
      this.#unsent = Buffer.concat([this.#unsent, bytes]);
      return;
    }
    const written = this.#count(socket.write(bytes));
    if (written < bytes.length) this.#unsent = bytes.subarray(written);
  }

  /** `write` returns -1 on a broken connection. */
  #count(written: number): number {
    if (written < 0) this.hasFailed = true;
    const accepted = Math.max(0, written);
    this.sentBytes += accepted;
    return accepted;
  }
}
