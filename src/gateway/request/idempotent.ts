import type { AdmittedCall } from "../exchange/admitted-call.ts";
import type { Exchange } from "../exchange/exchange.ts";
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
  request: Pick<ClientRequest, "bodyHash">,
): Promise<Replay | null> {
  const { gateway, exchange, keyId } = admitted;
  if (idempotencyKey === null || exchange.taken.claim !== null) return null;
  const claim = {
    keyId,
    route: placeOf(exchange),
    idempotencyKey,
    bodyHash: request.bodyHash,
    exchangeId: exchange.id,
  };
  const claimed = await gateway.claims.claim(claim, (bytes) => admitted.awaitMemory(bytes));
  if (claimed.kind === "replay") return claimed;
  exchange.taken.claim = claimed.claim;
  return null;
}

/** Where an idempotency key is unique: results of a batch have the numbers of its lines, and a playground sees no response of its key's clients. */
function placeOf({ call, taken }: Exchange): string {
  const { line, route } = call;
  if (line !== undefined) return `batch:${line.batchId}`;
  return taken.playground === null ? route.path : `playground:${taken.playground.hash} ${route.path}`;
}

/** Claims the idempotency key before loading the conversation, which may have grown since the stored response, or be gone. */
export async function claimEarly(admitted: AdmittedCall, request: ClientRequest): Promise<Replay | null> {
  const { call } = admitted.exchange;
  return call.route.isCharged ? claimIdempotency(admitted, idempotencyKeyOf(call), request) : null;
}
