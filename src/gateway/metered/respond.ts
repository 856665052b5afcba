import { assert } from "../../base/assert.ts";
import { GatewayError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { bodyPacer } from "../../base/loop/body-pacer.ts";
import type { Quantities } from "../../base/money/rates.ts";
import { noUsage } from "../../base/usage/usage.ts";
import { isBilled } from "../../dialects/errors/failure.ts";
import { meteredDialect } from "../../dialects/metered/route.ts";
import type { OpenedCall } from "../../upstream/upstream.ts";
import { largeBodyBytes } from "../body-worker/large-body.ts";
import { ProducedOutput, type UsageEvidence } from "../charge/usage-evidence.ts";
import type { Piece } from "../exchange/client-call.ts";
import { BytesRelayer } from "../response/bytes-relayer.ts";
import { chargedResponse } from "../response/client-response.ts";
import { addCostHeaders } from "../response/headers.ts";
import { PassthroughRelayer } from "../response/passthrough-relayer.ts";
import { jsonHeaders } from "../response/pending-response.ts";
import { streamPacer } from "../response/provider-response.ts";
import { recordResponse } from "../response/record-response.ts";
import { relayStream } from "../response/stream-response.ts";
import {
  type AnsweredParts,
  type BegunCall,
  callInParts,
  type FoundResponse,
  openCall,
  readResponses,
  wholeOf,
} from "./call-provider.ts";
import { isAboveInputs } from "./destination.ts";
import type { HeldMeteredCall } from "./metered-call.ts";
import { countInput } from "./pricing.ts";

/** Calls a provider, charges for its response, and relays it. */
export async function respondMetered(asking: HeldMeteredCall): Promise<Response> {
  const { route, request, maxInputs } = asking;
  const isSplit = isAboveInputs(route, request, maxInputs);
  const bodies = isSplit ? route.split?.(request.body, maxInputs) : undefined;
  const asked = callInParts(asking, bodies ?? [request.truncated]);
  return deliver(asking, await asked.catch((error) => chargeFailure(asking, error)));
}

/** For a provider that got a request for a stream, and does not stream. */
export async function respondWhole(asking: HeldMeteredCall, begun: BegunCall): Promise<Response> {
  return deliver(asking, await wholeOf(begun, asking.request.truncated));
}

async function deliver(asking: HeldMeteredCall, answered: AnsweredParts): Promise<Response> {
  const { exchange } = asking.call;
  exchange.answeredBy(answered.opened);
  exchange.dropped = answered.dropped;
  const found = await (answered.failure === null
    ? readResponses(asking, answered).catch((error) => chargeParts(asking, answered, error))
    : chargeParts(asking, answered, answered.failure));
  if (exchange.hasClientDisconnected && !exchange.outlivesClient && exchange.taken.claim === null)
    throw clientDisconnected();
  asking.meter.noteExtras(found.extras);
  const evidence = usageEvidenceOf(asking, found, () => [asking.request.body]);
  const estimated = await asking.meter.estimated(evidence);
  const body = found.bodyWith(estimated ?? found.usage ?? noUsage);
  const headers = contentHeaders(asking, answered);
  await settle(asking, evidence, body, headers);
  if (body.length >= largeBodyBytes) await bodyPacer.wait();
  // It is charged, and kept for a retry with the same idempotency key.
  if (exchange.hasClientDisconnected && exchange.outlivesClient) throw clientDisconnected();
  return chargedResponse({ asking, opened: answered.opened }, body, headers);
}

function clientDisconnected(): GatewayError {
  return new GatewayError("invalid_request", "The client disconnected before the response.");
}

/** A failed response is charged if the provider reports its usage. Rejects with the failure. */
export async function chargeFailure(asking: HeldMeteredCall, error: unknown): Promise<never> {
  const { meter } = asking;
  if (isBilled(error)) {
    meter.noteExtras(error.extras);
    const evidence = usageEvidenceOf(asking, { usage: error.usage ?? noUsage }, () => []);
    const stored = await recordError(asking, error);
    await meter.settle("failed", evidence, error.status, stored, error);
  }
  throw error;
}

/**
 * Charges the successful parts if one has failed, because their providers bill them. The client gets an error. Rejects
 * with the failure.
 */
async function chargeParts(asking: HeldMeteredCall, answered: AnsweredParts, cause: unknown): Promise<never> {
  const { meter } = asking;
  const readable = await readableParts(asking, answered);
  if (readable.parts.length === 0) throw cause;
  const error = failureOf(cause);
  const found = await readResponses(asking, readable);
  const units = { ...certainOf(asking, readable.parts), ...found.extras.units };
  meter.noteExtras({ ...found.extras, units });
  await meter.settle(
    "failed",
    usageEvidenceOf(asking, found, () => readable.parts),
    error.status,
    await recordError(asking, error),
    error,
  );
  throw error;
}

function recordError({ call: { gateway, exchange } }: HeldMeteredCall, error: GatewayError) {
  return exchange.call.origin.recordError(gateway.claims, exchange, error);
}

function failureOf(cause: unknown): GatewayError {
  if (cause instanceof GatewayError && cause.code === "upstream_error") return cause;
  return new GatewayError("upstream_error", "The provider failed on part of the request.", { cause });
}

/**
 * The parts whose responses can be read. Reading one takes up to a millisecond, so the pacer decides how many share an
 * iteration of the event loop.
 */
async function readableParts(asking: HeldMeteredCall, answered: AnsweredParts): Promise<AnsweredParts> {
  const isReadable: boolean[] = [];
  for (const answer of answered.answers) {
    await streamPacer.wait();
    const reading = readResponses(asking, { ...answered, answers: [answer] });
    isReadable.push(
      await reading.then(
        () => true,
        () => false,
      ),
    );
  }
  const ofReadable = <Item>(items: readonly Item[]) => items.filter((_, place) => isReadable[place]);
  return { ...answered, answers: ofReadable(answered.answers), parts: ofReadable(answered.parts) };
}

/** Usage of the parts that is known in advance; together no more than the whole. */
function certainOf({ request, demand, demandOf }: HeldMeteredCall, parts: readonly JsonObject[]): Quantities {
  const sum: Record<string, number> = {};
  for (const part of parts) {
    const { certain } = demandOf({ bytes: request.bytes, truncated: part, body: part });
    for (const [name, amount] of Object.entries(certain)) {
      sum[name] = Math.min((sum[name] ?? 0) + amount, demand.certain[name] ?? 0);
    }
  }
  return sum;
}

/** `counted`: the bodies whose texts are counted where the provider has not reported their tokens. */
function usageEvidenceOf(
  asking: HeldMeteredCall,
  { usage, produced = "", writtenTimes }: Pick<FoundResponse, "usage" | "produced" | "writtenTimes">,
  counted: () => readonly JsonObject[],
): UsageEvidence {
  const { call, request } = asking;
  const { deployment } = call.exchange.attempts;
  const isInTokens = usage !== null || (deployment !== null && asking.isInTokensAt(deployment));
  return {
    // What is not counted in tokens has none.
    usage: isInTokens ? usage : noUsage,
    partialUsage: null,
    produced: () => new ProducedOutput(writtenTimes).add(produced),
    requestBytes: request.bytes,
    countInput: () => countInput(asking, counted),
  };
}

/** Resolves when the charge is durable. If the client disconnected, the charge has no usage record. */
async function settle(
  asking: HeldMeteredCall,
  evidence: UsageEvidence,
  body: Piece,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const { call, meter } = asking;
  const { gateway, exchange } = call;
  exchange.sawFirstByte();
  const { claim } = exchange.taken;
  const stored = claim && (await recordResponse(gateway, exchange, claim, body, headers));
  const isCancelled = exchange.hasClientDisconnected && exchange.outlivesClient;
  await meter.settle(isCancelled ? "cancelled" : "completed", evidence, 200, stored);
}

/** Audio and plain text have the content type that the provider reports. */
function contentHeaders(
  { route }: HeldMeteredCall,
  { answers }: AnsweredParts,
): Readonly<Record<string, string>> {
  const type = route.returnsAnyType === true ? (answers[0]?.contentType ?? null) : null;
  return type === null ? jsonHeaders : { "content-type": type };
}

function isEventStream({ head }: OpenedCall): boolean {
  return head?.get("content-type")?.includes("text/event-stream") === true;
}

/** Relays audio as it arrives, with its cost in the headers. If the client has already disconnected, reads it to its end. */
async function relayBytes(asking: HeldMeteredCall, begun: BegunCall): Promise<Response> {
  const { call, meter } = asking;
  const { exchange } = call;
  const { opened } = begun;
  if (exchange.hasClientDisconnected) return respondWhole(asking, begun);
  exchange.answeredBy(opened);
  meter.noteExtras(null);
  const headers: Record<string, string> = {};
  addCostHeaders(headers, meter, meter.announced());
  const type = opened.head?.get("content-type") ?? null;
  if (type !== null) headers["content-type"] = type;
  return relayStream({ asking, opened }, new BytesRelayer(), headers);
}

/** Calls a provider for a stream, and relays its bytes. Its pump charges for it when it ends. */
export async function streamMetered(asking: HeldMeteredCall): Promise<Response> {
  const { route } = asking;
  const { exchange, model } = asking.call;
  const begun = await openCall(asking, null, null).catch((error) => chargeFailure(asking, error));
  const { call, opened } = begun;
  if (!opened.streaming) return respondWhole(asking, begun);
  if (call.streamsAnyType && !isEventStream(opened)) return relayBytes(asking, begun);
  const { streams } = route;
  assert(streams !== undefined, "only routes that stream are asked to");
  exchange.answeredBy(opened);
  const relayer = new PassthroughRelayer({
    dialect: meteredDialect,
    hideUsage: call.hidesUsage,
    requestId: exchange.id,
    model: model.id,
    atSeconds: Math.floor(exchange.atMs / 1000),
    reader: streams.createReader(asking.askedAt(opened.deployment)),
  });
  return relayStream({ asking, opened }, relayer);
}
