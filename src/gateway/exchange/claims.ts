import { GatewayError, invalidRequest } from "../../base/errors.ts";
import type { ClaimResult } from "../../idempotency/claims.ts";
import type { ChangedConversation } from "../turns/turn-body.ts";
import type { AdmittedCall } from "./admitted-call.ts";
import type { ClientCall } from "./client-call.ts";
import type { Exchange } from "./exchange.ts";
import type { Gateway } from "./gateway.ts";

/*
 * What an exchange has for itself until it ends: its idempotency key, so that it runs once, and the conversation that it
 * changes.
 */

/** The stored response for an idempotency key that was used before. */
export type Replay = Extract<ClaimResult, { kind: "replay" }>;

const maxIdempotencyKeyChars = 255;

export function idempotencyKeyOf(call: ClientCall): string | null {
  const key = call.request.headers.get("idempotency-key");
  if (key === null) return null;
  if (key.length >= 1 && key.length <= maxIdempotencyKeyChars) return key;
  throw invalidRequest("Idempotency-Key must have 1 to 255 characters.", "Idempotency-Key");
}

/**
 * Claims the idempotency key, unless it was claimed before, to read the conversation. Returns the stored response; null if the
 * request has to be run.
 */
export async function claimIdempotency(
  admitted: AdmittedCall,
  idempotencyKey: string,
  request: { readonly bodyHash: string },
): Promise<Replay | null> {
  const { gateway, exchange, keyId } = admitted;
  if (exchange.taken.claim !== null) return null;
  const claim = {
    keyId,
    route: placeOf(exchange),
    idempotencyKey,
    bodyHash: request.bodyHash,
    exchangeId: exchange.id,
  };
  const { isInteractive } = exchange.call.origin;
  const reserve = (bytes: number) =>
    isInteractive ? admitted.awaitStored(bytes) : admitted.awaitMemory(bytes);
  const claimed = await gateway.claims.claim(claim, reserve);
  if (claimed.kind === "replay") return claimed;
  exchange.taken.claim = claimed.claim;
  return null;
}

/** Where an idempotency key is unique: results of a batch have the numbers of its lines, and a playground sees no response of its key's clients. */
function placeOf({ call: { origin, route }, taken }: Exchange): string {
  if (origin.claimPlace !== null) return origin.claimPlace;
  return taken.playground === null ? route.path : `playground:${taken.playground.hash} ${route.path}`;
}

/** Used as the route in a claim's name. PostgreSQL ends such a claim together with the change that it protects. */
const conversationRoute = "conversation";

/**
 * Ensures that one request at a time changes a conversation, on all gateways. The claim ends with the exchange, or with
 * its gateway. Throws if the conversation has changed since it was read.
 */
export async function lockConversation(
  { gateway, exchange, keyId }: AdmittedCall,
  { id, no }: Pick<ChangedConversation, "id" | "no">,
): Promise<void> {
  const { claims, turns } = gateway;
  const request = {
    keyId,
    route: conversationRoute,
    idempotencyKey: id,
    bodyHash: "",
    exchangeId: exchange.id,
  };
  try {
    const claimed = await claims.claim(request);
    if (claimed.kind === "run") exchange.taken.conversationClaim = claimed.claim;
  } catch (error) {
    throw error instanceof GatewayError && error.code === "idempotency_in_flight" ? locked() : error;
  }
  if (no !== null && !(await turns.isCurrent({ no }))) throw locked();
}

function locked(): GatewayError {
  const message = "Another request is changing this conversation. Retry when it finishes.";
  return new GatewayError("conversation_locked", message, { param: "conversation" });
}

/** Called before the client gets an error, so that it can repeat the request at once, on any gateway. */
export async function giveBackClaims(gateway: Gateway, exchange: Exchange): Promise<void> {
  if (exchange.taken.claim !== null) await gateway.claims.end(exchange.taken.claim);
  if (exchange.taken.conversationClaim !== null) await unlockConversation(gateway, exchange);
}

/** Called before the response is sent, so that its client can change the conversation at once, on any gateway. */
export async function unlockConversation({ claims }: Gateway, exchange: Exchange): Promise<void> {
  const { conversationClaim } = exchange.taken;
  if (conversationClaim === null) return;
  exchange.taken.conversationClaim = null;
  await claims.end(conversationClaim);
}
