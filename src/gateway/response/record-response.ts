import { msPerDay } from "../../base/clock.ts";
import { GatewayError } from "../../base/errors.ts";
import { bodyPacer } from "../../base/loop/body-pacer.ts";
import { renderError } from "../../dialects/errors/envelope.ts";
import type { Claim, Claims } from "../../idempotency/claims.ts";
import { wasNotKept } from "../../idempotency/recorder.ts";
import type { StoredResponse } from "../../store/store.ts";
import { largeBodyBytes } from "../body-worker/large-body.ts";
import type { Replay } from "../exchange/claims.ts";
import { bytesOf, type LineOfBatch, type Piece } from "../exchange/client-call.ts";
import type { Exchange } from "../exchange/exchange.ts";
import type { Gateway } from "../exchange/gateway.ts";
import { bodyPieces } from "../turns/turn-body.ts";
import { bodyResponse } from "./body-response.ts";
import { commonHeaders } from "./headers.ts";

/**
 * What settling stores of a non-streaming response, for a retry with its idempotency key; null if the exchange has ended meanwhile.
 * A large response is recorded one part per event-loop iteration.
 */
export async function recordResponse(
  { claims }: Gateway,
  exchange: Exchange,
  claim: Claim,
  answer: Piece,
  headers: Readonly<Record<string, string>>,
): Promise<StoredResponse | null> {
  const { line } = exchange.call;
  if (line !== undefined) return recordResult(claims, exchange, { claim, line, status: 200, answer });
  const recorder = claims.record(claim, exchange.configured.settings.retention.responseBytesPerKey);
  exchange.taken.recorder = recorder;
  const bytes = bytesOf(answer);
  for (let at = 0; at < bytes.length; at += largeBodyBytes) {
    if (at > 0) await bodyPacer.wait();
    recorder.append(bytes.subarray(at, at + largeBodyBytes));
  }
  return recorder.finish({ status: 200, headers });
}

/**
 * What settling stores of a request that has failed and is charged, if it is a line of a batch: it must not run again. Null for
 * every other request.
 */
export async function recordFailure(
  { claims }: Gateway,
  exchange: Exchange,
  error: GatewayError,
): Promise<StoredResponse | null> {
  const { line, route } = exchange.call;
  const { claim } = exchange.taken;
  if (line === undefined || claim === null) return null;
  const { body, status } = renderError(route.errors, error, exchange.id);
  return recordResult(claims, exchange, { claim, line, status, answer: body });
}

interface LineResponse {
  readonly claim: Claim;
  readonly line: LineOfBatch;
  readonly status: number;
  readonly answer: Piece;
}

/** Results are downloaded with the id of the request that was charged for them, for as long as the batch is kept. */
async function recordResult(
  claims: Claims,
  exchange: Exchange,
  { claim, line, status, answer }: LineResponse,
): Promise<StoredResponse> {
  const { batches, responses } = exchange.configured.settings;
  const recorder = claims.recordResult(claim, batches.windowMs + (batches.resultDays + 1) * msPerDay);
  exchange.taken.recorder = recorder;
  const pieces = bodyPieces(nameOfResult(line), [bytesOf(answer)], responses.encryptionKey);
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += largeBodyBytes) {
      if (at > 0) await bodyPacer.wait();
      recorder.append(piece.subarray(at, at + largeBodyBytes));
    }
  }
  const isTooLong = !recorder.isKept;
  const stored = await recorder.finish({ status, headers: { "x-request-id": exchange.id } });
  // What cannot be downloaded is not charged.
  if (isTooLong) throw new GatewayError("upstream_error", "The response is too long to be stored.");
  if (stored === null || wasNotKept(stored)) {
    throw new GatewayError("service_unavailable", "The result cannot be stored at the moment.");
  }
  return stored;
}

/** What a result is encrypted as. */
export function nameOfResult({ batchId, no }: LineOfBatch): string {
  return `${batchId} ${no}`;
}

/** The stored bytes again; nothing is charged. */
export function replay(exchange: Exchange, claimed: Replay): Response {
  exchange.isReplay = true;
  // It was recorded when it was first sent.
  exchange.taken.content = null;
  const { body, status, headers: stored } = claimed.response;
  const headers = { ...commonHeaders(exchange), ...stored, "idempotent-replayed": "true" };
  return bodyResponse(exchange, [body], { status, headers });
}
