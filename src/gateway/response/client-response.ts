import { releaseBytes } from "../../base/bytes.ts";
import { GatewayError } from "../../base/errors.ts";
import { largeBodyBytes } from "../body-worker/is-large.ts";
import { largeBodyPacer } from "../body-worker/large-body-pacer.ts";
import { ProducedOutput, type UsageEvidence } from "../charge/usage-evidence.ts";
import { recordContent, recordUpstream, wholeBodyOf } from "../exchange/content.ts";
import { bodyResponse } from "./body-response.ts";
import { chargeFailure } from "./charge-failure.ts";
import { compactedWhole } from "./compacted-response.ts";
import { addCostHeaders, addHeaders, addMissingHeaders, commonHeaders } from "./headers.ts";
import {
  asCreated,
  jsonHeaders,
  type PendingResponse,
  recordFacts,
  streamHeaders,
} from "./pending-response.ts";
import { readProviderResponse } from "./provider-response.ts";
import type { ProviderResponse } from "./read-response.ts";
import { recordResponse } from "./record-response.ts";

/** Answers the client with a whole response, once its charge is durable. Rejects with the failure if there is none, once that is charged. */
export async function respondWhole(pending: PendingResponse): Promise<Response> {
  const { call, meter, asking } = pending;
  let whole: ProviderResponse;
  try {
    whole = await readClientResponse(pending);
  } catch (error) {
    return await chargeFailure({ asking, meter }, error);
  }
  rejectUnreadable(pending);
  call.exchange.sawFirstByte();
  // The provider has succeeded, whether or not the charge does.
  pending.opened.finished("completed");
  const { claim } = call.exchange.taken;
  const stored =
    claim === null
      ? null
      : await recordResponse(call.gateway, call.exchange, claim, whole.body, contentHeaders(pending));
  await recordFacts(pending, whole, whole.body);
  await meter.settle("completed", usageEvidenceOf(pending, whole), 200, stored);
  if (whole.body.length >= largeBodyBytes) await largeBodyPacer.wait();
  return wholeResponse(pending, whole);
}

/**
 * Throws when the client has disconnected and cannot retry for a whole response: it is not charged for what it will never
 * see. The runtime closes a connection on which a second request follows before the first is answered, so this is also
 * what becomes of pipelined requests. With an idempotency key the answer is charged and stored for the retry.
 */
export function rejectUnreadable({ call: { exchange } }: Pick<PendingResponse, "call">): void {
  if (exchange.taken.claim !== null || !exchange.call.request.signal.aborted) return;
  throw new GatewayError("invalid_request", "The client disconnected before the response.");
}

/** A translated answer shows what is charged for it, also where the provider reports nothing and it is counted here. */
async function readClientResponse(pending: PendingResponse): Promise<ProviderResponse> {
  const { call, generation, meter } = pending;
  keepUpstreamContent(pending);
  const read = await readProviderResponse(pending);
  const { compaction } = call.turn;
  const whole = compaction === null ? read : compactedWhole(compaction, read, generation.stream);
  call.exchange.attempts.reported = whole.usage;
  const estimated =
    whole.showing === undefined ? null : await meter.estimated(usageEvidenceOf(pending, whole));
  const shown = estimated === null || whole.showing === undefined ? whole : await whole.showing(estimated);
  const body = await asCreated(pending, shown.body);
  return body === shown.body ? shown : { ...shown, body };
}

/** What a provider returns to a translated request, before it is read and released. A stream is recorded as it comes. */
function keepUpstreamContent({ call, opened }: PendingResponse): void {
  const { content } = call.exchange.taken;
  if (content?.hasUpstream !== true) return;
  content.upstreamBegins(opened.streaming);
  if (!opened.streaming) recordUpstream(content, opened.whole);
}

function usageEvidenceOf({ generation }: PendingResponse, whole: ProviderResponse): UsageEvidence {
  return {
    usage: whole.usage,
    partialUsage: null,
    produced: () => new ProducedOutput().add(whole.produced()),
    requestBytes: generation.request.bytes,
  };
}

function wholeResponse(pending: PendingResponse, whole: ProviderResponse): Response {
  const { call, generation, opened, meter } = pending;
  const { exchange } = call;
  const headers = commonHeaders(exchange);
  addMissingHeaders(headers, opened.headers);
  addHeaders(headers, contentHeaders(pending));
  addCostHeaders(headers, meter, meter.shown);
  recordContent(exchange, whole.body, wholeBodyOf(exchange, contentHeaders(pending)["content-type"] ?? ""));
  releaseBytes(generation.request.bytes);
  return bodyResponse(exchange, [whole.body], { headers });
}

/** A provider that does not stream answers a request for a stream in one piece. */
function contentHeaders({ generation }: PendingResponse): Readonly<Record<string, string>> {
  return generation.stream ? streamHeaders : jsonHeaders;
}
