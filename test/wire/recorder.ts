import type { Connection } from "../../src/wire/connection.ts";
import {
  type Dial,
  dialByBun,
  HttpClient,
  type HttpClientOptions,
  type ServerAddress,
} from "../../src/wire/http-client.ts";
import type { Head, Receiver, Transfer } from "../../src/wire/transfer.ts";
import { answerWith, TestServer } from "./server.ts";

/** Records the calls of a transfer in their order, including any after the end. */
export class Recorder implements Receiver {
  /** `connected`, `answered 200`, `ended`, `failed ECONNRESET`. */
  readonly events: string[] = [];
  readonly pieces: Uint8Array[] = [];
  receivedBytes = 0;
  cause: unknown = null;
  /** Resolves with the last event. */
  readonly over: Promise<string>;
  onHead: ((head: Head) => void) | null = null;
  onPiece: ((bytes: Uint8Array) => void) | null = null;
  onConnected: (() => void) | null = null;
  readonly #end: (event: string) => void;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<string>();
    this.over = promise;
    this.#end = resolve;
  }

  connected(): void {
    this.#record("connected");
    this.onConnected?.();
  }

  answered(head: Head): void {
    this.#record(`answered ${head.status}`);
    this.onHead?.(head);
  }

  received(bytes: Uint8Array): void {
    if (!this.events.at(-1)?.startsWith("answered")) this.#record("received without a head");
    this.pieces.push(bytes);
    this.receivedBytes += bytes.length;
    this.onPiece?.(bytes);
  }

  ended(): void {
    this.#record("ended");
    this.#end("ended");
  }

  failed(cause: unknown): void {
    this.cause = cause;
    const event = `failed ${codeOf(cause)}`;
    this.#record(event);
    this.#end(event);
  }

  get bytes(): Buffer {
    return Buffer.concat(this.pieces);
  }

  get text(): string {
    return this.bytes.toString();
  }

  #record(event: string): void {
    this.events.push(event);
  }
}

export function codeOf(cause: unknown): string {
  return cause instanceof Error && "code" in cause ? String(cause.code) : String(cause);
}

/** A client for a server on this machine. */
export function clientOf({ port }: { readonly port: number }, options: HttpClientOptions = {}): HttpClient {
  return new HttpClient({ hostname: "127.0.0.1", port, isSecure: false }, options);
}

/**
 * Waits until everything in flight has arrived: a request that was sent later, over a connection of its own, has been
 * answered. For tests that nothing happens.
 */
export async function everythingArrived(): Promise<void> {
  using server = new TestServer((peer) => void peer.write(answerWith("ok")));
  const { events } = await exchange(clientOf(server));
  if (events.at(-1) !== "ended") throw new Error(`nothing arrives: ${events}`);
}

/** Counts the connections. A request that failed without another connection was not resent. */
export class CountedDials {
  count = 0;

  readonly dial: Dial = (address, connection) => {
    this.count += 1;
    return dialByBun(address, connection);
  };
}

/** Opens or fails connections on demand. */
export class HeldDials {
  readonly held: { address: ServerAddress; connection: Connection; settle: PromiseWithResolvers<unknown> }[] =
    [];
  readonly dial = (address: ServerAddress, connection: Connection): Promise<unknown> => {
    const settle = Promise.withResolvers<unknown>();
    this.held.push({ address, connection, settle });
    return settle.promise;
  };

  succeed(number: number): void {
    const { address, connection, settle } = this.#at(number);
    dialByBun(address, connection).then(settle.resolve, settle.reject);
  }

  fail(number: number, code: string): void {
    this.#at(number).settle.reject(Object.assign(new Error("it is a test"), { code }));
  }

  #at(number: number) {
    const held = this.held[number];
    if (held === undefined) throw new Error(`there is no dial number ${number}`);
    return held;
  }
}

/** A request in flight, and the recorder of its answer. */
export interface Sent {
  readonly transfer: Transfer;
  readonly recorder: Recorder;
}

const head = "POST /v1/chat HTTP/1.1\r\nhost: test\r\n";

export function post(client: HttpClient, body: Uint8Array | string = "{}", caller = "caller"): Sent {
  const recorder = new Recorder();
  return { transfer: client.send(head, body, recorder, caller), recorder };
}

/** Sends a request and waits until it has ended or failed. */
export async function exchange(
  client: HttpClient,
  body: Uint8Array | string = "{}",
  caller = "caller",
): Promise<Recorder> {
  const { recorder } = post(client, body, caller);
  await recorder.over;
  return recorder;
}
