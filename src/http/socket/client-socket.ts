import type { ServerWebSocket } from "bun";
import { assert } from "../../base/assert.ts";
import { Bag } from "../../base/collections/churn-map.ts";
import { GatewayError } from "../../base/errors.ts";
import { newId } from "../../base/id.ts";
import { LoopPacer } from "../../base/loop/pacer.ts";
import { renderError } from "../../dialects/errors/envelope.ts";
import { largeBodyBytes, shareText } from "../../gateway/body-worker/large-body.ts";
import type { Route } from "../../gateway/exchange/client-call.ts";
import { publicErrorOf } from "../../gateway/exchange/describe-error.ts";
import type { Gateway } from "../../gateway/exchange/gateway.ts";
import { closeCodes, type OpenSocket } from "../../gateway/exchange/open-sockets.ts";
import type { ServedRoute } from "../../gateway/exchange/served-operation.ts";
import { routes } from "../../gateway/operations.ts";
import { noMemory } from "../../gateway/request/read-request.ts";
import {
  type CreateFrame,
  frameJob,
  readFrame,
  type SocketFrame,
} from "../../gateway/socket/create-frame.ts";
import { warmUp } from "../../gateway/socket/operation.ts";
import type { Turn } from "../../gateway/turns/turn-body.ts";
import type { BodyReservation } from "../../limits/body-budget.ts";
import { respond } from "../respond.ts";
import { type Carrier, CreateCall } from "./create-call.ts";
import { errorFrame, onStream } from "./event-frames.ts";
import { SocketStreams } from "./streams.ts";

/** Above this many unread bytes, providers are not read either. */
const pauseBytes = 256 * 1024;

/** Maximum unread bytes of replies to frames that started no request. Above it the socket is closed. */
const maxReplyBytes = 1024 * 1024;
/** The length of the longest pong. */
const pongBytes = 127;

/** Longer frames take time to read, and are read in turn. */
const quickBytes = 16 * 1024;

/**
 * One read of a connection may bring thousands of frames. A hundred short ones of all sockets are read at once; the
 * others share two milliseconds of each iteration of the event loop, one per socket at a time. Long frames have two
 * milliseconds of their own, so that short frames of other keys do not wait for them.
 */
const shortFramePacer = new LoopPacer({ free: 100, budgetMs: 2 });
const longFramePacer = new LoopPacer({ budgetMs: 2 });
/** A socket with more frames waiting is closed. */
const maxWaitingFrames = 1000;

/** A large frame is in memory twice: as the received text, and as bytes. */
const copiesOfFrame = 2;

export interface Handshake {
  readonly request: Request;
  readonly route: Route;
  readonly address: string;
  readonly keyId: string;
  readonly slot: BodyReservation;
}

/** A client that can compress says so here. The runtime accepts it unless the header is taken away. */
export const extensionsHeader = "sec-websocket-extensions";

/** Headers of the handshake that are none of a request on the socket. */
const handshakeOnly = ["connection", "upgrade", "transfer-encoding", "x-request-id"];

/**
 * A client's WebSocket. Frames are handled synchronously or queued, because the runtime delivers the next one while the
 * last is awaited. Each request among them is an exchange, and begins when its stream is free (streams.ts).
 */
export class ClientSocket implements OpenSocket, Carrier {
  readonly url: string;
  readonly headers: Headers;
  readonly address: string;
  readonly isCompressed: boolean;
  readonly route: ServedRoute;
  readonly #gateway: Gateway;
  readonly #keyId: string;
  readonly #slot: BodyReservation;
  readonly #streams: SocketStreams;
  readonly #running = new Bag<CreateCall>();
  #connection: ServerWebSocket<unknown> | null = null;
  #lifetime: ReturnType<typeof setTimeout> | null = null;
  #unread: (() => void)[] = [];
  #unreadReplyBytes = 0;
  #stalled: ReturnType<typeof setTimeout> | undefined;
  /** Set while frames wait for their turn. */
  #reading: Promise<void> | null = null;
  #waitingFrames = 0;
  #closing: { readonly code: number; readonly reason: string } | null = null;
  #isExpired = false;

  constructor(gateway: Gateway, { request, route, address, keyId, slot }: Handshake) {
    this.#gateway = gateway;
    this.#keyId = keyId;
    this.#slot = slot;
    this.url = request.url;
    this.address = address;
    this.headers = new Headers(request.headers);
    this.isCompressed = this.headers.get(extensionsHeader)?.includes("permessage-deflate") ?? false;
    for (const name of handshakeOnly) this.headers.delete(name);
    this.route = createRoute(route);
    this.#streams = new SocketStreams({
      settings: () => gateway.configured.settings,
      reserve: () => this.#reserve(),
      begin: (create) => void this.#run(create),
    });
    gateway.sockets.add(keyId, this);
  }

  open(connection: ServerWebSocket<unknown>): void {
    this.#connection = connection;
    const { maxDurationMs } = this.#gateway.configured.settings.websocket;
    this.#lifetime = setTimeout(() => this.#expire(), maxDurationMs);
    this.#lifetime.unref();
  }

  message(_: unknown, frame: string | Uint8Array): void {
    if (this.isCompressed && !this.#gateway.inflateLimiter.take(this.#keyId, Buffer.byteLength(frame))) {
      this.#gateway.sockets.cutOffCompressed(this.#keyId);
      return;
    }
    const isQuick = this.#reading === null && frame.length < quickBytes && shortFramePacer.take();
    if (isQuick) this.#take(readFrame(frame));
    else if (this.#waitingFrames < maxWaitingFrames) this.#readLater(frame);
    else this.terminate();
  }

  /** Later frames wait for this one. */
  #readLater(frame: string | Uint8Array): void {
    const reservation = this.#reserve();
    const { maxBodyBytes } = this.#gateway.configured.settings.server;
    // No more than there is for one body, or the largest frames would never be taken.
    if (!reservation.grow(Math.min(copiesOfFrame * frame.length, Math.max(frame.length, maxBodyBytes)))) {
      this.#refuse(noMemory(), null);
      return;
    }
    this.#waitingFrames += 1;
    const reading = this.#readInTurn(frame, this.#reading, reservation)
      .catch((error) => this.#refuse(publicErrorOf(error), null))
      .finally(() => {
        reservation.release();
        this.#waitingFrames -= 1;
        if (this.#reading === reading) this.#reading = null;
        this.#closeIfIdle();
      });
    this.#reading = reading;
  }

  /** Reads a large frame on another thread. Frames still waiting when the socket closes are dropped. */
  async #readInTurn(
    frame: string | Uint8Array,
    before: Promise<void> | null,
    reservation: BodyReservation,
  ): Promise<void> {
    await before;
    const pacer = frame.length < quickBytes ? shortFramePacer : longFramePacer;
    if (this.#connection !== null) await pacer.wait();
    if (this.#connection === null) return;
    const isLarge = typeof frame === "string" && frame.length >= largeBodyBytes;
    const event = isLarge ? await this.#readLarge(frame) : readFrame(frame);
    reservation.release();
    this.#take(event);
  }

  async #readLarge(text: string): Promise<SocketFrame> {
    const isOver = () => this.#connection === null;
    const owner = {
      keyId: this.#keyId,
      get isOver() {
        return isOver();
      },
    };
    const bytes = await shareText(text);
    return this.#gateway.largeBodies.runRequest(frameJob, bytes, owner);
  }

  #take(event: SocketFrame): void {
    if (this.#connection === null) return;
    if (event.kind === "problem") {
      const { code, message, param } = event.error;
      this.#refuse(new GatewayError(code, message, { param }), event.streamId);
    } else if (event.kind === "other") this.#reply(onStream(event.answer, event.streamId));
    else if (this.#isExpired) this.#refuse(connectionLimit(), event.streamId);
    else {
      const problem = this.#streams.take(event);
      if (problem !== null) this.#refuse(problem, event.streamId);
    }
  }

  drain(connection: ServerWebSocket<unknown>): void {
    if (this.#watchReader(connection) <= pauseBytes) this.#resume();
  }

  close(): void {
    this.#connection = null;
    clearTimeout(this.#stalled);
    this.#gateway.sockets.remove(this.#keyId, this);
    this.#slot.release();
    if (this.#lifetime !== null) clearTimeout(this.#lifetime);
    this.#streams.clear();
    for (const call of this.#running) call.leave();
    this.#resume();
  }

  closeWhenIdle(code: number, reason: string): void {
    this.#closing ??= { code, reason };
    this.#closeIfIdle();
  }

  send(frames: readonly string[]): number | Promise<number> {
    const connection = this.#connection;
    if (connection === null) return 0;
    // The streams of a socket would fill it together, although each of them waits after what it has sent.
    if (this.#unread.length > 0) return this.#untilRead().then(() => this.send(frames));
    connection.cork(() => {
      for (const frame of frames) {
        // 0: it was dropped, and what follows would make no sense.
        if (connection.sendText(frame) === 0) return connection.terminate();
      }
    });
    const buffered = connection.getBufferedAmount();
    if (buffered <= pauseBytes) return buffered;
    this.#watchReader(connection);
    return this.#untilRead().then(() => buffered);
  }

  #untilRead(): Promise<void> {
    return new Promise((resolve) => this.#unread.push(resolve));
  }

  /** Cuts off a client that reads nothing for too long of what waits for it. Returns how much that is. */
  #watchReader(connection: ServerWebSocket<unknown>): number {
    const buffered = connection.getBufferedAmount();
    clearTimeout(this.#stalled);
    const { clientIdleTimeoutMs } = this.#gateway.configured.settings.server;
    if (buffered > pauseBytes) this.#stalled = setTimeout(() => connection.terminate(), clientIdleTimeoutMs);
    return buffered;
  }

  terminate(): void {
    this.#connection?.terminate();
  }

  cutOff(): void {
    this.#refuse(tooMuchCompressed(), null);
    this.#connection?.close(closeCodes.tooMuch, "Too much compressed data.");
  }

  chain(id: string): readonly Turn[] | null {
    return this.#streams.chain(id);
  }

  #reserve(): BodyReservation {
    return this.#gateway.bodies.reserve(`${this.#keyId} sockets`);
  }

  async #run(create: CreateFrame): Promise<void> {
    const call = new CreateCall(this, create);
    this.#running.add(call);
    try {
      const run = create.isWarmUp ? warmUp : this.route.run;
      await call.deliver(await respond(this.#gateway, call, { run }));
      if (call.isKeyRefused) this.closeWhenIdle(closeCodes.keyInvalid, "The key is no longer valid.");
    } finally {
      this.#running.delete(call);
      if (this.#connection !== null) this.#streams.ended(create, call.answered);
      this.#closeIfIdle();
    }
  }

  /** The runtime replies, whether or not the client reads. */
  ping(connection: ServerWebSocket<unknown>): void {
    if (connection.getBufferedAmount() > pauseBytes) this.#countReply(pongBytes);
  }

  /** Replies to a frame that started no request. */
  #reply(frame: string): void {
    void this.send([frame]);
    if ((this.#connection?.getBufferedAmount() ?? 0) > pauseBytes) this.#countReply(frame.length);
  }

  /** A client that does not read its replies must not fill the memory. */
  #countReply(bytes: number): void {
    this.#unreadReplyBytes += bytes;
    if (this.#unreadReplyBytes > maxReplyBytes) this.terminate();
  }

  #refuse(error: GatewayError, streamId: string | null): void {
    this.#reply(errorFrame(renderError(this.route.errors, error, newId("req_")), streamId));
  }

  /** Running requests can finish, as after an error without a stream. */
  #expire(): void {
    this.#isExpired = true;
    this.closeWhenIdle(closeCodes.goingAway, "The WebSocket has reached its maximum duration.");
  }

  #closeIfIdle(): void {
    const connection = this.#connection;
    if (this.#closing === null || connection === null) return;
    if (!this.#streams.isIdle || this.#reading !== null) return;
    if (this.#isExpired) this.#refuse(connectionLimit(), null);
    connection.close(this.#closing.code, this.#closing.reason);
  }

  #resume(): void {
    this.#unreadReplyBytes = 0;
    const waiting = this.#unread;
    this.#unread = [];
    for (const resume of waiting) resume();
  }
}

/** The HTTP route of the same request. */
function createRoute({ path, mode }: Route): ServedRoute {
  const found = routes.find((it) => it.path === path && it.mode === mode && it.dialect !== null);
  assert(found !== undefined, "a socket is where responses are created");
  return found;
}

function tooMuchCompressed(): GatewayError {
  const message =
    "This key exceeded the limit for compressed WebSocket data. Reconnect; compression stays off for a few seconds.";
  return new GatewayError("rate_limit_exceeded", message);
}

function connectionLimit(): GatewayError {
  const message = "The WebSocket has reached its maximum duration. Open another one.";
  return new GatewayError("websocket_connection_limit_reached", message);
}
