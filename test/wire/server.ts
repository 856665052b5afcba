import type { Socket, TLSOptions } from "bun";
import { RequestReader, type WireRequest } from "../support/http-bytes.ts";

/** One connection, as the server sees it. */
export class Peer {
  /** Counted from 0 in the order of acceptance. */
  readonly number: number;
  readonly requests: WireRequest[] = [];
  receivedBytes = 0;
  isGone = false;
  readonly gone: Promise<void>;
  readonly #socket: Socket<Peer>;
  readonly #reader = new RequestReader();
  readonly #leave: () => void;
  #drained: (() => void) | null = null;

  constructor(number: number, socket: Socket<Peer>) {
    this.number = number;
    this.#socket = socket;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.gone = promise;
    this.#leave = resolve;
  }

  /** Writes the bytes as they are, as fast as the kernel accepts them. */
  async write(data: string | Uint8Array): Promise<void> {
    let rest: Uint8Array = Buffer.from(data);
    while (rest.length > 0 && !this.isGone) {
      rest = rest.subarray(Math.max(0, this.#socket.write(rest)));
      if (rest.length > 0) await this.#room();
    }
  }

  /** Waits until the kernel's buffers have room, or the connection is gone. */
  async #room(): Promise<void> {
    const drained = new Promise<void>((resolve) => {
      this.#drained = resolve;
    });
    await Promise.race([drained, this.gone]);
  }

  /** Closes the connection after what was written. */
  end(): void {
    this.#socket.end();
  }

  /** Closes only this side. What the client sends is still read. */
  halfClose(): void {
    this.#socket.shutdown();
  }

  reset(): void {
    this.#socket.terminate();
  }

  /** Stops reading. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  received(bytes: Uint8Array): WireRequest[] {
    this.receivedBytes += bytes.length;
    const requests = this.#reader.push(bytes);
    this.requests.push(...requests);
    return requests;
  }

  drained(): void {
    this.#drained?.();
  }

  left(): void {
    this.isGone = true;
    this.#leave();
  }
}

export interface ServerOptions {
  readonly tls?: TLSOptions;
  readonly accepted?: (peer: Peer) => void;
}

/** A TCP server that sends only what a test tells it to, and records its connections. */
export class TestServer {
  readonly peers: Peer[] = [];
  readonly port: number;
  readonly #stop: () => void;

  constructor(answer: (peer: Peer, request: WireRequest) => void, { tls, accepted }: ServerOptions = {}) {
    const listener = Bun.listen<Peer>({
      hostname: "127.0.0.1",
      port: 0,
      ...(tls === undefined ? {} : { tls }),
      socket: {
        open: (socket) => {
          socket.data = new Peer(this.peers.length, socket);
          this.peers.push(socket.data);
          accepted?.(socket.data);
        },
        data: ({ data: peer }, bytes) => {
          for (const request of peer.received(bytes)) answer(peer, request);
        },
        drain: ({ data: peer }) => peer.drained(),
        close: ({ data: peer }) => peer.left(),
        error() {},
      },
    });
    this.port = listener.port;
    this.#stop = () => listener.stop(true);
  }

  /** All requests, in the order of their connections. */
  get requests(): WireRequest[] {
    return this.peers.flatMap((peer) => peer.requests);
  }

  /** The connection of this number. Throws if there is none. */
  peer(number: number): Peer {
    const peer = this.peers[number];
    if (peer === undefined) throw new Error(`there is no connection number ${number}`);
    return peer;
  }

  [Symbol.dispose](): void {
    this.#stop();
  }
}

export function answerWith(body: string, headers = ""): string {
  return `HTTP/1.1 200 OK\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}
