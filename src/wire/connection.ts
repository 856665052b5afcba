import type { Socket, SocketHandler } from "bun";
import { assert } from "../base/assert.ts";
import { LoopBatch } from "../base/loop/pacer.ts";
import { DeliveryCheck } from "./delivery-check.ts";
import { ReceiveBuffer } from "./receive-buffer.ts";
import { ResponseReader } from "./response-reader.ts";
import { RequestWriter, type SocketTransfer } from "./socket-transfer.ts";
import { connectionLost, type Head } from "./transfer.ts";

/** The pool that owns a connection. */
export interface ConnectionPool {
  /** The connection is idle and can take a request. */
  ready(connection: Connection): void;
  /** Closed while idle, or never connected. */
  gone(connection: Connection, cause: unknown): void;
  /** The connection was lost before the server received any of the request. */
  resend(transfer: SocketTransfer): void;
}

/**
 * `connecting` → `idle` ⇄ `in_flight`, and from each of them to `closed`. A server that closes just after a request was
 * written leads from `in_flight` to `checking_delivery`, until it is known whether the request may be resent.
 */
type State = "connecting" | "idle" | "in_flight" | "checking_delivery" | "closed";

/** A close that crossed with the request arrives within this time. A later one is not taken for that. */
const staleMs = 50;

/**
 * Servers that respond to a crowd and close may all have done so by the time that the responses are read together. So
 * their connections are not used again before the event loop has polled the sockets once more.
 */
const batchThreshold = 64;

/** One connection to one server. It takes one request at a time. */
export class Connection {
  /** Sweeps of the pool that found it idle since its last request. */
  idleSweeps = 0;
  /** The only caller that it serves; null before its first request. */
  caller: string | null = null;
  readonly #pool: ConnectionPool;
  readonly #isSecure: boolean;
  readonly #reader = new ResponseReader();
  readonly #writer = new RequestWriter();
  #state: State = "connecting";
  #socket: Socket<Connection> | null = null;
  /** Set while `in_flight`. */
  #transfer: SocketTransfer | null = null;
  /** It was idle or had a request before, so the server may be closing it already. */
  #mayBeStale = false;
  #deliveryCheck: DeliveryCheck | null = null;
  #brokenBy: unknown = null;
  /** The server sends nothing more. It may have read nothing more either. */
  #hasPeerEnded = false;
  /** Arrived in this event-loop iteration, and read at its end. */
  #unread: Buffer | null = null;
  #isReadInCrowd = false;
  #buffer: ReceiveBuffer | null = null;

  constructor(pool: ConnectionPool, isSecure: boolean) {
    this.#pool = pool;
    this.#isSecure = isSecure;
  }

  send(transfer: SocketTransfer): void {
    const socket = this.#socket;
    assert(socket !== null && this.#state === "idle", "the connection is open and idle");
    this.#state = "in_flight";
    this.#transfer = transfer;
    transfer.connection = this;
    this.caller = transfer.caller;
    this.idleSweeps = 0;
    this.#reader.reset();
    socket.ref();
    if (transfer.isPaused) socket.pause();
    this.#writer.start(socket, transfer.head, transfer.body);
  }

  get isSent(): boolean {
    return this.#writer.isDone;
  }

  /** The pool has no request for it. An idle connection does not keep the process alive. */
  keepIdle(): void {
    this.#mayBeStale = true;
    this.#socket?.unref();
  }

  pause(): void {
    this.#socket?.pause();
  }

  resume(): void {
    this.#socket?.resume();
  }

  /** Closes it in any state, with the request that is on it. If it is still connecting, it closes once opened. */
  drop(): void {
    const socket = this.#socket;
    this.#state = "closed";
    this.#transfer = null;
    this.#socket = null;
    this.#unread = null;
    this.#writer.abandon();
    this.#deliveryCheck?.release();
    socket?.terminate();
  }

  opened(socket: Socket<Connection>): void {
    if (this.#state === "closed") {
      socket.terminate();
      return;
    }
    this.#socket = socket;
    this.#buffer = new ReceiveBuffer(socket);
    if (!this.#isSecure) this.#becomeReady();
  }

  /** Bun has verified the certificate and its name. It closes the connection by itself if they are wrong. */
  handshakeDone(isTrusted: boolean, problem: Error | null): void {
    if (!isTrusted) this.#brokenBy = problem;
    // A server may start another handshake at any time. Only the first one makes the connection ready.
    else if (this.#state === "connecting") this.#becomeReady();
  }

  #becomeReady(): void {
    this.#state = "idle";
    this.#pool.ready(this);
  }

  drained(socket: Socket<Connection>): void {
    this.#writer.continue(socket);
  }

  /** Only a response is batched: data on an idle connection must mark it as unusable before it gets another request. */
  arrived(bytes: Buffer): void {
    this.readArrived();
    if (this.#state === "in_flight" && arrivals.shouldAdd()) {
      this.#unread = bytes;
      arrivals.add(this);
    } else {
      this.#take(bytes);
    }
  }

  readArrived(): void {
    const bytes = this.#unread;
    if (bytes === null) return;
    this.#unread = null;
    this.#take(bytes);
  }

  /** Reads the data of this iteration, together with this many other connections. */
  readTogether(connections: number): void {
    this.#isReadInCrowd = connections > batchThreshold;
    this.readArrived();
    this.#isReadInCrowd = false;
  }

  /** The event loop has polled the sockets since its response was read, and it was not closed. */
  becomeReadyAgain(): void {
    if (this.#state === "idle" && !this.#hasPeerEnded) this.#pool.ready(this);
  }

  #take(bytes: Buffer): void {
    switch (this.#state) {
      case "in_flight":
        this.#read(bytes);
        return;
      case "connecting":
      case "idle":
        // Unsolicited bytes, e.g. a 408 sent to an idle connection. Don't reuse it.
        this.drop();
        this.#pool.gone(this, connectionLost());
        return;
      case "checking_delivery":
      case "closed":
        return;
    }
  }

  /**
   * The server has closed its side. If the close crossed with a request, the server has not read that request. Only now
   * can this be checked: the kernel forgets the connection once our side is closed too. A reset without
   * a preceding close proves nothing, because the request may have been read.
   */
  endedByPeer(socket: Socket<Connection>): void {
    this.#hasPeerEnded = true;
    this.readArrived();
    if (this.#state !== "in_flight" || !this.#mayResend()) return;
    const { sentBytes, hasFailed } = this.#writer;
    if (sentBytes > 0 && !hasFailed) this.#deliveryCheck = DeliveryCheck.begin(socket, sentBytes);
  }

  closed(cause: unknown): void {
    this.#socket = null;
    this.readArrived();
    this.#brokenBy ??= cause ?? null;
    switch (this.#state) {
      case "in_flight":
        this.#closedInFlight();
        return;
      case "connecting":
      case "idle":
        this.#state = "closed";
        this.#pool.gone(this, this.#cause());
        return;
      case "checking_delivery":
      case "closed":
        return;
    }
  }

  #closedInFlight(): void {
    const transfer = this.#takeTransfer();
    if (this.#deliveryCheck !== null) {
      this.#state = "checking_delivery";
      this.#resendIfUnread(transfer, this.#deliveryCheck);
      return;
    }
    this.#state = "closed";
    if (this.#reader.endsWithConnection && this.#brokenBy === null) transfer.ended();
    else if (this.#writer.sentBytes === 0 && this.#mayResend()) this.#pool.resend(transfer);
    else transfer.failed(this.#cause());
  }

  async #resendIfUnread(transfer: SocketTransfer, check: DeliveryCheck): Promise<void> {
    const isUnread = await check.receivedNothing(this.#writer.startedAtMs + staleMs);
    // The transfer was cancelled meanwhile.
    if (this.#state !== "checking_delivery") return;
    this.#state = "closed";
    if (isUnread) this.#pool.resend(transfer);
    else transfer.failed(this.#cause());
  }

  /**
   * Only for a request that was written a moment ago to a connection that may have been stale, and without any byte of
   * a response.
   */
  #mayResend(): boolean {
    if (!this.#mayBeStale || this.#reader.hasBegun) return false;
    return performance.now() - this.#writer.startedAtMs < staleMs;
  }

  #cause(): unknown {
    return this.#brokenBy ?? connectionLost();
  }

  #read(bytes: Buffer): void {
    try {
      this.#reader.read(bytes, this);
    } catch (cause) {
      this.#fail(cause);
      return;
    }
    // The receiver may have cancelled while it was given these bytes.
    if (this.#reader.isComplete && this.#state === "in_flight") this.#finish();
  }

  answered(head: Head): void {
    this.#buffer?.answered(head, this.#reader.length);
    this.#transfer?.answered(head);
  }

  received(bytes: Uint8Array): void {
    this.#transfer?.receiver.received(bytes);
  }

  #fail(cause: unknown): void {
    const transfer = this.#transfer;
    this.drop();
    transfer?.failed(cause);
  }

  /** Frees the connection before the receiver learns of the end: the receiver may send its next request at once. */
  #finish(): void {
    const transfer = this.#takeTransfer();
    this.#state = "idle";
    this.#mayBeStale = true;
    if (transfer.isPaused) this.resume();
    const isOpen = this.#socket !== null && !this.#hasPeerEnded;
    if (!isOpen || !this.#reader.isReusable || !this.#writer.isDone) this.drop();
    else if (this.#isReadInCrowd) setImmediate(() => this.becomeReadyAgain());
    else this.#pool.ready(this);
    transfer.ended();
  }

  #takeTransfer(): SocketTransfer {
    const transfer = this.#transfer;
    assert(transfer !== null, "a connection in flight has a transfer");
    this.#transfer = null;
    return transfer;
  }
}

/** The pieces of all providers: events of many streams in one iteration are relayed together. */
const arrivals = new LoopBatch<Connection>((connection, together) => connection.readTogether(together));

/** Passes a socket's events to its connection. */
export const connectionEvents: SocketHandler<Connection> = {
  open: (socket) => socket.data.opened(socket),
  handshake: (socket, isTrusted, problem) => socket.data.handshakeDone(isTrusted, problem),
  data: (socket, bytes) => socket.data.arrived(bytes),
  drain: (socket) => socket.data.drained(socket),
  end: (socket) => socket.data.endedByPeer(socket),
  close: (socket, cause) => socket.data.closed(cause),
};
