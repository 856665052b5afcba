import { connect, type Socket } from "node:net";
import { constants, deflateRawSync } from "node:zlib";
import { waitFor } from "./wait.ts";

/** A WebSocket client that reads only when the test lets it, which no library supports. */
export class RawSocket implements Disposable {
  readonly #socket: Socket;
  receivedBytes = 0;
  /** The last bytes, as text. */
  latest = "";
  readonly closed: Promise<void>;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (data) => {
      this.receivedBytes += data.length;
      this.latest = (this.latest + data.toString("latin1", Math.max(0, data.length - 4096))).slice(-4096);
    });
    socket.on("error", () => {});
    this.closed = new Promise((resolve) => socket.on("close", () => resolve()));
  }

  static async open(url: string, secret: string, headers: readonly string[] = []): Promise<RawSocket> {
    const { hostname, port, host } = new URL(url);
    const raw = new RawSocket(connect({ host: hostname, port: Number(port) }));
    raw.#socket.write(
      [
        "GET /v1/responses HTTP/1.1",
        `Host: ${host}`,
        `Authorization: Bearer ${secret}`,
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ...headers,
        "\r\n",
      ].join("\r\n"),
    );
    await waitFor(() => raw.latest.includes("\r\n\r\n"), "the handshake");
    return raw;
  }

  stopReading(): void {
    this.#socket.pause();
  }

  read(): void {
    this.#socket.resume();
  }

  /** One short text frame, masked with zeros. */
  send(frame: object): void {
    this.#sendFrame(0x81, Buffer.from(JSON.stringify(frame)));
  }

  /** The same, compressed. */
  sendDeflated(frame: object): void {
    const flushed = deflateRawSync(JSON.stringify(frame), { finishFlush: constants.Z_SYNC_FLUSH });
    this.#sendFrame(0xc1, flushed.subarray(0, -4));
  }

  /** The beginning of a text that never ends, in frames of this many bytes. */
  sendUnfinished(frames: number, bytesEach: number): void {
    const payload = Buffer.alloc(bytesEach, "x");
    for (let sent = 0; sent < frames; sent += 1) this.#sendFrame(sent === 0 ? 0x01 : 0x00, payload);
  }

  #sendFrame(start: number, payload: Buffer): void {
    const length = Buffer.from([payload.length >> 8, payload.length & 255]);
    this.#socket.write(Buffer.concat([Buffer.from([start, 0x80 | 126]), length, Buffer.alloc(4), payload]));
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}
