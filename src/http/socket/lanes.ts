import { assert } from "../../base/assert.ts";
import { GatewayError } from "../../base/errors.ts";
import type { Settings } from "../../config/settings.ts";
import { sizeOf } from "../../dialects/openai-responses/client/turn-items.ts";
import type { Turn } from "../../gateway/conversations/turn-body.ts";
import type { CreateFrame } from "../../gateway/socket/create-frame.ts";
import type { BodyReservation } from "../../limits/body-budget.ts";

/** What a socket may keep in memory: requests that wait, and conversations. */
const mostBytes = 32 * 1024 * 1024;

interface Lane {
  isBusy: boolean;
  /** The conversation up to its latest response. */
  latest: Remembered | null;
}

interface Remembered {
  readonly chain: readonly Turn[];
  readonly memory: Memory;
}

interface Waiting {
  readonly create: CreateFrame;
  readonly lane: Lane;
  readonly memory: Memory;
}

/** A part of what the socket keeps. */
interface Memory {
  readonly bytes: number;
  readonly reservation: BodyReservation;
}

export interface LanesOptions {
  settings(): Pick<Settings, "webSocket" | "server">;
  reserve(): BodyReservation;
  begin(create: CreateFrame): void;
}

/**
 * The requests of one socket: one at a time on each lane, in their order, and several lanes at once. A lane remembers its
 * latest response, so that it can be continued although it is not stored.
 */
export class Lanes {
  readonly #options: LanesOptions;
  /** The default lane has no name. */
  readonly #lanes = new Map<string | null, Lane>();
  readonly #waiting: Waiting[] = [];
  #active = 0;
  #bytes = 0;

  constructor(options: LanesOptions) {
    this.#options = options;
  }

  get isIdle(): boolean {
    return this.#active === 0 && this.#waiting.length === 0;
  }

  /** Begins a request, or lets it wait. Returns why neither is possible, or null. */
  take(create: CreateFrame): GatewayError | null {
    const { maxLanes, maxQueued } = this.#options.settings().webSocket;
    const lane = this.#laneOf(create.streamId, maxLanes);
    if (lane === null) return tooManyLanes(maxLanes);
    if (!lane.isBusy && this.#hasRoom && !this.#waiting.some((other) => other.lane === lane)) {
      this.#begin(create, lane);
      return null;
    }
    const memory = this.#waiting.length < maxQueued ? this.#allocate(create.body.length) : null;
    if (memory === null) return tooManyWaiting();
    this.#waiting.push({ create, lane, memory });
    return null;
  }

  /** A request has ended, with this conversation or with none. A response that could not be continued is forgotten. */
  ended({ streamId, parentId }: CreateFrame, chain: readonly Turn[] | null): void {
    const lane = this.#lanes.get(streamId);
    assert(lane !== undefined, "a request is on a lane");
    lane.isBusy = false;
    this.#active -= 1;
    if (chain !== null || latestId(lane) === parentId) this.#forget(lane);
    if (chain !== null) this.#remember(lane, chain);
    this.#beginWaiting();
  }

  /** The conversation up to a response, if that is the latest of a lane. */
  chain(id: string): readonly Turn[] | null {
    for (const lane of this.#lanes.values()) if (latestId(lane) === id) return lane.latest?.chain ?? null;
    return null;
  }

  /** The socket is closed. */
  clear(): void {
    for (const { memory } of this.#waiting.splice(0)) this.#free(memory);
    for (const lane of this.#lanes.values()) this.#forget(lane);
  }

  get #hasRoom(): boolean {
    return this.#active < this.#options.settings().webSocket.maxActive;
  }

  #laneOf(streamId: string | null, maxLanes: number): Lane | null {
    const known = this.#lanes.get(streamId);
    if (known !== undefined) return known;
    const named = this.#lanes.size - (this.#lanes.has(null) ? 1 : 0);
    if (streamId !== null && named >= maxLanes) return null;
    const lane = { isBusy: false, latest: null };
    this.#lanes.set(streamId, lane);
    return lane;
  }

  #begin(create: CreateFrame, lane: Lane): void {
    lane.isBusy = true;
    this.#active += 1;
    this.#options.begin(create);
  }

  #beginWaiting(): void {
    while (this.#hasRoom) {
      const index = this.#waiting.findIndex(({ lane }) => !lane.isBusy);
      const [next] = index === -1 ? [] : this.#waiting.splice(index, 1);
      if (next === undefined) return;
      this.#free(next.memory);
      this.#begin(next.create, next.lane);
    }
  }

  #remember(lane: Lane, chain: readonly Turn[]): void {
    const items = chain.flatMap(({ input, output }) => [...input, ...output]);
    const bytes = sizeOf(items);
    if (bytes > this.#options.settings().server.maxBodyBytes) return;
    const memory = this.#allocate(bytes);
    if (memory !== null) lane.latest = { chain, memory };
  }

  #forget(lane: Lane): void {
    if (lane.latest !== null) this.#free(lane.latest.memory);
    lane.latest = null;
  }

  #allocate(bytes: number): Memory | null {
    const reservation = this.#options.reserve();
    if (this.#bytes + bytes > mostBytes || !reservation.grow(bytes)) return null;
    this.#bytes += bytes;
    return { bytes, reservation };
  }

  #free({ bytes, reservation }: Memory): void {
    this.#bytes -= bytes;
    reservation.release();
  }
}

function latestId({ latest }: Lane): string | null {
  return latest?.chain.at(-1)?.id ?? null;
}

function tooManyLanes(maxLanes: number): GatewayError {
  const message = `This WebSocket has ${maxLanes} lanes already; use one of them, or open another WebSocket.`;
  return new GatewayError("websocket_stream_limit_reached", message, { param: "stream_id" });
}

function tooManyWaiting(): GatewayError {
  const message = "Too much waits on this WebSocket already. Send it once a response has ended.";
  return new GatewayError("rate_limit_exceeded", message);
}
