import type { Socket } from "bun";
import { markerByte } from "./payloads.ts";
import { clientFrame, FrameReader } from "./socket-frames.ts";

/** What a connection tells about the answers it reads. */
export interface Listener {
  /** A part of an answer came, with this many content events in it; none in those that end it. */
  onEvents(connection: LoadConnection, events: number): void;
  onAnswer(connection: LoadConnection, failure: string | null): void;
}

const headEnd = Buffer.from("\r\n\r\n");
const lastChunk = "0\r\n\r\n";

/**
 * One keep-alive connection that sends the same request again and again. It reads of an answer only what
 * it must: the status, where the answer ends, and how many content events came. That is a few
 * microseconds, where `fetch` takes tens, and the load must never be what limits a gateway. With a handshake it is a
 * WebSocket.
 */
export class LoadConnection {
  sentAtMs = 0;
  firstEventAtMs = 0;
  /** Between the last two parts, from the first content event to the end; 0 before there are two. */
  gapMs = 0;
  /** Content events of the present answer. */
  events = 0;
  readonly #request: Buffer;
  readonly #listener: Listener;
  readonly #handshake: Buffer | null;
  /** Set once it is a WebSocket. */
  #frames: FrameReader | null = null;
  readonly #opened = Promise.withResolvers<void>();
  #socket: Socket | null = null;
  #unsent: Buffer | null = null;
  #head: Buffer | null = null;
  #inBody = false;
  /** Bytes of the body still to come; -1 while the body is chunked. */
  #missingBytes = 0;
  #tail = "";
  #failure: string | null = null;
  #closing = false;
  #lastPartAtMs = 0;

  constructor(request: Buffer, listener: Listener, handshake: Buffer | null = null) {
    this.#request = handshake === null ? request : clientFrame(request);
    this.#listener = listener;
    this.#handshake = handshake;
  }

  async open(hostname: string, port: number): Promise<void> {
    this.#socket = await Bun.connect({
      hostname,
      port,
      socket: {
        data: (_socket, bytes) => (this.#frames === null ? this.#read(bytes) : this.#readFrames(bytes)),
        drain: () => this.#write(this.#unsent),
        close: () => this.#lost("the connection was closed"),
        error: (_socket, error) => this.#lost(error.message),
      },
    });
    if (this.#handshake === null) return;
    this.#write(this.#handshake);
    await this.#opened.promise;
  }

  send(): void {
    this.#inBody = false;
    this.#head = null;
    this.#failure = null;
    this.#tail = "";
    this.events = 0;
    this.firstEventAtMs = 0;
    this.gapMs = 0;
    this.sentAtMs = performance.now();
    this.#write(this.#request);
  }

  close(): void {
    this.#closing = true;
    this.#socket?.end();
  }

  #write(bytes: Buffer | null): void {
    if (bytes === null || this.#socket === null) return;
    const sent = Math.max(this.#socket.write(bytes), 0);
    this.#unsent = sent < bytes.length ? bytes.subarray(sent) : null;
  }

  #read(bytes: Buffer): void {
    if (this.#inBody) {
      this.#readBody(bytes);
      return;
    }
    const held = this.#head === null ? bytes : Buffer.concat([this.#head, bytes]);
    const headBytes = held.indexOf(headEnd);
    if (headBytes < 0) {
      this.#head = held;
      return;
    }
    const head = held.toString("latin1", 0, headBytes);
    if (head.startsWith("HTTP/1.1 101")) {
      this.#frames = new FrameReader();
      this.#opened.resolve();
      return;
    }
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    const body = held.subarray(headBytes + headEnd.length);
    this.#inBody = true;
    this.#missingBytes = length === undefined ? -1 : Number(length);
    if (!head.startsWith("HTTP/1.1 200")) {
      this.#failure = `${head.slice(9, head.indexOf("\r\n"))} ${body.toString("utf8", 0, 300)}`;
    }
    this.#readBody(body);
  }

  #readFrames(bytes: Buffer): void {
    if (this.#frames === null) return;
    const { events, hasEnded, failure } = this.#frames.read(bytes);
    this.#tookEvents(events);
    if (hasEnded) this.#listener.onAnswer(this, failure);
  }

  #readBody(bytes: Buffer): void {
    this.#countEvents(bytes);
    if (this.#missingBytes >= 0) {
      this.#missingBytes -= bytes.length;
      if (this.#missingBytes <= 0) this.#listener.onAnswer(this, this.#failure);
      return;
    }
    this.#tail = (this.#tail + bytes.toString("latin1", Math.max(bytes.length - 5, 0))).slice(-5);
    if (this.#tail === lastChunk) this.#listener.onAnswer(this, this.#failure);
  }

  #countEvents(bytes: Buffer): void {
    let events = 0;
    for (let at = bytes.indexOf(markerByte); at >= 0; at = bytes.indexOf(markerByte, at + 1)) events++;
    this.#tookEvents(events);
  }

  #tookEvents(events: number): void {
    if (events === 0 && this.events === 0) return;
    const nowMs = performance.now();
    if (this.events === 0) this.firstEventAtMs = nowMs;
    else this.gapMs = nowMs - this.#lastPartAtMs;
    this.#lastPartAtMs = nowMs;
    this.events += events;
    this.#listener.onEvents(this, events);
  }

  #lost(reason: string): void {
    if (this.#closing) return;
    this.#closing = true;
    this.#socket = null;
    this.#opened.reject(new Error(reason));
    this.#listener.onAnswer(this, reason);
  }
}
