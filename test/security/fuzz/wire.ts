import type { Socket } from "bun";

/** A whole response as it stood on the wire; status 0 when the connection was closed instead. */
export interface WireResponse {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

const gone: WireResponse = { status: 0, head: "", body: "" };

/** A keep-alive connection that sends bytes as they are, and connects again when the server has closed it. */
export class Wire {
  readonly #hostname: string;
  readonly #port: number;
  #socket: Socket | null = null;
  #received = "";
  #waiting: ((response: WireResponse) => void) | null = null;

  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.#hostname = hostname;
    this.#port = Number(port);
  }

  async exchange(request: Uint8Array, timeoutMs: number): Promise<WireResponse> {
    const socket = this.#socket ?? (await this.#connect());
    this.#received = "";
    const { promise, resolve, reject } = Promise.withResolvers<WireResponse>();
    this.#waiting = resolve;
    const timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
    this.#write(socket, request);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#waiting = null;
    }
  }

  close(): void {
    this.#socket?.terminate();
  }

  #write(socket: Socket, bytes: Uint8Array): void {
    const written = socket.write(bytes);
    if (written < 0 || written >= bytes.length) return;
    setTimeout(() => this.#write(socket, bytes.subarray(written)), 1);
  }

  async #connect(): Promise<Socket> {
    const lost = (socket: Socket) => {
      if (this.#socket === socket) this.#lose();
    };
    this.#socket = await Bun.connect({
      hostname: this.#hostname,
      port: this.#port,
      socket: {
        data: (socket, bytes) => {
          this.#received += bytes.toString("latin1");
          this.#look(socket);
        },
        close: lost,
        error: lost,
      },
    });
    return this.#socket;
  }

  #lose(): void {
    this.#socket = null;
    const head = /^HTTP\/1\.1 (\d{3})/.exec(this.#received);
    if (head === null) this.#waiting?.(gone);
    else this.#waiting?.({ status: Number(head[1]), head: this.#received, body: this.#received });
  }

  #look(socket: Socket): void {
    const response = completeResponse(this.#received);
    if (response === null) return;
    // One that the server closes behind its answer must not be used again.
    if (/^connection: close\r$/im.test(response.head)) {
      this.#socket = null;
      socket.terminate();
    }
    this.#waiting?.(response);
  }
}

/** Null as long as something is missing. */
function completeResponse(received: string): WireResponse | null {
  const headEnd = received.indexOf("\r\n\r\n");
  if (headEnd === -1) return null;
  const head = received.slice(0, headEnd + 2);
  const status = Number(received.slice(9, 12));
  const rest = received.slice(headEnd + 4);
  if (status === 204 || status === 304) return { status, head, body: "" };
  if (/^transfer-encoding: chunked\r$/im.test(head)) {
    return rest.endsWith("0\r\n\r\n") ? { status, head, body: rest } : null;
  }
  const length = Number(/^content-length: (\d+)\r$/im.exec(head)?.[1] ?? 0);
  return rest.length >= length ? { status, head, body: rest.slice(0, length) } : null;
}
