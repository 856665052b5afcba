import { releaseBytes } from "../../base/bytes.ts";
import { GatewayError } from "../../base/errors.ts";
import { largeBodyBytes } from "../body-worker/is-large.ts";
import { largeBodyPacer } from "../body-worker/large-body-pacer.ts";
import { type Evidence, ProducedOutput } from "../charge/evidence.ts";
import { recordContent, recordUpstream, wholeBodyOf } from "../exchange/content.ts";
import { type Answering, inConversation, jsonHeaders, recordFacts, streamHeaders } from "./answering.ts";
import { bodyResponse } from "./body-response.ts";
import { chargeFailure } from "./charge-failure.ts";
import { compactedWhole } from "./compacted-answer.ts";
import { addCostHeaders, addHeaders, addMissingHeaders, commonHeaders } from "./headers.ts";
import type { WholeAnswer } from "./read-answer.ts";
import { recordWhole } from "./record-whole.ts";
import { readWhole } from "./whole-answer.ts";

/** Answers the client with a whole response, once its charge is durable. Rejects with the failure if there is none, once that is charged. */
export async function answerWhole(answering: Answering): Promise<Response> {
  const { call, meter, asking } = answering;
  let whole: WholeAnswer;
  try {
    whole = await readClientAnswer(answering);
  } catch (error) {
    return await chargeFailure({ asking, meter }, error);
  }
  rejectUnreadable(answering);
  call.exchange.sawFirstByte();
  // The provider has succeeded, whether or not the charge does.
  answering.opened.finished("completed");
  const { claim } = call.exchange.taken;
  const stored =
    claim === null
      ? null
      : await recordWhole(call.gateway, call.exchange, claim, [whole.body], contentHeaders(answering));
  await recordFacts(answering, whole, whole.body);
  await meter.settle("completed", evidenceOf(answering, whole), 200, stored);
  if (whole.body.length >= largeBodyBytes) await largeBodyPacer.turn();
  return wholeResponse(answering, whole);
}

/**
 * Throws when the client has disconnected and cannot retry for a whole response: it is not charged for what it will never
 * see. The runtime closes a connection on which a second request follows before the first is answered, so this is also
 * what becomes of pipelined requests. With an idempotency key the answer is charged and stored for the retry.
 */
export function rejectUnreadable({ call: { exchange } }: Pick<Answering, "call">): void {
  if (exchange.taken.claim !== null || !exchange.call.request.signal.aborted) return;
  throw new GatewayError("invalid_request", "The client disconnected before the response.");
}

/** A translated answer shows what is charged for it, also where the provider reports nothing and it is counted here. */
async function readClientAnswer(answering: Answering): Promise<WholeAnswer> {
  const { call, generation, meter } = answering;
  keepUpstreamContent(answering);
  const read = await readWhole(answering);
  const { compaction } = call.turn;
  const whole = compaction === null ? read : compactedWhole(compaction, read, generation.stream);
  call.exchange.attempts.reported = whole.usage;
  if (whole.showing === undefined) return { ...whole, body: await inConversation(answering, whole.body) };
  const estimated = await meter.estimated(evidenceOf(answering, whole));
  return estimated === null ? whole : whole.showing(estimated);
}

/** What a provider returns to a translated request, before it is read and released. A stream is recorded as it comes. */
function keepUpstreamContent({ call, opened }: Answering): void {
  const { content } = call.exchange.taken;
  if (content?.hasUpstream !== true) return;
  content.upstreamBegins(opened.streaming);
  if (!opened.streaming) recordUpstream(content, opened.whole);
}

function evidenceOf({ generation }: Answering, whole: WholeAnswer): Evidence {
  return {
    usage: whole.usage,
    partialUsage: null,
    produced: () => new ProducedOutput().add(whole.produced()),
    requestBytes: generation.request.bytes,
  };
}

function wholeResponse(answering: Answering, whole: WholeAnswer): Response {
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
