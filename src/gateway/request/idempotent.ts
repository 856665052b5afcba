import type { AdmittedCall } from "../exchange/admitted-call.ts";
import type { ClientRequest } from "./client-request.ts";
import { idempotencyKeyOf } from "./request.ts";
import type { Replay } from "./route.ts";

/**
 * Claims the idempotency key, unless it was claimed before, to read the conversation. Returns the stored response; null if the
 * request has to be run. Without an `Idempotency-Key` there is nothing to claim or await.
 */
export async function claimIdempotency(
  admitted: AdmittedCall,
  idempotencyKey: string | null,
  request: ClientRequest,
): Promise<Replay | null> {
  const { gateway, exchange, keyId } = admitted;
  if (idempotencyKey === null || exchange.taken.claim !== null) return null;
  const { line, route } = exchange.call;
  const claim = {
    keyId,
    route: line === undefined ? route.path : routeOfLines(line.batchId),
    idempotencyKey,
    bodyHash: request.bodyHash,
    exchangeId: exchange.id,
  };
  const claimed = await gateway.claims.claim(claim, (bytes) => admitted.awaitMemory(bytes));
  if (claimed.kind === "replay") return claimed;
  exchange.taken.claim = claimed.claim;
  return null;
}

/** Where the results of a batch are stored, by the numbers of its lines. */
function routeOfLines(batchId: string): string {
  return `batch:${batchId}`;
}

/** Claims the idempotency key before loading the conversation, which may have grown since the stored response, or be gone. */
export async function claimEarly(admitted: AdmittedCall, request: ClientRequest): Promise<Replay | null> {
  const { call } = admitted.exchange;
  return call.route.isCharged ? claimIdempotency(admitted, idempotencyKeyOf(call), request) : null;
}
