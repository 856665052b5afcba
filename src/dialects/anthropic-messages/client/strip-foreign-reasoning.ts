import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { currentTurnStart, type TurnPart } from "../../ir/current-turn.ts";
import { listOf, objectOf, stringOf } from "../../json/json-fields.ts";
import { hasProof, isForeignReasoning } from "../../reasoning/foreign-reasoning.ts";
import { stripForeignCitations } from "../citations.ts";

/**
 * Returns the same body if there is nothing to strip. Other providers' citations are stripped along with the reasoning. A turn
 * that another model has begun without any reasoning lacks it just the same.
 */
export function stripForeignReasoning(body: JsonObject): JsonObject {
  return unthinking(strip(body, (block) => isForeignReasoning(block, "thinking", "signature")));
}

/** All signed and redacted thinking, from any provider. */
export function stripProvenReasoning(body: JsonObject): JsonObject {
  const cleaned = strip(body, (block) => {
    return hasProof(block, "thinking", "signature") || hasProof(block, "redacted_thinking", "data");
  });
  return cleaned === body ? body : unthinking(cleaned);
}

function strip(body: JsonObject, isStripped: (block: Json) => boolean): JsonObject {
  const messages = listOf(body["messages"]);
  const kept = messages
    .map((message) => cleanMessage(message, isStripped))
    .filter((message) => message !== null);
  if (kept.every((message, index) => message === messages[index]) && kept.length === messages.length) {
    return body;
  }
  return { ...body, messages: kept };
}

function unthinking(body: JsonObject): JsonObject {
  return mustNotThink(body) ? { ...body, thinking: { type: "disabled" } } : body;
}

/** Null if nothing is left, because a message must not be empty. */
function cleanMessage(message: Json, isStripped: (block: Json) => boolean): Json {
  const content = isObject(message) ? message["content"] : null;
  if (!isObject(message) || !Array.isArray(content)) return message;
  const kept = content.filter((block) => !isStripped(block)).map(stripForeignCitations);
  if (kept.length === content.length && kept.every((block, at) => block === content[at])) return message;
  return kept.length === 0 ? null : { ...message, content: kept };
}

/** With a budget, Claude requires thinking where the turn that it continues began. */
function mustNotThink(body: JsonObject): boolean {
  if (objectOf(body["thinking"])?.["type"] !== "enabled") return false;
  const messages = listOf(body["messages"]);
  const turn = messages.slice(currentTurnStart(messages, turnPartOf));
  const first = turn.find((message) => turnPartOf(message) === "answer");
  return first !== undefined && !holds(first, /thinking$/);
}

function turnPartOf(message: Json): TurnPart {
  const role = objectOf(message)?.["role"];
  if (role === "assistant") return "answer";
  if (role === "system") return "instruction";
  return holds(message, /^tool_result$/) ? "results" : "words";
}

function holds(message: Json, type: RegExp): boolean {
  const blocks = listOf(objectOf(message)?.["content"]);
  return blocks.some((block) => type.test(stringOf(objectOf(block)?.["type"]) ?? ""));
}
