import type { JsonObject } from "../../src/base/json.ts";
import { waitFor } from "./wait.ts";

export type Frame = JsonObject & {
  readonly type: string;
  readonly status: number;
  readonly stream_id?: string;
  readonly error: { readonly code: string; readonly message: string; readonly param: string | null };
  readonly headers: Readonly<Record<string, string>>;
  readonly response: JsonObject & { readonly id: string; readonly status: string };
};

const ends: ReadonlySet<string> = new Set([
  "response.completed",
  "response.incomplete",
  "response.failed",
  "error",
]);

/** A client of the Responses API over WebSocket, with all that it was sent. */
export class SocketClient implements Disposable {
  readonly frames: Frame[] = [];
  readonly closed: Promise<{ readonly code: number }>;
  readonly #socket: WebSocket;
  #seen = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.onmessage = ({ data }) => void this.frames.push(JSON.parse(String(data)));
    this.closed = new Promise((resolve) => {
      socket.onclose = ({ code }) => resolve({ code });
    });
  }

  /** Rejects if the handshake is refused. */
  static async open(
    url: string,
    secret: string,
    { path = "/v1/responses", headers = {} }: { path?: string; headers?: Record<string, string> } = {},
  ): Promise<SocketClient> {
    const socket = new WebSocket(`${url.replace("http", "ws")}${path}`, {
      headers: { authorization: `Bearer ${secret}`, ...headers },
    });
    const client = new SocketClient(socket);
    const opened = new Promise<void>((resolve) => {
      socket.onopen = () => resolve();
    });
    const refused = client.closed.then(() => Promise.reject(new Error("the handshake was refused")));
    await Promise.race([opened, refused]);
    refused.catch(() => {});
    return client;
  }

  send(frame: JsonObject | string | Uint8Array<ArrayBuffer>): void {
    this.#socket.send(
      typeof frame === "string" || frame instanceof Uint8Array ? frame : JSON.stringify(frame),
    );
  }

  /** Asks for a response. */
  create(fields: JsonObject): void {
    this.send({ type: "response.create", model: "gpt-test", ...fields });
  }

  /** Asks for a response, and waits for its end, which it returns. */
  async ask(fields: JsonObject): Promise<Frame> {
    this.create(fields);
    return this.end();
  }

  /** The frame that ends the next response; of this lane if one is named. */
  async end(streamId?: string): Promise<Frame> {
    const isEnd = (frame: Frame) =>
      ends.has(frame.type) && (streamId === undefined || frame.stream_id === streamId);
    const find = () => this.frames.findIndex((frame, index) => index >= this.#seen && isEnd(frame));
    await waitFor(() => find() !== -1, "a response to end");
    const index = find();
    if (streamId === undefined) this.#seen = index + 1;
    return this.frames[index] as Frame;
  }

  close(): void {
    this.#socket.close(1000);
  }

  [Symbol.dispose](): void {
    this.#socket.terminate();
  }
}

/** The status and error of a handshake that is refused. */
export async function refusal(url: string, path: string, headers: Record<string, string>) {
  const response = await fetch(`${url}${path}`, {
    headers: {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      ...headers,
    },
  });
  const { error } = (await response.json()) as { error: Frame["error"] };
  return { status: response.status, code: error.code, param: error.param };
}
