import { GatewayError } from "../base/errors.ts";
import type { ReportedExtras } from "../base/extra-usage.ts";
import { releaseBytes } from "../base/release.ts";
import type { Claim } from "../idempotency/idempotency.ts";
import type { KeyRecord } from "../store/store.ts";
import type { Opened } from "../upstream/upstream.ts";
import type { Bill } from "./bill.ts";
import { conclude } from "./conclude.ts";
import type { Exchange } from "./exchange.ts";
import { usedExtras } from "./extras.ts";
import type { Gateway } from "./gateway.ts";
import type { Generation } from "./generation.ts";
import { addCostHeaders, addHeaders, costText, standingHeaders } from "./headers.ts";
import { PassthroughRelayer } from "./passthrough-relayer.ts";
import type { Attempt } from "./prepare.ts";
import { Produced } from "./produced.ts";
import { StreamPump } from "./stream-pump.ts";
import type { StreamRelayer } from "./stream-relayer.ts";
import { TranslatedRelayer } from "./translated-relayer.ts";
import { readWhole, readWholeAsStream, type WholeAnswer } from "./whole.ts";

/** A provider that has begun to answer, and all that is needed to bring the answer to the client. */
export interface Answering {
  readonly gateway: Gateway;
  readonly exchange: Exchange;
  readonly key: KeyRecord;
  readonly generation: Generation;
  readonly attempt: Attempt;
  readonly opened: Opened;
  readonly bill: Bill;
  readonly claim: Claim | null;
}

const jsonHeaders = { "content-type": "application/json" };

/** The last one keeps nginx from collecting the stream before it passes it on. */
const streamHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
};

/** The answer in one piece, or null where it is a stream from end to end. Only some have to be waited for. */
export function readAnswer({
  opened,
  attempt,
  generation,
}: Answering): WholeAnswer | Promise<WholeAnswer> | null {
  if (!generation.stream) return readWhole(opened, attempt);
  return opened.streaming ? null : readWholeAsStream(opened, attempt);
}

/** Nothing comes of an answer that had begun. */
export function abandon({ exchange, opened }: Answering): void {
  opened.abort();
  opened.finished(exchange.isOver ? "cancelled" : "failed");
}

function contentHeaders({ generation }: Answering): Readonly<Record<string, string>> {
  return generation.stream ? streamHeaders : jsonHeaders;
}

/** What an answer has shown beside its content. */
export interface Shown {
  readonly given: readonly string[];
  readonly extras: ReportedExtras | null;
}

/** Before an exchange is settled: ids that the client knows now, and what else is to be charged. */
function takeNote({ gateway, exchange, key, opened }: Answering, { given, extras }: Shown): void {
  gateway.givenIds.remember(key.id, opened.deployment.provider.settings.name, given);
  exchange.extras = usedExtras(exchange.askedExtras, extras);
}

/**
 * Throws when the client has left and cannot come back for a whole answer: it is not charged for what it will never
 * see. The runtime closes a connection on which a second request follows before the first is answered, so this is also
 * what becomes of pipelined requests. With an idempotency key the answer is charged and kept, for the retry.
 */
export function refuseUnreadable({ exchange, claim }: Answering): void {
  if (claim !== null || !exchange.call.request.signal.aborted) return;
  throw new GatewayError("invalid_request", "The client left before its answer came.");
}

/** Resolves when the charge is durable. */
export function settleWhole(answering: Answering, whole: WholeAnswer): Promise<unknown> {
  const { gateway, exchange, generation, opened, bill, claim } = answering;
  exchange.sawFirstByte();
  opened.finished("completed");
  const recorder = claim === null ? null : gateway.idempotency.record(claim);
  recorder?.append(typeof whole.body === "string" ? Buffer.from(whole.body) : whole.body);
  const stored = recorder?.finish({ status: 200, headers: contentHeaders(answering) }) ?? null;
  takeNote(answering, whole);
  const evidence = {
    usage: whole.usage,
    partialUsage: null,
    produced: () => producedBy(whole),
    requestBytes: generation.request.bytes,
  };
  return bill.settle("completed", evidence, 200, stored);
}

function producedBy(whole: WholeAnswer): Produced {
  const produced = new Produced();
  produced.add(whole.produced());
  return produced;
}

export function wholeResponse(answering: Answering, whole: WholeAnswer): Response {
  const { gateway, exchange, key, generation, opened } = answering;
  leave(answering);
  const headers = standingHeaders(exchange);
  addHeaders(headers, opened.headers);
  addHeaders(headers, contentHeaders(answering));
  addCostHeaders(headers, gateway, exchange, key);
  const response = new Response(whole.body, { headers });
  // The response has a copy, and what was to be stored of it is on disk.
  if (typeof whole.body !== "string") releaseBytes(whole.body);
  releaseBytes(generation.request.bytes);
  return response;
}

export function streamResponse(answering: Answering): Response {
  const { gateway, exchange, key, generation, opened, bill, claim } = answering;
  // The gateway is going down, and there is still a status to say it with.
  if (exchange.endedBy !== null) throw exchange.endedBy;
  const { server } = gateway.configured.settings;
  const { request } = exchange.call;
  const wantsCost = request.headers.get("x-sluice-cost") === "comment";
  const pump = new StreamPump({
    exchange,
    opened,
    relayer: relayerOf(answering),
    bill,
    takeNote: (shown) => takeNote(answering, shown),
    requestBytes: generation.request.bytes,
    recorder: claim === null ? null : gateway.idempotency.record(claim),
    headers: streamHeaders,
    costComment: () => (wantsCost ? `: x-sluice-cost: ${costText(exchange, key)}\n\n` : ""),
    watchdog: gateway.watchdog,
    heartbeatMs: server.heartbeatMs,
    stalledReaderMs: server.stalledReaderMs,
    monotonicMs: gateway.clock.monotonicMs,
    over: (outcome, error) => {
      leave(answering);
      conclude(gateway, exchange, { status: 200, outcome, error });
    },
  });
  const response = new Response(pump.stream(), {
    headers: { ...standingHeaders(exchange), ...opened.headers, ...streamHeaders },
  });
  // From here on the pump gives back what was taken, and nobody else does.
  exchange.isObservedLater = true;
  gateway.ongoing.canInterrupt(exchange, pump);
  pump.begin();
  return response;
}

function relayerOf({ exchange, generation, attempt }: Answering): StreamRelayer {
  if (attempt.translation !== null) return new TranslatedRelayer(attempt.translation.stream(), exchange.id);
  return new PassthroughRelayer({
    dialect: generation.clientDialect,
    hideUsage: attempt.hideUsage,
    readsExtras: generation.request.hostedTools.length > 0 || generation.request.speaks,
    requestId: exchange.id,
    model: generation.request.modelId,
    atSeconds: generation.atSeconds,
  });
}

/** The exchange is over: its claim ends (a stored response has replaced it, or a retry may run) and its place is free. */
function leave({ gateway, exchange, key, claim }: Answering): void {
  if (claim !== null) gateway.idempotency.complete(claim);
  gateway.ongoing.leave(exchange, key.id);
}
