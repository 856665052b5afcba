import { GatewayError } from "../../base/errors.ts";
import { internalError } from "../../base/requests/gateway-endings.ts";
import { clientDialect } from "../../dialects/registry.ts";
import type { GenerationCall } from "../attempt/provider-call.ts";
import { namedAsSent } from "../conversations/sent-paths.ts";
import type { DirectController, Piece, StreamSource } from "../exchange/client-call.ts";
import { eventsOf } from "../exchange/content.ts";
import type { EarlyResponse, Exchange } from "../exchange/exchange.ts";
import type { WatchedStream } from "../exchange/watchdog.ts";
import { breaksOffAfterError, cutOff, sourceResponse } from "./client-stream.ts";
import { commonHeaders, droppedHeader } from "./headers.ts";
import { streamHeaders } from "./pending-response.ts";

/**
 * Starts a stream early if no provider responds soon. Dispose of it after a provider has: its pump is watched by then,
 * so the watchdog's timer keeps running in between.
 */
export function watchSilence(asking: GenerationCall): Disposable | undefined {
  const { gateway, exchange } = asking.call;
  const { heartbeatMs } = exchange.configured.settings.server;
  if (!asking.stream || heartbeatMs === 0 || !exchange.mayBeginEarly) return undefined;
  const early = new EarlyStream(asking, heartbeatMs, gateway.clock.monotonicMs());
  gateway.watchdog.watch(early);
  return { [Symbol.dispose]: () => gateway.watchdog.forget(early) };
}

/**
 * A stream whose provider has not begun to respond. After `server.heartbeat` of silence its head is sent and heartbeats
 * follow, while the attempts continue: a server with one slot sends nothing until it is free, and a proxy would
 * disconnect the client meanwhile. A stream, a complete body or an error then continues the same response.
 */
export class EarlyStream implements WatchedStream, StreamSource, EarlyResponse {
  readonly #asking: GenerationCall;
  readonly #heartbeatMs: number;
  readonly #next = Promise.withResolvers<StreamSource>();
  #silentSinceMs: number;
  #controller: DirectController | null = null;
  #source: StreamSource | null = null;
  #isCancelled = false;
  #hasFailed = false;
  /** Dropped fields that the head announces. */
  #announced: string | undefined;

  constructor(asking: GenerationCall, heartbeatMs: number, nowMs: number) {
    this.#asking = asking;
    this.#heartbeatMs = heartbeatMs;
    this.#silentSinceMs = nowMs;
  }

  check(nowMs: number): void {
    if (this.#source !== null || nowMs - this.#silentSinceMs < this.#heartbeatMs) return;
    this.#silentSinceMs = nowMs;
    if (this.#exchange.early === null) this.#begin();
    else this.#sendHeartbeat();
  }

  /** The head leaves with what is known now: a later attempt may drop other fields, and no cost or rate limit can follow. */
  #begin(): void {
    const exchange = this.#exchange;
    exchange.dropped = this.#asking.attempt?.dropped ?? exchange.dropped;
    this.#announced = droppedHeader(exchange);
    const headers = { ...commonHeaders(exchange), ...streamHeaders };
    const response = sourceResponse(this, exchange.call, () => ({ headers }));
    exchange.call.takeStream = (source) => this.#follow(source);
    exchange.respondEarly(this, response);
  }

  async pull(controller: DirectController): Promise<void> {
    this.#controller = controller;
    this.#sendHeartbeat();
    const source = await this.#next.promise;
    if (!this.#isCancelled) await source.pull(controller);
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#source?.cancel();
  }

  /** Continues with the awaited response: a stream continues by itself, and anything else is written unchanged. */
  async end(response: Response): Promise<void> {
    if (this.#source !== null) return;
    const body = await response.bytes();
    const { call, configured } = this.#exchange;
    const isBrokenOff = this.#hasFailed && breaksOffAfterError(call);
    this.#follow({
      async pull(controller) {
        call.disconnect(configured.settings.server.clientIdleTimeoutMs);
        await controller.write(body);
        if (isBrokenOff) await cutOff(call, body.length);
        else controller.end();
      },
      cancel() {},
    });
  }

  /** The error as the dialect's event, since the status was sent. */
  failure(thrown: unknown): Response {
    this.#hasFailed = true;
    const exchange = this.#exchange;
    const { clientDialect: dialect, model, atSeconds } = this.#asking.generation;
    const error = thrown instanceof GatewayError ? thrown : new GatewayError("internal_error", internalError);
    const event = clientDialect(dialect).inBandError(namedAsSent(error, exchange.sentPaths), exchange.id, {
      sequenceNumber: 0,
      responseId: "resp_failed",
      model: model.id,
      createdAtSeconds: atSeconds,
      hasBegun: false,
      usage: exchange.charge?.usage ?? null,
    });
    const { content } = exchange.taken;
    if (content !== null && !content.isOpen) {
      content.open(eventsOf(exchange), true);
      content.response(event);
    }
    return new Response(event);
  }

  #follow(source: StreamSource): void {
    this.#source = source;
    if (this.#isCancelled) source.cancel();
    const dropped = droppedHeader(this.#exchange);
    const { rejectsComments } = clientDialect(this.#asking.clientDialect);
    if (rejectsComments !== true && dropped !== this.#announced && dropped !== undefined)
      this.#write(`: x-sluice-dropped: ${dropped}\n\n`);
    this.#next.resolve(source);
  }

  #sendHeartbeat(): void {
    const { clientDialect: dialect, model } = this.#asking;
    this.#write(clientDialect(dialect).heartbeat(false, 0, model.id));
  }

  /** Not awaited: if the client has disconnected, its request reports this. */
  #write(piece: Piece): void {
    if (this.#isCancelled) return;
    Promise.resolve(this.#controller?.write(piece)).catch(() => this.cancel());
  }

  get #exchange(): Exchange {
    return this.#asking.call.exchange;
  }
}
