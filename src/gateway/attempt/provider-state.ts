import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { listOf, objectsOf } from "../../dialects/json/json-fields.ts";
import { signatureIn } from "../../dialects/openai-chat/call-signature.ts";
import { clientDialect } from "../../dialects/registry.ts";
import { asksForCompaction } from "../charge/requested-extras.ts";
import type { RoutedCall } from "../request/route.ts";

/**
 * Whether a request continues what was made by one model and may be of no use to another: a stored response or conversation, items by
 * reference, a compacted conversation, or reasoning that only its provider can read.
 */
export function continuesState({ exchange, request, turn, dialect }: RoutedCall): boolean {
  const { truncated, mentions } = request;
  if (exchange.sentPaths !== null || turn.compaction !== null || turn.isCompactedUpstream) return true;
  if (mentions.references.some(({ kind }) => kind === "conversation" || kind === "item")) return true;
  if (namesConversation(truncated) || asksForCompaction(truncated)) return true;
  const strip = clientDialect(dialect).stripSignedReasoning;
  if (strip !== null && strip(truncated) !== truncated) return true;
  return listOf(truncated["input"]).some(isCompacted) || objectsOf(truncated["messages"]).some(holdsState);
}

function namesConversation({ previous_response_id: parent, conversation }: JsonObject): boolean {
  return parent != null || conversation != null;
}

function holdsState({ content, tool_calls: calls }: JsonObject): boolean {
  return listOf(content).some(isCompacted) || objectsOf(calls).some((call) => signatureIn(call) !== null);
}

function isCompacted(item: Json): boolean {
  return isObject(item) && typeof item["type"] === "string" && item["type"].startsWith("compaction");
}
