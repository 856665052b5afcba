import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { currentTurnStart, type TurnPart } from "../../ir/current-turn.ts";
import { listOf, objectOf, objectsOf, stringOf } from "../../json/json-fields.ts";
import { type ClaudeStep, mustNotThink } from "../../reasoning/claude-steps.ts";
import {
  hasSignature,
  holds,
  isCompacted,
  isForeignReasoning,
  mayHoldEnvelope,
} from "../../reasoning/reasoning-envelope.ts";
import { stripForeignCitations } from "../citations.ts";

/** What asks for thinking in the middle of a turn, which may be another model's. */
const budget = Buffer.from('"budget_tokens"');
const toolResult = Buffer.from('"tool_result"');

export function mayHoldForeignReasoning(bytes: Uint8Array): boolean {
  return mayHoldEnvelope(bytes) || (holds(bytes, budget) && holds(bytes, toolResult));
}

/** A compacted conversation. */
export function holdsState(body: JsonObject): boolean {
  return objectsOf(body["messages"]).some(({ content }) => objectsOf(content).some(isCompacted));
}

/**
 * Returns the same body if there is nothing to strip. Strips other providers' citations along with their reasoning.
 * Also disables thinking for a turn that another model started without reasoning.
 */
export function stripForeignReasoning(body: JsonObject): JsonObject {
  return disableThinkingIfNeeded(strip(body, (block) => isForeignReasoning(block, "thinking", "signature")));
}

/** All signed and redacted thinking, from any provider. */
export function stripSignedReasoning(body: JsonObject): JsonObject {
  const cleaned = strip(body, (block) => {
    return hasSignature(block, "thinking", "signature") || hasSignature(block, "redacted_thinking", "data");
  });
  return cleaned === body ? body : disableThinkingIfNeeded(cleaned);
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

function disableThinkingIfNeeded(body: JsonObject): JsonObject {
  if (!mustDisableThinking(body)) return body;
  const { context_management: management, ...rest } = body;
  const kept = withoutThinkingEdits(objectOf(management));
  return { ...rest, ...(kept === null ? {} : { context_management: kept }), thinking: { type: "disabled" } };
}

/** Anthropic: "`clear_thinking_20251015` strategy requires `thinking` to be enabled". Null if nothing else is managed. */
function withoutThinkingEdits(management: JsonObject | null): JsonObject | null {
  const edits = listOf(management?.["edits"]);
  const kept = edits.filter((edit) => !/^clear_thinking_/.test(stringOf(objectOf(edit)?.["type"]) ?? ""));
  if (kept.length === edits.length) return management;
  return kept.length === 0 ? null : { ...management, edits: kept };
}

/** Null if nothing is left, because a message must not be empty. */
function cleanMessage(message: Json, isStripped: (block: Json) => boolean): Json {
  const content = isObject(message) ? message["content"] : null;
  if (!isObject(message) || !Array.isArray(content)) return message;
  const kept = content.filter((block) => !isStripped(block)).map(stripForeignCitations);
  if (kept.length === content.length && kept.every((block, at) => block === content[at])) return message;
  return kept.length === 0 ? null : { ...message, content: kept };
}

/** Whether the continued turn lacks the thinking that a thinking budget requires. */
function mustDisableThinking(body: JsonObject): boolean {
  if (objectOf(body["thinking"])?.["type"] !== "enabled") return false;
  const messages = listOf(body["messages"]);
  const turn = messages.slice(currentTurnStart(messages, turnPartOf));
  return mustNotThink(turn.filter((message) => turnPartOf(message) === "answer").map(stepOf));
}

function stepOf(message: Json): ClaudeStep {
  const blocks = objectsOf(objectOf(message)?.["content"]);
  const calls = blocks.filter((block) => block["type"] === "tool_use");
  return {
    startsThinking: /thinking$/.test(stringOf(blocks[0]?.["type"]) ?? ""),
    callIds: calls.map((block) => stringOf(block["id"]) ?? ""),
  };
}

function turnPartOf(message: Json): TurnPart {
  const role = objectOf(message)?.["role"];
  if (role === "assistant") return "answer";
  if (role === "system") return "instruction";
  const blocks = objectsOf(objectOf(message)?.["content"]);
  return blocks.some((block) => block["type"] === "tool_result") ? "results" : "text";
}
