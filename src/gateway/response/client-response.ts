import { assert } from "../../base/assert.ts";
import { releaseBytes } from "../../base/bytes.ts";
import { GatewayError } from "../../base/errors.ts";
import { bodyPacer } from "../../base/loop/body-pacer.ts";
import { noUsage } from "../../base/usage/usage.ts";
import { type FailedResponse, isBilled } from "../../dialects/errors/failure.ts";
import type { GenerationCall } from "../attempt/provider-call.ts";
import { largeBodyBytes } from "../body-worker/large-body.ts";
import { ProducedOutput, type UsageEvidence } from "../charge/usage-evidence.ts";
import type { Piece } from "../exchange/client-call.ts";
import { recordContent, recordUpstream } from "../exchange/content.ts";
import type { Exchange } from "../exchange/exchange.ts";
import { bodyResponse } from "./body-response.ts";
import { compactedWhole } from "./compacted-response.ts";
import { addCostHeaders, addHeaders, addMissingHeaders, commonHeaders } from "./headers.ts";
import {
  asCreated,
  type Delivery,
  jsonHeaders,
  type PendingResponse,
  recordFacts,
  streamHeaders,
} from "./pending-response.ts";
import { readProviderResponse } from "./provider-response.ts";
import type { ProviderResponse } from "./read-response.ts";
import { recordResponse } from "./record-response.ts";

/**
 * Sends the client a non-streaming response, once its charge is durable. If there is no response, rejects with the
 * failure, once that is charged.
 */
export async function respondWhole(pending: PendingResponse): Promise<Response> {
  const { asking, opened } = pending;
  const { call, meter } = asking;
  let whole: ProviderResponse;
  try {
    whole = await readClientResponse(pending);
  } catch (error) {
    return await chargeFailure(asking, error);
  }
  rejectUnreadable(call.exchange);
  call.exchange.sawFirstByte();
  // The provider has succeeded, whether or not the charge does.
  opened.finished("completed");
  const { claim } = call.exchange.taken;
  const stored =
    claim === null
      ? null
      : await recordResponse(call.gateway, call.exchange, claim, whole.body, contentHeaders(asking));
  await recordFacts(pending, whole, whole.body);
  await meter.settle("completed", usageEvidenceOf(asking, whole), 200, stored);
  if (whole.body.length >= largeBodyBytes) await bodyPacer.wait();
  return chargedResponse(pending, whole.body, contentHeaders(asking));
}

/**
 * Throws when the client has disconnected and cannot retry for a non-streaming response: it is not charged for a
 * response that it will never see. This also ends pipelined requests, because the runtime closes a connection on which
 * a second request arrives before the first has its response. With an idempotency key the response is charged and
 * stored for the retry.
 */
export function rejectUnreadable(exchange: Exchange): void {
  if (exchange.taken.claim !== null || !exchange.call.request.signal.aborted) return;
  throw new GatewayError("invalid_request", "The client disconnected before the response.");
}

/** A translated response shows the charged usage, even if the provider reports none and it is counted here. */
async function readClientResponse(pending: PendingResponse): Promise<ProviderResponse> {
  const { asking } = pending;
  const { call, generation, meter } = asking;
  keepUpstreamContent(pending);
  const read = await readProviderResponse(pending);
  const { compaction } = call.turn;
  const whole = compaction === null ? read : compactedWhole(compaction, read, generation.stream);
  call.exchange.attempts.reported = whole.usage;
  const estimated =
    whole.showing === undefined ? null : await meter.estimated(usageEvidenceOf(asking, whole));
  const shown = estimated === null || whole.showing === undefined ? whole : await whole.showing(estimated);
  const body = await asCreated(call, shown.body);
  return body === shown.body ? shown : { ...shown, body };
}

/**
 * Records a provider's response to a translated request, before it is read and released. A stream is recorded as it
 * arrives.
 */
function keepUpstreamContent({ asking, opened }: PendingResponse): void {
  const { content } = asking.call.exchange.taken;
  if (content?.hasUpstream !== true) return;
  content.upstreamBegins(opened.streaming);
  if (!opened.streaming) recordUpstream(content, opened.whole);
}

function usageEvidenceOf({ request }: GenerationCall, whole: ProviderResponse): UsageEvidence {
  return {
    usage: whole.usage,
    partialUsage: null,
    produced: () => new ProducedOutput().add(whole.produced()),
    requestBytes: request.bytes,
  };
}

/** A whole response whose charge is durable. */
export function chargedResponse(
  { asking: { call, meter, request }, opened }: Delivery,
  body: Piece,
  ownHeaders: Readonly<Record<string, string>>,
): Response {
  const { exchange } = call;
  const headers = commonHeaders(exchange);
  addMissingHeaders(headers, opened.headers);
  addHeaders(headers, ownHeaders);
  addCostHeaders(headers, meter, meter.shown);
  const { content } = exchange.taken;
  if (content !== null) recordContent(content, exchange, body, headers["content-type"] ?? "");
  releaseBytes(request.bytes);
  return bodyResponse(exchange, [body], { headers });
}

/** Headers for a provider that does not stream, and returned one body to a request for a stream. */
function contentHeaders({ generation }: GenerationCall): Readonly<Record<string, string>> {
  return generation.stream ? streamHeaders : jsonHeaders;
}

/**
 * Charges a failed response whose usage the provider reports, before the client gets the error. Rejects with the
 * failure. A stream that the client has begun to read is charged by its pump instead.
 */
export async function chargeFailure(asking: GenerationCall, error: unknown): Promise<never> {
  if (isBilled(error)) await settleFailure(asking, error);
  throw error;
}

async function settleFailure(asking: GenerationCall, error: FailedResponse): Promise<unknown> {
  const { attempt, call, meter, request } = asking;
  const { gateway, exchange } = call;
  assert(attempt !== null, "a provider has failed without an attempt");
  exchange.dropped = attempt.dropped;
  meter.noteExtras(error.extras);
  const evidence = {
    // Tokens that it does not report are not charged: the failure may have come before them.
    usage: error.usage ?? noUsage,
    partialUsage: null,
    produced: () => new ProducedOutput(),
    requestBytes: request.bytes,
  };
  const stored = await exchange.call.origin.recordError(gateway.claims, exchange, error);
  return meter.settle("failed", evidence, exchange.answeredWith(error.status), stored, error);
}
