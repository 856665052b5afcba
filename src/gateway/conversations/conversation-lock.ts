import { GatewayError } from "../../base/errors.ts";
import type { AdmittedCall } from "../exchange/admitted-call.ts";
import type { ChangedConversation } from "../turns/turn-body.ts";

/** Used as the route in a claim's name. PostgreSQL ends such a claim together with the change that it protects. */
const route = "conversation";

/**
 * Ensures that one request at a time changes a conversation, on all gateways. The claim ends with the exchange, or with
 * its gateway. Throws if the conversation has changed since it was read.
 */
export async function lockConversation(
  { gateway, exchange, keyId }: AdmittedCall,
  { id, no }: Pick<ChangedConversation, "id" | "no">,
): Promise<void> {
  const { claims, turns } = gateway;
  const request = { keyId, route, idempotencyKey: id, bodyHash: "", exchangeId: exchange.id };
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

/** One error for a conversation that is another key's, deleted, expired or unknown. */
export function noSuchConversation(id: string): GatewayError {
  const message = `Conversation with id '${id.slice(0, 200)}' not found.`;
  return new GatewayError("not_found", message, { param: "conversation" });
}
