import type { Socket } from "bun";

interface Side {
  other: Socket<Side> | null;
  hasAsked: boolean;
  /** Bytes that arrived before the other side was connected. */
  readonly early: Buffer[];
}

/**
 * A forward proxy: tunnels for CONNECT, and requests in absolute form. Every name that it is asked for leads to
 * one server on this machine, so that names can be used that only a proxy resolves.
 */
export class ForwardProxy {
  /** The first line of each connection. */
  readonly asked: string[] = [];
  readonly url: string;
  readonly #stop: () => void;

  constructor(serverPort: number) {
    const listener = Bun.listen<Side>({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        open(socket) {
          socket.data = { other: null, hasAsked: false, early: [] };
        },
        data: (socket, bytes) => this.#received(socket, bytes, serverPort),
        close: ({ data }) => void data.other?.end(),
        error() {},
      },
    });
    this.url = `http://127.0.0.1:${listener.port}`;
    this.#stop = () => listener.stop(true);
  }

  #received(socket: Socket<Side>, bytes: Buffer, serverPort: number): void {
    const { data } = socket;
    if (data.other !== null) {
      data.other.write(bytes);
      return;
    }
    const [line = ""] = bytes.toString("latin1").split("\r\n");
    const isTunnel = !data.hasAsked && line.startsWith("CONNECT");
    if (!isTunnel) data.early.push(bytes);
    if (data.hasAsked) return;
    data.hasAsked = true;
    this.asked.push(line);
    this.#connect(socket, serverPort, isTunnel);
  }

  async #connect(socket: Socket<Side>, port: number, isTunnel: boolean): Promise<void> {
    const other = await Bun.connect<Side>({
      hostname: "127.0.0.1",
      port,
      data: { other: socket, hasAsked: true, early: [] },
      socket: {
        data: (_server, bytes) => void socket.write(bytes),
        close: () => void socket.end(),
        error() {},
      },
    });
    for (const bytes of socket.data.early) other.write(bytes);
    socket.data.other = other;
    if (isTunnel) socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
  }

  [Symbol.dispose](): void {
    this.#stop();
  }
}
