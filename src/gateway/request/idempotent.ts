import type { Claim } from "../../idempotency/claims.ts";
import { bodyResponse } from "../answer/body-response.ts";
import { unlockConversation } from "../conversations/conversation-lock.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { commonHeaders } from "../headers.ts";
import type { AdmittedCall, Replay } from "../stages.ts";
import { type ClientRequest, idempotencyKeyOf } from "./request.ts";

export type ClaimedKey = { readonly kind: "run"; readonly claim: Claim | null } | Replay;

const nothingClaimed: ClaimedKey = { kind: "run", claim: null };

/** Without an `Idempotency-Key` there is nothing to claim or await. An exchange claims once. */
export function claimIdempotency(
  admitted: AdmittedCall,
  idempotencyKey: string | null,
  request: ClientRequest,
): Promise<ClaimedKey> | ClaimedKey {
  if (idempotencyKey === null) return nothingClaimed;
  const { gateway, exchange } = admitted;
  if (exchange.claim !== null) return { kind: "run", claim: exchange.claim };
  const claim = {
    keyId: admitted.keyId,
    route: exchange.call.route.path,
    idempotencyKey,
    bodyHash: request.bodyHash,
    exchangeId: exchange.id,
  };
  return gateway.claims.claim(claim, (bytes) => admitted.awaitMemory(bytes));
}

/**
 * Claims the idempotency key before loading the conversation, which may have grown since the stored response, or be gone.
 * Returns the stored response; null if there is none.
 */
export async function claimEarly(admitted: AdmittedCall, request: ClientRequest): Promise<Replay | null> {
  const { exchange } = admitted;
  const { call } = exchange;
  if (!call.route.isCharged) return null;
  const claimed = await claimIdempotency(admitted, idempotencyKeyOf(call), request);
  if (claimed.kind === "replay") return claimed;
  exchange.claim = claimed.claim;
  return null;
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
