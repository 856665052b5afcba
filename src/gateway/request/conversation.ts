import { isObject, type JsonObject } from "../../base/json.ts";
import type { ClientRequest } from "./request.ts";

/** Claude Code's, Codex's, and what others send. */
const sessionHeaders = ["x-claude-code-session-id", "session_id", "conversation_id", "x-session-id"];

/** The client's own name for the conversation that a request belongs to; null if it has none. */
export function sessionOf(
  headers: Headers,
  { prompt_cache_key: cacheKey, metadata }: JsonObject,
): string | null {
  for (const header of sessionHeaders) {
    const name = headers.get(header);
    if (name !== null && name !== "") return name;
  }
  for (const name of [cacheKey, isObject(metadata) ? metadata["user_id"] : null]) {
    if (typeof name === "string" && name !== "") return name;
  }
  return null;
}

/**
 * Tells a key's conversations apart, without memory: the same for every turn, on every gateway. One without a name is
 * known by how it begins.
 */
export function conversationHash(keyId: string, session: string | null, request: ClientRequest): number {
  return Bun.hash.xxHash32(keyId, session === null ? request.openingHash : Bun.hash.xxHash32(session));
}
