import type { Socket, TCPSocketListener } from "bun";

/**
 * - `pass`: everything goes through.
 * - `silent`: a black hole. Nothing comes back, and connections are not closed.
 * - `deaf`: what the client sends arrives; at the first byte of a reply both connections are cut. The reply is lost.
 * - `refuse`: connections are cut as they come.
 */
export type ProxyMode = "pass" | "silent" | "deaf" | "refuse";

interface Side {
  other: Socket<Side> | null;
  /** What came before the other side was connected. */
  early: Buffer[];
  isClient: boolean;
}

/** A TCP proxy between a gateway and its database, for what goes wrong in between. */
export class TcpProxy implements Disposable {
  readonly port: number;
  mode: ProxyMode = "pass";
  /** Replies that were lost in the `deaf` mode. */
  lost = 0;
  /** Replies so far; at the one with this number, from 1 on, both connections are cut. */
  replies = 0;
  cutAtReply: number | null = null;
  #target: number;
  readonly #listener: TCPSocketListener<Side>;
  readonly #sockets = new Set<Socket<Side>>();

  constructor(targetPort: number) {
    this.#target = targetPort;
    this.#listener = Bun.listen<Side>({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        open: (socket) => this.#accept(socket),
        data: (socket, bytes) => this.#forward(socket, Buffer.from(bytes)),
        close: (socket) => this.#closed(socket),
        error: (socket) => this.#closed(socket),
      },
    });
    this.port = this.#listener.port;
  }

  /** Later connections go elsewhere, as when an address moves to a standby. Those that are open are cut. */
  retarget(port: number): void {
    this.#target = port;
    this.cut();
  }

  cut(): void {
    for (const socket of [...this.#sockets]) socket.terminate();
  }

  [Symbol.dispose](): void {
    this.#listener.stop(true);
    this.cut();
  }

  #accept(client: Socket<Side>): void {
    client.data = { other: null, early: [], isClient: true };
    this.#sockets.add(client);
    if (this.mode === "refuse") {
      client.terminate();
      return;
    }
    Bun.connect<Side>({
      hostname: "127.0.0.1",
      port: this.#target,
      data: { other: client, early: [], isClient: false },
      socket: {
        open: (server) => {
          this.#sockets.add(server);
          client.data.other = server;
          for (const bytes of client.data.early) server.write(bytes);
        },
        data: (server, bytes) => this.#forward(server, Buffer.from(bytes)),
        close: (server) => this.#closed(server),
        error: (server) => this.#closed(server),
      },
    }).catch(() => client.terminate());
  }

  #forward(from: Socket<Side>, bytes: Buffer): void {
    const { other, early, isClient } = from.data;
    if (this.mode === "silent") return;
    if (!isClient) this.replies += 1;
    if (!isClient && (this.mode === "deaf" || this.replies === this.cutAtReply)) {
      this.lost += 1;
      from.terminate();
      other?.terminate();
      return;
    }
    if (other === null) early.push(bytes);
    else other.write(bytes);
  }

  #closed(socket: Socket<Side>): void {
    this.#sockets.delete(socket);
    // A black hole does not even report a disconnect.
    if (this.mode !== "silent") socket.data.other?.end();
  }
}
