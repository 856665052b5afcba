import type { Socket } from "bun";
import type { Head, Receiver, Transfer } from "./transfer.ts";

/** The connection that a request is on, as far as the request controls it. */
export interface TransferConnection {
  /** The kernel has accepted the whole request. */
  readonly isSent: boolean;
  pause(): void;
  resume(): void;
  drop(): void;
}

/** One request over a socket: waiting for a connection, on one, or over. */
export class SocketTransfer implements Transfer {
  /** Request line and headers, without the body's length. */
  readonly head: string;
  /** Empty once a response has begun: nothing is resent then, and a stream may last long. */
  body: Uint8Array | string;
  readonly receiver: Receiver;
  /** A connection is never shared between callers. */
  readonly caller: string;
  /** Null while the request waits for one, and once the transfer is over. */
  connection: TransferConnection | null = null;
  /** Set before a resend: another kept connection might be just as stale. On a new one there is no second resend. */
  needsNewConnection = false;
  isPaused = false;
  readonly #leaveQueue: (transfer: SocketTransfer) => void;

  constructor(
    head: string,
    body: Uint8Array | string,
    receiver: Receiver,
    caller: string,
    leaveQueue: (transfer: SocketTransfer) => void,
  ) {
    this.head = head;
    this.body = body;
    this.receiver = receiver;
    this.caller = caller;
    this.#leaveQueue = leaveQueue;
  }

  get isConnected(): boolean {
    return this.connection !== null;
  }

  get isSent(): boolean {
    return this.connection?.isSent === true;
  }

  pause(): void {
    this.isPaused = true;
    this.connection?.pause();
  }

  resume(): void {
    this.isPaused = false;
    this.connection?.resume();
  }

  cancel(): void {
    if (this.connection === null) this.#leaveQueue(this);
    else this.connection.drop();
    this.connection = null;
  }

  answered(head: Head): void {
    this.body = "";
    this.receiver.answered(head);
  }

  ended(): void {
    this.connection = null;
    this.receiver.ended();
  }

  /** The receiver reads `isConnected` to learn whether anything was sent, so that is cleared only afterwards. */
  failed(cause: unknown): void {
    this.receiver.failed(cause);
    this.connection = null;
  }
}

type WritableSocket = Pick<Socket<unknown>, "write">;

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

/** Head and body up to this size leave in one write; a separate write for the head would wake the server twice. */
const capacityBytes = 256 * 1024;

/**
 * The buffer that requests are assembled in, one at a time. Consecutive requests mostly have the same head, so the
 * encoded head is left in place and only rewritten when it differs.
 */
class RequestBuffer {
  readonly bytes = Buffer.allocUnsafe(capacityBytes);
  /** Number of bytes of `bytes` that the last request takes up. */
  length = 0;
  #head = "";
  #headBytes = 0;

  /** Returns the body if it did not fit, otherwise null. */
  put(head: string, body: Uint8Array | string): Uint8Array | null {
    const bodyBytes = typeof body === "string" ? Buffer.byteLength(body) : body.length;
    const at = this.#putHead(head, bodyBytes);
    if (at + bodyBytes > capacityBytes) {
      this.length = at;
      return typeof body === "string" ? Buffer.from(body) : body;
    }
    if (typeof body === "string") this.bytes.write(body, at);
    else this.bytes.set(body, at);
    this.length = at + bodyBytes;
    return null;
  }

  /** Returns where the body begins. */
  #putHead(head: string, bodyBytes: number): number {
    const { bytes } = this;
    if (head !== this.#head) {
      this.#headBytes = bytes.write(`${head}content-length: `, "latin1");
      this.#head = head;
    }
    return this.#headBytes + bytes.write(`${bodyBytes}\r\n\r\n`, this.#headBytes, "latin1");
  }
}

/** Shared by all connections: a request is assembled and written without an await in between. */
const buffer = new RequestBuffer();
