import { Connection, type ConnectionOwner, connectionEvents } from "./connection.ts";
import { IdleConnections } from "./idle-connections.ts";
import { Sending } from "./sending.ts";
import type { Receiver, Transfer } from "./transfer.ts";

/** Where connections are made to. */
export interface ServerAddress {
  readonly hostname: string;
  readonly port: number;
  readonly isSecure: boolean;
}

/** Makes a connection; rejects when there is none to be had. */
export type Dial = (address: ServerAddress, connection: Connection) => Promise<unknown>;

/** Servers close idle connections after a minute or so; who leaves after two to three of these meets few such ends. */
const usualSweepMs = 15_000;
const mostIdleSweeps = 2;
/** All callers together. Each may keep a connection of its own, and a connection under TLS costs some 40 KB here. */
const usualMostIdle = 1024;

export interface HttpClientOptions {
  readonly dial?: Dial;
  readonly sweepMs?: number;
  readonly mostIdle?: number;
}

/**
 * HTTP/1.1 to one server over connections that are kept. `fetch` does its work on a thread of its own and tells
 * nothing of its connections; here a request costs two system calls on the thread that asks, a stalled
 * reader stops the provider by TCP's own means, and it is known whether a connection stands, was used before
 * and has just been closed. TLS, its certificates and names are Bun's.
 */
export class HttpClient implements ConnectionOwner {
  readonly #address: ServerAddress;
  readonly #dial: Dial;
  readonly #sweepMs: number;
  readonly #idle: IdleConnections;
  /** Requests without a connection. */
  readonly #waiting: Sending[] = [];
  /** Connections being made, at least as many as requests wait. */
  readonly #dialing: Connection[] = [];
  #sweeper: ReturnType<typeof setInterval> | null = null;
  /** The connection that was being made for it may never come to stand, so the next request does not wait for it. */
  readonly #leaveQueue = (sending: Sending) => {
    const at = this.#waiting.indexOf(sending);
    if (at === -1) return;
    this.#waiting.splice(at, 1);
    this.#dialing.splice(at, 1)[0]?.drop();
  };

  constructor(address: ServerAddress, options: HttpClientOptions = {}) {
    this.#address = address;
    this.#dial = options.dial ?? dialByBun;
    this.#sweepMs = options.sweepMs ?? usualSweepMs;
    this.#idle = new IdleConnections(options.mostIdle ?? usualMostIdle);
  }

  /** `head` is the request line and the headers, each with its line end, without a length for the body. */
  send(head: string, body: Uint8Array | string, receiver: Receiver, caller: string): Transfer {
    const sending = new Sending(head, body, receiver, caller, this.#leaveQueue);
    const connection = this.#idle.take(caller);
    if (connection === null) this.sendAfresh(sending);
    else connection.carry(sending);
    return sending;
  }

  sendAfresh(sending: Sending): void {
    sending.connection = null;
    this.#waiting.push(sending);
    if (this.#dialing.length < this.#waiting.length) this.#connect();
  }

  ready(connection: Connection): void {
    const isNew = remove(this.#dialing, connection);
    const sending = isNew ? this.#waiting.shift() : this.#nextFor(connection.caller);
    if (sending === undefined) this.#keep(connection);
    else {
      connection.carry(sending);
      sending.receiver.connected();
    }
  }

  /** Who may have a connection that has served this caller. */
  #nextFor(caller: string | null): Sending | undefined {
    if (this.#waiting.length === 0) return undefined;
    const at = this.#waiting.findIndex((it) => it.caller === caller && !it.needsNewConnection);
    return at === -1 ? undefined : this.#waiting.splice(at, 1)[0];
  }

  gone(connection: Connection, cause: unknown): void {
    if (!remove(this.#dialing, connection)) {
      this.#idle.remove(connection);
      return;
    }
    // Whoever has waited longest is told, unless those who are left have connections coming.
    if (this.#dialing.length < this.#waiting.length) this.#waiting.shift()?.failed(cause);
  }

  #connect(): void {
    const connection = new Connection(this, this.#address.isSecure);
    this.#dialing.push(connection);
    this.#dial(this.#address, connection).catch((cause: unknown) => this.gone(connection, cause));
  }

  #keep(connection: Connection): void {
    connection.rest();
    this.#idle.add(connection);
    this.#sweeper ??= setInterval(() => this.#sweep(), this.#sweepMs);
    this.#sweeper.unref();
  }

  #sweep(): void {
    this.#idle.sweep(mostIdleSweeps);
    if (this.#idle.count > 0 || this.#sweeper === null) return;
    clearInterval(this.#sweeper);
    this.#sweeper = null;
  }
}

/** Asynchronous, because Bun throws at once at what it takes for no address. */
export async function dialByBun(
  { hostname, port, isSecure }: ServerAddress,
  connection: Connection,
): Promise<unknown> {
  return Bun.connect({
    hostname,
    port,
    data: connection,
    socket: connectionEvents,
    ...(isSecure ? { tls: true } : {}),
  });
}

function remove(connections: Connection[], connection: Connection): boolean {
  const at = connections.indexOf(connection);
  if (at !== -1) connections.splice(at, 1);
  return at !== -1;
}
