import type { Socket, SocketHandler } from "bun";
import { assert } from "../base/assert.ts";
import { AnswerReader } from "./answer-reader.ts";
import { ClosedConnection } from "./delivery.ts";
import { OutgoingBytes } from "./outgoing-bytes.ts";
import type { Sending } from "./sending.ts";
import { connectionLost, type Head, staleMs } from "./transfer.ts";

/** Whom a connection belongs to. */
export interface ConnectionOwner {
  /** It can carry a request now. */
  ready(connection: Connection): void;
  /** It was idle, or never stood, and is gone. */
  gone(connection: Connection, cause: unknown): void;
  /** The server closed before it received the request; safe to resend. */
  sendAfresh(sending: Sending): void;
}

/** For all connections, since a request is written in one go. */
const outgoing = new OutgoingBytes();

/** One connection to one server: carries a request, reads its answer, and then the next. */
export class Connection {
  /** How often it was found idle since it was last used. */
  idleSweeps = 0;
  /** Whose requests it carries; null before the first. */
  caller: string | null = null;
  readonly #owner: ConnectionOwner;
  readonly #isSecure: boolean;
  readonly #reader = new AnswerReader();
  #socket: Socket<Connection> | null = null;
  #sending: Sending | null = null;
  #sentAtMs = 0;
  /** Bytes of the present request that the kernel has taken. */
  #sentBytes = 0;
  /** The kernel has refused bytes, and with that stopped to tell a close from a reset. */
  #hasWriteFailed = false;
  /** The server closed its side just after a request was put on it; what has become of that is to be found out. */
  #closedByPeer: ClosedConnection | null = null;
  #unsent: Uint8Array | null = null;
  #stoodBefore = false;
  #isTrusted = false;
  #isDropped = false;
  #brokenBy: unknown = null;

  constructor(owner: ConnectionOwner, isSecure: boolean) {
    this.#owner = owner;
    this.#isSecure = isSecure;
  }

  /** Puts a request on the wire. */
  carry(sending: Sending): void {
    const socket = this.#socket;
    assert(socket !== null && this.#sending === null, "the connection stands and is free");
    this.#sending = sending;
    sending.connection = this;
    this.#reader.reset();
    this.caller = sending.caller;
    this.#sentAtMs = performance.now();
    this.#sentBytes = 0;
    this.idleSweeps = 0;
    socket.ref();
    if (sending.isPaused) socket.pause();
    const rest = outgoing.put(sending.head, sending.body);
    const { bytes, length } = outgoing;
    const written = this.#taken(socket.write(bytes, 0, length));
    // Copied, because the next request is put together in the same place.
    if (written < length) this.#unsent = Buffer.from(bytes.subarray(written, length));
    if (rest !== null) this.#write(rest);
  }

  #write(bytes: Uint8Array): void {
    if (this.#unsent !== null) {
      this.#unsent = Buffer.concat([this.#unsent, bytes]);
      return;
    }
    const written = this.#taken(this.#socket?.write(bytes) ?? -1);
    if (written < bytes.length) this.#unsent = bytes.subarray(written);
  }

  /** Counts what the kernel has taken; it says -1 when the connection is broken. */
  #taken(written: number): number {
    if (written < 0) this.#hasWriteFailed = true;
    const taken = Math.max(0, written);
    this.#sentBytes += taken;
    return taken;
  }

  /** Nothing is to be carried for now. An idle connection does not keep the program from ending. */
  rest(): void {
    this.#stoodBefore = true;
    this.#socket?.unref();
  }

  pause(): void {
    this.#socket?.pause();
  }

  resume(): void {
    this.#socket?.resume();
  }

  /** Ends it now, with whatever is on it, or as soon as it stands. */
  drop(): void {
    const socket = this.#socket;
    this.#isDropped = true;
    this.#sending = null;
    this.#socket = null;
    this.#unsent = null;
    this.#closedByPeer?.release();
    socket?.terminate();
  }

  opened(socket: Socket<Connection>): void {
    if (this.#isDropped) {
      socket.terminate();
      return;
    }
    this.#socket = socket;
    if (!this.#isSecure) this.#owner.ready(this);
  }

  /** Bun has checked the certificate and its name by now; if they are not right it closes the connection itself. */
  shookHands(isTrusted: boolean, problem: Error | null): void {
    if (!isTrusted) this.#brokenBy = problem;
    // A server may shake hands once more at any time; that makes nothing free.
    if (!isTrusted || this.#isDropped || this.#isTrusted) return;
    this.#isTrusted = true;
    this.#owner.ready(this);
  }

  drained(): void {
    const unsent = this.#unsent;
    this.#unsent = null;
    if (unsent !== null) this.#write(unsent);
  }

  arrived(bytes: Buffer): void {
    // Words without a question, such as a goodbye (408) to an idle connection: it is of no more use.
    if (this.#sending === null) {
      this.drop();
      this.#owner.gone(this, connectionLost());
      return;
    }
    try {
      this.#reader.read(bytes, this);
    } catch (cause) {
      this.#fail(cause);
      return;
    }
    if (this.#reader.isComplete) this.#finish();
  }

  answered(head: Head): void {
    this.#sending?.receiver.answered(head);
  }

  received(bytes: Uint8Array): void {
    this.#sending?.receiver.received(bytes);
  }

  /**
   * The server has closed its side; if that was on its way when a request was written, nobody has read that. It can be
   * found out only from here on, as the kernel forgets the connection once the socket is closed. A reset without
   * a close before it proves nothing: the request may have been read.
   */
  endedByPeer(socket: Socket<Connection>): void {
    if (this.#sending === null || this.#hasWriteFailed || !this.#mayResend()) return;
    this.#closedByPeer = ClosedConnection.of(socket, this.#sentBytes);
  }

  closed(cause: unknown): void {
    if (this.#isDropped) return;
    this.#socket = null;
    this.#brokenBy ??= cause ?? null;
    const sending = this.#sending;
    if (sending === null) {
      this.#owner.gone(this, this.#brokenBy ?? connectionLost());
      return;
    }
    this.#sending = null;
    if (this.#reader.endsWithConnection && this.#brokenBy === null) sending.ended();
    else if (this.#mayResend() && this.#sentBytes === 0) this.#resend(sending);
    else if (this.#closedByPeer !== null) this.#resendIfUnread(sending, this.#closedByPeer);
    else sending.failed(this.#brokenBy ?? connectionLost());
  }

  async #resendIfUnread(sending: Sending, closed: ClosedConnection): Promise<void> {
    const isUnread = await closed.receivedNothing(this.#sentAtMs + staleMs);
    if (sending.connection !== this) return;
    if (isUnread) this.#resend(sending);
    else sending.failed(this.#brokenBy ?? connectionLost());
  }

  #resend(sending: Sending): void {
    sending.needsNewConnection = true;
    this.#owner.sendAfresh(sending);
  }

  /** Only what was put on a kept connection a moment ago, and has not begun to be answered. */
  #mayResend(): boolean {
    if (!this.#stoodBefore || this.#reader.hasBegun) return false;
    return performance.now() - this.#sentAtMs < staleMs;
  }

  #fail(cause: unknown): void {
    const sending = this.#sending;
    this.drop();
    sending?.failed(cause);
  }

  /** Free for the next request before the receiver is told, whose next step may well be that request. */
  #finish(): void {
    const sending = this.#sending;
    this.#sending = null;
    this.#stoodBefore = true;
    if (sending?.isPaused) this.resume();
    if (this.#reader.isReusable && this.#unsent === null && this.#socket !== null) {
      this.#owner.ready(this);
    } else {
      this.drop();
    }
    sending?.ended();
  }
}

/** The socket's events, told to the connection that it is. */
export const connectionEvents: SocketHandler<Connection> = {
  open: (socket) => socket.data.opened(socket),
  handshake: (socket, isTrusted, problem) => socket.data.shookHands(isTrusted, problem),
  data: (socket, bytes) => socket.data.arrived(bytes),
  drain: (socket) => socket.data.drained(),
  end: (socket) => socket.data.endedByPeer(socket),
  close: (socket, cause) => socket.data.closed(cause),
};
