import type { Claim } from "../../idempotency/claims.ts";
import type { KeyRecord, StoredResponse } from "../../store/store.ts";
import { bodyResponse } from "../answer/body-response.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { commonHeaders } from "../headers.ts";
import { unlockConversation } from "../turns/conversation-lock.ts";
import type { ClientRequest } from "./request.ts";

export type Claimed =
  | { readonly kind: "run"; readonly claim: Claim | null }
  | { readonly kind: "replay"; readonly response: StoredResponse };

const nothingClaimed: Claimed = { kind: "run", claim: null };

/** Without an `Idempotency-Key` there is nothing to claim or await. */
export function claimIdempotency(
  gateway: Gateway,
  exchange: Exchange,
  key: KeyRecord,
  idempotencyKey: string | null,
  request: Pick<ClientRequest, "bodyHash">,
): Promise<Claimed> | Claimed {
  if (idempotencyKey === null) return nothingClaimed;
  const claim = {
    keyId: key.id,
    route: exchange.call.route.path,
    idempotencyKey,
    bodyHash: request.bodyHash,
    exchangeId: exchange.id,
  };
  return gateway.claims.claim(claim, (bytes) => exchange.awaitMemory(bytes));
}

/** The stored bytes again; nothing is charged. */
export function replay(exchange: Exchange, stored: StoredResponse): Response {
  exchange.isReplayed = true;
  const headers = { ...commonHeaders(exchange), ...stored.headers, "idempotent-replayed": "true" };
  return bodyResponse(exchange, stored.body, { status: stored.status, headers });
}

/** Before a failure is told, so that whoever hears of it may repeat the request at once, on any gateway. */
export async function giveBackClaims(gateway: Gateway, exchange: Exchange): Promise<void> {
  if (exchange.claim !== null) await gateway.claims.end(exchange.claim);
  await unlockConversation(gateway, exchange);
}
