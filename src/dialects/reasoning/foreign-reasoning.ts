import { asBuffer } from "../../base/as-buffer.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { listOf, objectOf, stringOf } from "../json/json-fields.ts";
import { effortFields } from "./effort.ts";
import { envelopeMark, isReasoningEnvelope } from "./reasoning-envelope.ts";

type EnvelopeDialect = "responses" | "messages";

const mark = Buffer.from(`"${envelopeMark}`);

/** Whether a body may hold a envelope; a look at its bytes, because nearly none does. */
export function mayHoldEnvelope(bytes: Uint8Array): boolean {
  return asBuffer(bytes).indexOf(mark) !== -1;
}

export interface StrippedBody {
  readonly body: JsonObject;
  /** The name of what was taken out, as clients of this dialect know it; null when nothing was. */
  readonly dropped: string | null;
}

/**
 * A body for a vendor of the client's own dialect, without the reasoning of others. A conversation that began
 * on another provider holds it in envelopes, and to Anthropic and OpenAI these are proofs that they never made:
 * they would refuse the whole conversation.
 */
export function stripForeignReasoning(dialect: EnvelopeDialect, body: JsonObject): StrippedBody {
  const cleaned = dialect === "messages" ? cleanMessages(body) : cleanInput(body);
  return { body: cleaned, dropped: cleaned === body ? null : effortFields[dialect] };
}

function cleanInput(body: JsonObject): JsonObject {
  const input = listOf(body["input"]);
  const kept = input.filter((item) => !isForeign(item, "reasoning", "encrypted_content"));
  return kept.length === input.length ? body : { ...body, input: kept };
}

function cleanMessages(body: JsonObject): JsonObject {
  const messages = listOf(body["messages"]);
  const kept = messages.map(cleanMessage).filter((message) => message !== null);
  if (kept.every((message, index) => message === messages[index]) && kept.length === messages.length) {
    return body;
  }
  const cleaned = { ...body, messages: kept };
  return mustNotThink(cleaned) ? { ...cleaned, thinking: { type: "disabled" } } : cleaned;
}

/** Null when nothing is left of it: a message may not be empty. */
function cleanMessage(message: Json): Json {
  const content = isObject(message) ? message["content"] : null;
  if (!isObject(message) || !Array.isArray(content)) return message;
  const kept = content.filter((block) => !isForeign(block, "thinking", "signature"));
  if (kept.length === content.length) return message;
  return kept.length === 0 ? null : { ...message, content: kept };
}

function isForeign(value: Json, type: string, field: string): boolean {
  return isObject(value) && value["type"] === type && isReasoningEnvelope(stringOf(value[field]) ?? "");
}

/** With a budget, Claude wants thinking before the calls that are being answered, and these have none now. */
function mustNotThink(body: JsonObject): boolean {
  if (objectOf(body["thinking"])?.["type"] !== "enabled") return false;
  const messages = listOf(body["messages"]);
  const answered = listOf(objectOf(messages.at(-1))?.["content"]).some((block) =>
    hasType(block, /^tool_result$/),
  );
  const last = messages.findLast((message) => objectOf(message)?.["role"] === "assistant");
  const thought = listOf(objectOf(last)?.["content"]).some((block) => hasType(block, /thinking$/));
  return answered && !thought;
}

function hasType(block: Json, type: RegExp): boolean {
  return type.test(stringOf(objectOf(block)?.["type"]) ?? "");
}
