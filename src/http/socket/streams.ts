import { assert } from "../../base/assert.ts";
import { GatewayError } from "../../base/errors.ts";
import type { Settings } from "../../config/settings.ts";
import { sizeOf } from "../../dialects/openai-responses/client/turn-items.ts";
import type { CreateFrame } from "../../gateway/socket/create-frame.ts";
import type { Turn } from "../../gateway/turns/turn-body.ts";
import type { BodyReservation } from "../../limits/body-budget.ts";

/** Maximum memory of a socket: waiting requests, and conversations. */
const maxBytes = 32 * 1024 * 1024;

interface SocketStream {
  isBusy: boolean;
  /** The conversation up to its latest response. */
  latest: RememberedChain | null;
}

interface RememberedChain {
  readonly chain: readonly Turn[];
  readonly memory: Memory;
}

interface WaitingRequest {
  readonly create: CreateFrame;
  readonly stream: SocketStream;
  readonly memory: Memory;
}

/** A part of what the socket keeps. */
interface Memory {
  readonly bytes: number;
  readonly reservation: BodyReservation;
}

export interface StreamsOptions {
  settings(): Pick<Settings, "websocket" | "server">;
  reserve(): BodyReservation;
  begin(create: CreateFrame): void;
}

/**
 * The requests of one socket: one at a time on each stream, in their order, and several streams at once. A stream remembers its
 * latest response, so that it can be continued although it is not stored.
 */
export class SocketStreams {
  readonly #options: StreamsOptions;
  /** The default stream has no name. */
  readonly #streams = new Map<string | null, SocketStream>();
  readonly #waiting: WaitingRequest[] = [];
  #active = 0;
  #bytes = 0;

  constructor(options: StreamsOptions) {
    this.#options = options;
  }

  get isIdle(): boolean {
    return this.#active === 0 && this.#waiting.length === 0;
  }

  /** Begins a request, or lets it wait. Returns why neither is possible, or null. */
  take(create: CreateFrame): GatewayError | null {
    const { maxStreams, maxQueued } = this.#options.settings().websocket;
    const stream = this.#streamOf(create.streamId, maxStreams);
    if (stream === null) return tooManyStreams(maxStreams);
    if (!stream.isBusy && this.#hasRoom && !this.#waiting.some((other) => other.stream === stream)) {
      this.#begin(create, stream);
      return null;
    }
    const memory = this.#waiting.length < maxQueued ? this.#allocate(create.body.length) : null;
    if (memory === null) return tooManyWaiting();
    this.#waiting.push({ create, stream, memory });
    return null;
  }

  /** A request has ended, with this conversation or with none. A response that could not be continued is forgotten. */
  ended({ streamId, parentId }: CreateFrame, chain: readonly Turn[] | null): void {
    const stream = this.#streams.get(streamId);
    assert(stream !== undefined, "a request is on a stream");
    stream.isBusy = false;
    this.#active -= 1;
    if (chain !== null || latestId(stream) === parentId) this.#forget(stream);
    if (chain !== null) this.#remember(stream, chain);
    this.#beginWaiting();
  }

  /** The conversation up to a response, if that is the latest of a stream. */
  chain(id: string): readonly Turn[] | null {
    for (const stream of this.#streams.values())
      if (latestId(stream) === id) return stream.latest?.chain ?? null;
    return null;
  }

  /** The socket is closed. */
  clear(): void {
    for (const { memory } of this.#waiting.splice(0)) this.#free(memory);
    for (const stream of this.#streams.values()) this.#forget(stream);
  }

  get #hasRoom(): boolean {
    return this.#active < this.#options.settings().websocket.maxConcurrent;
  }

  #streamOf(streamId: string | null, maxStreams: number): SocketStream | null {
    const known = this.#streams.get(streamId);
    if (known !== undefined) return known;
    const named = this.#streams.size - (this.#streams.has(null) ? 1 : 0);
    if (streamId !== null && named >= maxStreams) return null;
    const stream = { isBusy: false, latest: null };
    this.#streams.set(streamId, stream);
    return stream;
  }

  #begin(create: CreateFrame, stream: SocketStream): void {
    stream.isBusy = true;
    this.#active += 1;
    this.#options.begin(create);
  }

  #beginWaiting(): void {
    while (this.#hasRoom) {
      const index = this.#waiting.findIndex(({ stream }) => !stream.isBusy);
      const [next] = index === -1 ? [] : this.#waiting.splice(index, 1);
      if (next === undefined) return;
      this.#free(next.memory);
      this.#begin(next.create, next.stream);
    }
  }

  #remember(stream: SocketStream, chain: readonly Turn[]): void {
    const items = chain.flatMap(({ input, output }) => [...input, ...output]);
    const bytes = sizeOf(items);
    if (bytes > this.#options.settings().server.maxBodyBytes) return;
    const memory = this.#allocate(bytes);
    if (memory !== null) stream.latest = { chain, memory };
  }

  #forget(stream: SocketStream): void {
    if (stream.latest !== null) this.#free(stream.latest.memory);
    stream.latest = null;
  }

  #allocate(bytes: number): Memory | null {
    const reservation = this.#options.reserve();
    if (this.#bytes + bytes > maxBytes || !reservation.grow(bytes)) return null;
    this.#bytes += bytes;
    return { bytes, reservation };
  }

  #free({ bytes, reservation }: Memory): void {
    this.#bytes -= bytes;
    reservation.release();
  }
}

function latestId({ latest }: SocketStream): string | null {
  return latest?.chain.at(-1)?.id ?? null;
}

function tooManyStreams(maxStreams: number): GatewayError {
  const message = `This WebSocket already has ${maxStreams} streams. Use one of them, or open another WebSocket.`;
  return new GatewayError("websocket_stream_limit_reached", message, { param: "stream_id" });
}

function tooManyWaiting(): GatewayError {
  const message = "Too many requests are waiting on this WebSocket. Retry when a response ends.";
  return new GatewayError("rate_limit_exceeded", message);
}
