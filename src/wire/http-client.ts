import { ChurnMap } from "../base/collections/churn-map.ts";
import { Connection, type ConnectionPool, connectionEvents } from "./connection.ts";
import { SocketTransfer } from "./socket-transfer.ts";
import type { Receiver, Transfer } from "./transfer.ts";

export interface ServerAddress {
  readonly hostname: string;
  readonly port: number;
  readonly isSecure: boolean;
}

export function serverAddressOf({ protocol, hostname, port }: URL): ServerAddress {
  const isSecure = protocol === "https:";
  return {
    hostname: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port) || (isSecure ? 443 : 80),
    isSecure,
  };
}

/** Opens a socket for the connection; rejects if it cannot. */
export type Dial = (address: ServerAddress, connection: Connection) => Promise<unknown>;

/** Idle connections close after two to three sweeps. Most servers close them after a minute, so we are usually first. */
const defaultSweepMs = 15_000;
const maxIdleSweeps = 2;
/** Maximum idle connections of all callers together; each caller has its own. An idle TLS connection takes about 40 KB. */
const defaultMaxIdle = 1024;

export interface HttpClientOptions {
  readonly dial?: Dial;
  readonly sweepMs?: number;
  readonly maxIdle?: number;
}

/**
 * An HTTP/1.1 client for one server, with a connection pool. `fetch` works on a separate thread and hides its
 * connections. Here a request costs two system calls on the calling thread, a slow reader makes TCP stop the server,
 * and the state of every connection is known. Bun does TLS, including certificates and names.
 */
export class HttpClient implements ConnectionPool {
  readonly #address: ServerAddress;
  readonly #dial: Dial;
  readonly #sweepMs: number;
  readonly #idle: IdleConnections;
  /** Requests without a connection. */
  readonly #waiting: SocketTransfer[] = [];
  /** Connections being established, one per waiting request. */
  readonly #dialing: Connection[] = [];
  /**
   * Connections being established whose request got another one. They are kept for later requests, but none waits for
   * them: they may never open.
   */
  readonly #spare = new Set<Connection>();
  #sweeper: ReturnType<typeof setInterval> | null = null;
  /** Drops the connection dialed for it as well: it may never open, and the next request should not wait for it. */
  readonly #leaveQueue = (transfer: SocketTransfer) => {
    const at = this.#waiting.indexOf(transfer);
    if (at === -1) return;
    this.#waiting.splice(at, 1);
    this.#dialing.splice(at, 1)[0]?.drop();
  };

  constructor(address: ServerAddress, options: HttpClientOptions = {}) {
    this.#address = address;
    this.#dial = options.dial ?? dialByBun;
    this.#sweepMs = options.sweepMs ?? defaultSweepMs;
    this.#idle = new IdleConnections(options.maxIdle ?? defaultMaxIdle);
  }

  /** `head` is the request line and the headers, each with its CRLF, without `content-length`. */
  send(head: string, body: Uint8Array | string, receiver: Receiver, caller: string): Transfer {
    const transfer = new SocketTransfer(head, body, receiver, caller, this.#leaveQueue);
    const connection = this.#idle.take(caller);
    if (connection === null) this.#enqueue(transfer);
    else connection.send(transfer);
    return transfer;
  }

  resend(transfer: SocketTransfer): void {
    transfer.connection = null;
    transfer.needsNewConnection = true;
    this.#enqueue(transfer);
  }

  #enqueue(transfer: SocketTransfer): void {
    this.#waiting.push(transfer);
    this.#connect();
  }

  ready(connection: Connection): void {
    const isNew = remove(this.#dialing, connection);
    const transfer = isNew ? this.#waiting.shift() : this.#nextFor(connection);
    if (transfer === undefined) this.#keep(connection);
    else {
      connection.send(transfer);
      transfer.receiver.connected();
    }
  }

  /** The next waiting request that may use a connection which was not established for it. */
  #nextFor(connection: Connection): SocketTransfer | undefined {
    const isUnused = this.#spare.delete(connection);
    if (this.#waiting.length === 0) return undefined;
    const { caller } = connection;
    const at = isUnused ? 0 : this.#waiting.findIndex((it) => it.caller === caller && !it.needsNewConnection);
    if (at === -1) return undefined;
    for (const dialed of this.#dialing.splice(at, 1)) this.#spare.add(dialed);
    if (this.#sweeper === null) this.#startSweeper();
    return this.#waiting.splice(at, 1)[0];
  }

  /** A failed connection attempt fails the oldest waiting request. */
  gone(connection: Connection, cause: unknown): void {
    if (remove(this.#dialing, connection)) this.#waiting.shift()?.failed(cause);
    else if (!this.#spare.delete(connection)) this.#idle.remove(connection);
  }

  #connect(): void {
    const connection = new Connection(this, this.#address.isSecure);
    this.#dialing.push(connection);
    this.#dial(this.#address, connection).catch((cause: unknown) => this.gone(connection, cause));
  }

  #keep(connection: Connection): void {
    connection.keepIdle();
    this.#idle.add(connection);
    if (this.#sweeper === null) this.#startSweeper();
  }

  #startSweeper(): void {
    this.#sweeper = setInterval(() => this.#sweep(), this.#sweepMs);
    this.#sweeper.unref();
  }

  #sweep(): void {
    this.#idle.sweep(maxIdleSweeps);
    for (const connection of this.#spare) {
      connection.idleSweeps += 1;
      if (connection.idleSweeps > maxIdleSweeps && this.#spare.delete(connection)) connection.drop();
    }
    if (this.#idle.count > 0 || this.#spare.size > 0 || this.#sweeper === null) return;
    clearInterval(this.#sweeper);
    this.#sweeper = null;
  }
}

/** Asynchronous, so that it rejects where `Bun.connect` throws: at an invalid address. */
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

const none = (): Connection[] => [];

/**
 * The idle connections of a pool, each reserved for the caller that has used it. If a server sends surplus bytes a
 * moment after its response, the next request may be on that connection already, and would get them as its response.
 * With a connection per caller they never reach another caller.
 */
class IdleConnections {
  readonly #max: number;
  /** The last one used is reused first, so that surplus ones age and are swept. Null: not used by any caller so far. */
  readonly #byCaller = new ChurnMap<string | null, Connection[]>();
  #count = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get count(): number {
    return this.#count;
  }

  /** One that this caller has used, or one that is unused. */
  take(caller: string): Connection | null {
    return this.#pop(caller) ?? this.#pop(null);
  }

  #pop(caller: string | null): Connection | null {
    const connections = this.#byCaller.get(caller);
    const connection = connections?.pop();
    if (connections === undefined || connection === undefined) return null;
    if (connections.length === 0) this.#byCaller.delete(caller);
    this.#count -= 1;
    return connection;
  }

  /** Above the limit, drops the oldest one of the caller that has been idle longest. */
  add(connection: Connection): void {
    this.#byCaller.getOrInsertComputed(connection.caller, none).push(connection);
    this.#count += 1;
    if (this.#count > this.#max) this.#dropOldest();
  }

  remove(connection: Connection): void {
    const connections = this.#byCaller.get(connection.caller);
    const at = connections?.indexOf(connection) ?? -1;
    if (connections === undefined || at === -1) return;
    connections.splice(at, 1);
    if (connections.length === 0) this.#byCaller.delete(connection.caller);
    this.#count -= 1;
  }

  /** Drops connections that more than `maxSweeps` sweeps in a row have found idle. */
  sweep(maxSweeps: number): void {
    for (const connections of [...this.#byCaller.values()]) {
      for (const connection of [...connections]) {
        connection.idleSweeps += 1;
        if (connection.idleSweeps > maxSweeps) this.#drop(connection);
      }
    }
  }

  /** The map is ordered by when a caller last went from no idle connection to one. */
  #dropOldest(): void {
    const [connections = []] = this.#byCaller.values();
    const [oldest] = connections;
    if (oldest !== undefined) this.#drop(oldest);
  }

  #drop(connection: Connection): void {
    this.remove(connection);
    connection.drop();
  }
}
