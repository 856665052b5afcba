import type { RetriedCreation } from "../../store/store.ts";
import type { AdmittedCall } from "../exchange/admitted-call.ts";
import { claimIdempotency, idempotencyKeyOf } from "../exchange/claims.ts";
import { recordResponse } from "../response/record-response.ts";

/** The id of what a request with the same `Idempotency-Key` has created; null if this one creates it. */
export async function createdBefore(call: AdmittedCall, bodyHash: () => string): Promise<string | null> {
  const { exchange } = call;
  const key = idempotencyKeyOf(exchange.call);
  if (key === null) return null;
  const replay = await claimIdempotency(call, key, { bodyHash: bodyHash() });
  if (replay === null) return null;
  exchange.isReplay = true;
  return Buffer.from(replay.response.body).toString();
}

/** What is stored with a new object, so that retries get it again; null without an `Idempotency-Key`. */
export async function retryOf(
  { gateway, exchange }: AdmittedCall,
  id: string,
): Promise<RetriedCreation | null> {
  const { claim } = exchange.taken;
  if (claim === null) return null;
  const response = await recordResponse(gateway, exchange, claim, Buffer.from(id), {});
  return response && { response, exchangeId: exchange.id };
}
