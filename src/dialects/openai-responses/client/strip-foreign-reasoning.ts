import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { listOf, objectsOf } from "../../json/json-fields.ts";
import { hasSignature, isCompacted, isForeignReasoning } from "../../reasoning/reasoning-envelope.ts";

/** Returns the same body if there is nothing to strip. */
export function stripForeignReasoning(body: JsonObject): JsonObject {
  const input = listOf(body["input"]);
  const kept = input.filter((item) => !isForeignReasoning(item, "reasoning", "encrypted_content"));
  return kept.length === input.length ? body : { ...body, input: kept };
}

/**
 * All encrypted reasoning, from any provider. The ids go with it: OpenAI rejects a call that it has stored together with
 * reasoning, and that is sent without it.
 */
export function stripSignedReasoning(body: JsonObject): JsonObject {
  const input = listOf(body["input"]);
  const kept = input.filter((item) => !hasSignature(item, "reasoning", "encrypted_content"));
  return kept.length === input.length ? body : { ...body, input: kept.map(withoutId) };
}

/** A stored conversation, or a compacted one. */
export function holdsState({ previous_response_id: parent, conversation, input }: JsonObject): boolean {
  return parent != null || conversation != null || objectsOf(input).some(isCompacted);
}

const ofAnswers: ReadonlySet<Json> = new Set(["message", "function_call", "custom_tool_call"]);

function withoutId(item: Json): Json {
  if (!isObject(item) || !ofAnswers.has(item["type"] ?? null)) return item;
  const { id: _, ...rest } = item;
  return rest;
}
