import { bodyPacer } from "../../base/loop/body-pacer.ts";
import type { Claim } from "../../idempotency/claims.ts";
import type { StoredResponse } from "../../store/store.ts";
import { largeBodyBytes } from "../body-worker/large-body.ts";
import type { Replay } from "../exchange/claims.ts";
import { bytesOf, type Piece } from "../exchange/client-call.ts";
import type { Exchange } from "../exchange/exchange.ts";
import type { Gateway } from "../exchange/gateway.ts";
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
  const bytes = bytesOf(answer);
  const own = exchange.call.origin.record(claims, exchange, claim, bytes);
  if (own !== null) return own;
  const recorder = claims.record(claim, exchange.configured.settings.retention.responseBytesPerKey);
  exchange.taken.recorder = recorder;
  for (let at = 0; at < bytes.length; at += largeBodyBytes) {
    if (at > 0) await bodyPacer.wait();
    recorder.append(bytes.subarray(at, at + largeBodyBytes));
  }
  return recorder.finish({ status: 200, headers });
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
