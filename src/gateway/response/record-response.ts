import type { Claim } from "../../idempotency/claims.ts";
import type { StoredResponse } from "../../store/store.ts";
import { largeBodyBytes } from "../body-worker/is-large.ts";
import { largeBodyPacer } from "../body-worker/large-body-pacer.ts";
import { bytesOf, type Piece } from "../exchange/client-call.ts";
import type { Exchange } from "../exchange/exchange.ts";
import type { Gateway } from "../exchange/gateway.ts";

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
  const recorder = claims.record(claim, exchange.configured.settings.retention.responseBytesPerKey);
  exchange.taken.recorder = recorder;
  const bytes = bytesOf(answer);
  for (let at = 0; at < bytes.length; at += largeBodyBytes) {
    if (at > 0) await largeBodyPacer.wait();
    recorder.append(bytes.subarray(at, at + largeBodyBytes));
  }
  return recorder.finish({ status: 200, headers });
}
