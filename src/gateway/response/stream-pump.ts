import type { GatewayError } from "../../base/errors.ts";
import { bodyPacer } from "../../base/loop/body-pacer.ts";
import type { Usage } from "../../base/usage/usage.ts";
import { largeEventBytes } from "../../dialects/sse/event.ts";
import { giveBackClaims, unlockConversation } from "../exchange/claims.ts";
import type { DirectController, Piece, StreamSource } from "../exchange/client-call.ts";
import { publicErrorOf } from "../exchange/describe-error.ts";
import { endExchange } from "../exchange/end-exchange.ts";
import type { Exchange } from "../exchange/exchange.ts";
import type { Gateway } from "../exchange/gateway.ts";
import type { GuardedStream } from "../exchange/watchdog.ts";
import { AbandonedStream, silenceMsOf } from "./abandoned-stream.ts";
import { breaksOffAfterError, ClientStream, cutOff } from "./client-stream.ts";
import { costComment } from "./headers.ts";
import { type Delivery, isEndOverdue, type StreamRelayer } from "./pending-response.ts";
import { streamPacer } from "./provider-response.ts";
import { hasCharge, readTrailing, StreamCost, StreamRecording, takeEnd, trailingMs } from "./stream-cost.ts";

/** Bytes of a stream to relay before others get their turn. A provider on a fast network could send without end. */
const maxBytesPerTurn = 32 * 1024;

/**
 * Moves one provider's stream to one client. Exactly one of three things ends it: the provider's proper end (settled,
 * then the last bytes leave), a failure (settled for what was produced, then the in-band error), or the client's
 * leaving (upstream stopped, or read to its usage, and settled for what was produced).
 */
export class StreamPump implements GuardedStream, StreamSource {
  readonly #delivery: Delivery;
  readonly #gateway: Gateway;
  readonly #relayer: StreamRelayer;
  readonly #exchange: Exchange;
  readonly #recording: StreamRecording;
  readonly #monotonicMs: () => number;
  readonly #client: ClientStream;
  readonly #cost: StreamCost;
  /**
   * `left`: the client is gone, and the rest is read for its usage, or stored for a retry if the provider bills all of
   * it. `ending`: it is being settled, and its last bytes are sent. `over`: nothing more is written.
   */
  #state: "streaming" | "left" | "ending" | "over" = "streaming";
  #isPumping = false;
  #left: AbandonedStream | null = null;
  #interruptedBy: GatewayError | null = null;
  /** Resolves when the client has read what the last write left over; undefined if that was nothing. */
  #blocked: Promise<void> | undefined;
  /** A chunk that is relayed in a separate event-loop iteration. */
  #waiting: Uint8Array | null = null;
  /** The provider was silent for too long after a complete response, and its call was ended. */
  #isOverdue = false;
  #trailingUntilMs = Number.POSITIVE_INFINITY;

  constructor(delivery: Delivery, relayer: StreamRelayer) {
    const { asking, opened } = delivery;
    const { gateway, exchange } = asking.call;
    this.#delivery = delivery;
    this.#gateway = gateway;
    this.#relayer = relayer;
    this.#cost = new StreamCost(delivery, relayer);
    this.#exchange = exchange;
    this.#recording = new StreamRecording(exchange.taken.recorder);
    this.#monotonicMs = gateway.clock.monotonicMs;
    this.#client = new ClientStream(gateway.clock.monotonicMs);
    opened.outlivesClient = true;
  }

  pull(controller: DirectController): Promise<void> {
    this.#client.open(controller);
    return this.#run();
  }

  async #run(): Promise<void> {
    this.#isPumping = true;
    try {
      await (this.#left === null ? this.#pump() : this.#left.readReceived());
    } catch (error) {
      if (this.#left === null) await (this.#isOverdue ? this.#endComplete() : this.#fail(error));
    } finally {
      this.#left?.leave();
      this.#client.close();
    }
  }

  /**
   * Bytes that have arrived are written before anything is awaited: Bun then sends the response's head together with
   * them, and not in ten separate packets. A later chunk that has already arrived is not awaited either, which saves
   * 0.1 µs each.
   */
  async #pump(): Promise<void> {
    const relayer = this.#relayer;
    let turnBytes = 0;
    for (;;) {
      const next = this.#delivery.opened.read(this.#relay);
      const chunk = next instanceof Promise ? await next : next;
      if (this.#left !== null) return this.#left.read(this.#waiting ?? chunk, next instanceof Promise);
      if (chunk === null) break;
      turnBytes += chunk.length;
      if (turnBytes > maxBytesPerTurn) {
        turnBytes = 0;
        await streamPacer.wait();
      }
      if (this.#state === "over") return;
      if (chunk.length > 0) this.#relay(chunk);
      if (this.#waiting !== null && !(await this.#relayWaiting(this.#waiting))) return;
      if (this.#blocked !== undefined) await this.#blocked;
      if (relayer.largeEvent !== null && !(await this.#relayLarge())) return;
      this.#throwIfBroken();
      if (relayer.ended) return this.#conclude();
    }
    if (this.#state === "over") return;
    if (this.#interruptedBy !== null) throw this.#interruptedBy;
    await this.#endBody();
  }

  /** Large events are parsed on another thread, so that they do not hold up other streams. False if the stream is over. */
  async #relayLarge(): Promise<boolean> {
    const relayer = this.#relayer;
    for (let event = relayer.largeEvent; event !== null; event = relayer.largeEvent) {
      const parsed = await this.#gateway.largeBodies.parseEvent(event);
      if (this.#state === "over") return false;
      const piece = relayer.resume(parsed);
      if (piece.length >= largeEventBytes) await bodyPacer.wait();
      await this.#write(piece);
      this.#cost.takeProducedIfMuch();
    }
    return true;
  }

  async #endBody(): Promise<void> {
    const relayer = this.#relayer;
    if (relayer.isCollecting) await bodyPacer.wait();
    await this.#write(relayer.end());
    if (relayer.largeEvent !== null) {
      if (!(await this.#relayLarge())) return;
      await this.#write(relayer.end());
    }
    this.#throwIfBroken();
    await this.#conclude();
  }

  /** Relays a chunk at once while the loop waits: waking it would cost as much as the rest. False if the loop has to decide. */
  readonly #relay = (chunk: Uint8Array): boolean => {
    if (this.#state === "over") return false;
    if (this.#left === null && !this.#relayer.isCollecting) return this.#relayNow(chunk);
    this.#waiting = chunk;
    return false;
  };

  #relayNow(chunk: Uint8Array): boolean {
    const relayer = this.#relayer;
    this.#exchange.taken.content?.upstreamResponse(chunk);
    this.#blocked = this.#write(relayer.push(chunk));
    this.#cost.takeProducedIfMuch();
    if (relayer.largeEvent !== null) return false;
    return this.#blocked === undefined && relayer.found.failure === null && !relayer.ended;
  }

  /** False if the stream is over. */
  async #relayWaiting(chunk: Uint8Array): Promise<boolean> {
    this.#waiting = null;
    await bodyPacer.wait();
    if (this.#state === "over") return false;
    this.#relayNow(chunk);
    return true;
  }

  /** Called when the provider has fallen silent after a complete response. */
  async #endComplete(): Promise<void> {
    try {
      await this.#endBody();
    } catch (error) {
      await this.#fail(error);
    }
  }

  #throwIfBroken(): void {
    const reason = this.#interruptedBy ?? this.#relayer.found.failure;
    if (reason !== null) throw reason;
  }

  /** The charge is durable before the end leaves. */
  async #conclude(): Promise<void> {
    // What was read to its end is paid for in full, so it is kept for a retry.
    if (this.#left !== null && !this.#recording.isKept) return;
    if (this.#left === null) this.#state = "ending";
    const evidence = this.#cost.evidence();
    const end = await takeEnd(this.#delivery, this.#relayer, evidence, this.#recording, this.#readTrailing);
    if (this.#left !== null) return;
    await this.#delivery.asking.meter.settle("completed", this.#cost.evidence(), 200, this.#recording.stored);
    if (this.#exchange.taken.conversationClaim !== null)
      await unlockConversation(this.#gateway, this.#exchange);
    try {
      if (this.#relayer.isRaw !== true)
        await this.#write(costComment(this.#exchange, this.#delivery.asking.call.key));
      for (const piece of end) await this.#write(piece);
      if (!this.#recording.isKept) await this.#readTrailing((piece) => this.#write(piece));
    } finally {
      // Charged as completed, even if the client disconnected before the last bytes.
      this.#end("completed", null);
    }
  }

  readonly #readTrailing = (take: (piece: Piece) => Promise<void> | undefined | void): Promise<void> => {
    this.#trailingUntilMs = this.#monotonicMs() + trailingMs;
    return readTrailing(this.#delivery.opened, this.#relayer, take);
  };

  /** Undefined when it went out at once. */
  #write(piece: Piece): Promise<void> | undefined {
    if (piece.length === 0) return undefined;
    if (this.#state === "streaming" || this.#state === "left") this.#recording.add(piece);
    if (!this.#client.isOpen || this.#left !== null) return undefined;
    this.#exchange.sawFirstByte();
    this.#exchange.taken.content?.response(piece);
    return this.#client.send(piece);
  }

  get isStalled(): boolean {
    return this.#state === "streaming" && this.#client.isBlocked(this.#monotonicMs());
  }

  /** Called by the watchdog, which serves other streams too: a failure here ends only this stream. */
  check(nowMs: number): void {
    try {
      this.#lookAfter(nowMs);
    } catch (error) {
      this.interrupt(publicErrorOf(error));
    }
  }

  #lookAfter(nowMs: number): void {
    const { call, configured } = this.#exchange;
    const { heartbeatMs, clientIdleTimeoutMs } = configured.settings.server;
    const client = this.#client;
    if (nowMs > this.#trailingUntilMs) this.#delivery.opened.abort();
    if (this.#state === "left") this.#cost.journalIfDue(nowMs);
    if (this.#left !== null) return;
    client.noteWrites(nowMs);
    // Bun reports a client that leaves while it reads. If it left before, the stream is never pulled.
    if (!client.isOpen && call.request.signal.aborted) this.cancel();
    if (client.isBlockedLongerThan(clientIdleTimeoutMs, nowMs)) {
      this.cancel();
      call.disconnect();
      return;
    }
    if (this.#state !== "streaming") return;
    this.#cost.journalIfDue(nowMs);
    if (client.isBlocked(nowMs)) return;
    if (isEndOverdue(this.#relayer, nowMs - client.lastPieceMs)) {
      this.#isOverdue = true;
      this.#delivery.opened.abort();
    }
    if (this.#relayer.isRaw === true) return;
    if (heartbeatMs > 0 && nowMs - client.lastWriteMs >= heartbeatMs && client.isOpen) this.#sendHeartbeat();
  }

  /** Not recorded, and not counted as the first byte. It is not awaited, so a failed heartbeat ends the stream from here. */
  #sendHeartbeat(): void {
    this.#client
      .sendHeartbeat(this.#relayer.heartbeat())
      ?.catch((error) => this.interrupt(publicErrorOf(error)));
  }

  /**
   * Ends the stream from this side, in-band: the time is up, or the gateway is shutting down. It is charged and over then
   * even if the client does not read.
   */
  interrupt(error: GatewayError): void {
    if (this.#client.isBlocked(this.#monotonicMs())) this.#exchange.call.disconnect();
    this.#client.giveUpWaiting();
    if (this.#state === "ending") return;
    this.#interruptedBy ??= error;
    this.#delivery.opened.abort();
  }

  /** Output so far is charged, and no usage record is written. Once the end is being settled, it counts as read. */
  cancel(): void {
    if (this.#left !== null) return;
    if (this.#state !== "streaming") {
      // A recording has what follows the end.
      if (!this.#recording.isKept) this.#delivery.opened.abort();
      return;
    }
    this.#state = "left";
    const actions = {
      push: async (chunk: Uint8Array) => {
        this.#write(this.#relayer.push(chunk));
        await this.#relayLarge();
      },
      end: () => this.#endBody(),
      settle: () => void this.#endLeft(),
    };
    const { isKept } = this.#recording;
    const longestGapMs = this.#client.longestGapUntil(this.#monotonicMs());
    const silenceMs = silenceMsOf(this.#delivery.opened, this.#relayer, longestGapMs);
    const options = { silenceMs, isKept, runsToEnd: this.#exchange.outlivesClient };
    this.#left = new AbandonedStream(this.#delivery.opened, this.#relayer, actions, options);
    this.#client.giveUpWaiting();
    // What is kept for a retry changes its conversation, too.
    if (!isKept) void unlockConversation(this.#gateway, this.#exchange);
    // The exchange is under way until it is charged, and a crash meanwhile costs the same.
    if (hasCharge(this.#relayer)) this.#cost.journal();
    if (this.#isPumping) this.#left.begin();
    // What has come of a stream that was never pulled is read here: its opening may have reported usage.
    else void this.#run();
  }

  async #endLeft(): Promise<void> {
    this.#state = "over";
    try {
      await this.#cost.settleBrokenOff("cancelled", this.#recording.stored, null);
      this.#end("cancelled", null);
    } catch (error) {
      this.#end("cancelled", error);
    }
  }

  /** Reports the error in-band if possible, and ends the exchange even if other steps fail. */
  async #fail(thrown: unknown): Promise<void> {
    if (this.#state === "over") return;
    this.#state = "ending";
    let error = publicErrorOf(this.#interruptedBy ?? thrown);
    let charged: Usage | null = null;
    this.#delivery.opened.abort();
    try {
      if (await this.#cost.settleBrokenOff("failed", null, error)) {
        charged = this.#exchange.charge?.usage ?? null;
      }
    } catch (unsettled) {
      error = publicErrorOf(unsettled);
    }
    await giveBackClaims(this.#gateway, this.#exchange);
    try {
      await this.#write(this.#relayer.failure(error, charged));
    } catch {
      // The client disconnected as well.
    }
    this.#end("failed", error);
    const { call } = this.#exchange;
    if (this.#relayer.isRaw !== true && !breaksOffAfterError(call)) return;
    this.#client.abandon();
    await cutOff(call, this.#client.writtenBytes);
  }

  #end(outcome: "completed" | "failed" | "cancelled", error: unknown): void {
    this.#state = "over";
    endExchange(this.#gateway, this.#exchange, { status: 200, outcome, error });
  }
}
