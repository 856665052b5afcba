import { releaseBytes } from "../../base/bytes.ts";
import { GatewayError } from "../../base/errors.ts";
import type { Claim } from "../../idempotency/claims.ts";
import type { StoredResponse } from "../../store/store.ts";
import { type Evidence, ProducedOutput } from "../charge/evidence.ts";
import { recordContent, recordUpstream, wholeBodyOf } from "../content.ts";
import { compactedWhole } from "../conversations/compacted-answer.ts";
import { addCostHeaders, addHeaders, addMissingHeaders, commonHeaders } from "../headers.ts";
import { type Answering, inConversation, jsonHeaders, recordFacts, streamHeaders } from "./answering.ts";
import { bodyResponse } from "./body-response.ts";
import { chargeFailure } from "./charge-failure.ts";
import type { WholeAnswer } from "./read-answer.ts";
import { recordWhole } from "./record-whole.ts";
import { readWhole } from "./whole-answer.ts";

/**
 * Throws when the client has disconnected and cannot retry for a whole response: it is not charged for what it will never
 * see. The runtime closes a connection on which a second request follows before the first is answered, so this is also
 * what becomes of pipelined requests. With an idempotency key the answer is charged and stored for the retry.
 */
export function rejectUnreadable({ call: { exchange } }: Answering): void {
  if (exchange.claim !== null || !exchange.call.request.signal.aborted) return;
  throw new GatewayError("invalid_request", "The client disconnected before the response.");
}

/** Rejects with the failure if there is no answer, once that is charged. */
export function readOrChargeFailure(answering: Answering): WholeAnswer | Promise<WholeAnswer> {
  let reading: WholeAnswer | Promise<WholeAnswer>;
  try {
    keepUpstreamContent(answering);
    const read = readWhole(answering);
    reading =
      read instanceof Promise ? read.then((late) => compacted(answering, late)) : compacted(answering, read);
  } catch (error) {
    return chargeFailure(answering, error);
  }
  if (!(reading instanceof Promise)) return asShown(answering, reading);
  return reading.then(
    (whole) => asShown(answering, whole),
    (error) => chargeFailure(answering, error),
  );
}

function compacted({ call, generation }: Answering, read: WholeAnswer): WholeAnswer {
  const { compaction } = call.turn;
  return compaction === null ? read : compactedWhole(compaction, read, generation.stream);
}

/** A translated answer shows what is charged for it, also where the provider reports nothing and it is counted here. */
function asShown(answering: Answering, whole: WholeAnswer): WholeAnswer | Promise<WholeAnswer> {
  const { showing } = whole;
  answering.call.exchange.attempts.reported = whole.usage;
  if (showing !== undefined) {
    return answering.meter.estimated(evidenceOf(answering, whole))?.then(showing) ?? whole;
  }
  const body = inConversation(answering, whole.body);
  if (body instanceof Promise) return body.then((continued) => ({ ...whole, body: continued }));
  return body === whole.body ? whole : { ...whole, body };
}

/** What a provider returns to a translated request, before it is read and released. A stream is recorded as it comes. */
function keepUpstreamContent({ call, opened }: Answering): void {
  const { content } = call.exchange;
  if (content?.hasUpstream !== true) return;
  content.upstreamBegins(opened.streaming);
  if (!opened.streaming) recordUpstream(content, opened.whole);
}

/** Resolves when the charge is durable. */
export function settleWhole(answering: Answering, whole: WholeAnswer): Promise<unknown> {
  const { exchange } = answering.call;
  exchange.sawFirstByte();
  // The provider has succeeded, whether or not the charge does.
  answering.opened.finished("completed");
  const { claim } = exchange;
  return claim === null ? settle(answering, whole, null) : recordAndSettle(answering, whole, claim);
}

async function recordAndSettle(answering: Answering, whole: WholeAnswer, claim: Claim): Promise<void> {
  const { gateway, exchange } = answering.call;
  const stored = await recordWhole(gateway, exchange, claim, [whole.body], contentHeaders(answering));
  await settle(answering, whole, stored);
}

function settle(answering: Answering, whole: WholeAnswer, stored: StoredResponse | null): Promise<unknown> {
  const recording = recordFacts(answering, whole, whole.body);
  const charge = () => answering.meter.settle("completed", evidenceOf(answering, whole), 200, stored);
  return recording === undefined ? charge() : recording.then(charge);
}

function evidenceOf({ generation }: Answering, whole: WholeAnswer): Evidence {
  return {
    usage: whole.usage,
    partialUsage: null,
    produced: () => new ProducedOutput().add(whole.produced()),
    requestBytes: generation.request.bytes,
  };
}

export function wholeResponse(answering: Answering, whole: WholeAnswer): Response {
  const { call, generation, opened, meter } = answering;
  const { exchange } = call;
  const headers = commonHeaders(exchange);
  addMissingHeaders(headers, opened.headers);
  addHeaders(headers, contentHeaders(answering));
  addCostHeaders(headers, meter, meter.shown);
  recordContent(
    exchange,
    [whole.body],
    wholeBodyOf(exchange, contentHeaders(answering)["content-type"] ?? ""),
  );
  releaseBytes(generation.request.bytes);
  return bodyResponse(exchange, [whole.body], { headers });
}

/** A provider that does not stream answers a request for a stream in one piece. */
function contentHeaders({ generation }: Answering): Readonly<Record<string, string>> {
  return generation.stream ? streamHeaders : jsonHeaders;
}
