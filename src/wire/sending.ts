import type { Connection } from "./connection.ts";
import type { Receiver, Transfer } from "./transfer.ts";

/** One request: waiting for a connection, on one, or over. */
export class Sending implements Transfer {
  /** Request line and headers, all but the length of the body. */
  readonly head: string;
  readonly body: Uint8Array | string;
  readonly receiver: Receiver;
  /** Who asks. It shares its connection with no other. */
  readonly caller: string;
  /** The one that it is on; null while it waits and when it is over. */
  connection: Connection | null = null;
  /** A kept connection was lost with it, so it takes no other that may be as old; on a new one it is sent for good. */
  needsNewConnection = false;
  /** Its receiver wants nothing for now. The connection it is on must go on once it is over. */
  isPaused = false;
  readonly #leaveQueue: (sending: Sending) => void;

  constructor(
    head: string,
    body: Uint8Array | string,
    receiver: Receiver,
    caller: string,
    leaveQueue: (sending: Sending) => void,
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

  ended(): void {
    this.connection = null;
    this.receiver.ended();
  }

  /** Whether it was on a connection can still be seen by the receiver: without one, nothing was sent. */
  failed(cause: unknown): void {
    this.receiver.failed(cause);
    this.connection = null;
  }
}
