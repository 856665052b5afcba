import type { Settings } from "../../config/settings.ts";

/** Each change reads the whole conversation, so its size is limited. */
const maxConversationBytes = 8 * 1024 * 1024;

/** Whether the gateway keeps responses for the clients that continue them. */
export function keepsResponses({ routes, responses, retention }: Settings): boolean {
  return routes.stored_responses && responses.state === "gateway" && retention.responseHours > 0;
}

/** Whether it also keeps conversations that clients name. */
export function keepsConversations(settings: Settings): boolean {
  return settings.routes.conversations && keepsResponses(settings);
}

/** Maximum bytes of items of a conversation to which something can still be added. */
export function conversationBytes({ server, retention }: Settings): number {
  return Math.min(server.maxBodyBytes, maxConversationBytes, retention.responseBytesPerKey);
}

/**
 * The dialect whose clients continue a response by its id. Stored responses, conversations, compaction, responses in the background
 * and sockets are parts of its API.
 */
export const storedDialect = "responses";
