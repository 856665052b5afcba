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
