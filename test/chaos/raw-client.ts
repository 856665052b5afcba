import type { Socket } from "bun";
import type { TestKey } from "../support/sluice.ts";

const lastChunk = "\r\n0\r\n\r\n";

/**
 * A client of one streamed request on a connection of its own. Not `fetch`, which runs at most 256 at once in a
 * test's process, and which hides when bytes are left unread.
 */
export class RawClient {
  readonly #socket: Socket;
  readonly #keep: number;
  #end = "";
  bytes = 0;
  closed = false;

  private constructor(socket: Socket, keep: number) {
    this.#socket = socket;
    this.#keep = keep;
  }

  static async send(
    url: string,
    key: TestKey,
    body: object,
    options: { stalled?: boolean } = {},
  ): Promise<RawClient> {
    const { hostname, port } = new URL(url);
    const client = Promise.withResolvers<RawClient>();
    const socket = await Bun.connect({
      hostname,
      port: Number(port),
      socket: {
        data: async (_socket, chunk) => (await client.promise).#read(chunk),
        close: async () => (await client.promise).#close(),
        error: async () => (await client.promise).#close(),
      },
    });
    if (options.stalled === true) socket.pause();
    const made = new RawClient(socket, 400);
    client.resolve(made);
    const text = JSON.stringify(body);
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key.key}\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    );
    return made;
  }

  #read(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    this.#end = (this.#end + Buffer.from(chunk).toString("latin1")).slice(-this.#keep);
  }

  #close(): void {
    this.closed = true;
  }

  /** The response has ended as HTTP wants it, and its stream as chat wants it. */
  get isComplete(): boolean {
    return this.#end.endsWith(lastChunk) && this.#end.includes("data: [DONE]");
  }

  /** The last bytes that came. */
  get end(): string {
    return this.#end;
  }

  cut(): void {
    this.#socket.terminate();
  }
}
