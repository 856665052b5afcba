import { bodyResponse } from "../answer/body-response.ts";
import { unlockConversation } from "../conversations/conversation-lock.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { commonHeaders } from "../headers.ts";
import type { AdmittedCall, Replay } from "../stages.ts";
import { type ClientRequest, idempotencyKeyOf } from "./request.ts";

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
  if (idempotencyKey === null || exchange.claim !== null) return null;
  const claim = {
    keyId,
    route: exchange.call.route.path,
    idempotencyKey,
    bodyHash: request.bodyHash,
    exchangeId: exchange.id,
  };
  const claimed = await gateway.claims.claim(claim, (bytes) => admitted.awaitMemory(bytes));
  if (claimed.kind === "replay") return claimed;
  exchange.claim = claimed.claim;
  return null;
}

/** Claims the idempotency key before loading the conversation, which may have grown since the stored response, or be gone. */
export async function claimEarly(admitted: AdmittedCall, request: ClientRequest): Promise<Replay | null> {
  const { call } = admitted.exchange;
  return call.route.isCharged ? claimIdempotency(admitted, idempotencyKeyOf(call), request) : null;
}

/** The stored bytes again; nothing is charged. */
export function replay(exchange: Exchange, claimed: Replay): Response {
  exchange.isReplay = true;
  // It was recorded when it was first sent.
  exchange.content = null;
  const { body, status, headers: stored } = claimed.response;
  const headers = { ...commonHeaders(exchange), ...stored, "idempotent-replayed": "true" };
  return bodyResponse(exchange, [body], { status, headers });
}

/** Called before the client gets an error, so that it can repeat the request at once, on any gateway. */
export async function giveBackClaims(gateway: Gateway, exchange: Exchange): Promise<void> {
  if (exchange.claim !== null) await gateway.claims.end(exchange.claim);
  if (exchange.conversationClaim !== null) await unlockConversation(gateway, exchange);
}
