import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { type DroppedFields, decideFields, decideParts, reject } from "../../contract/field-decisions.ts";
import type { IrReasoningSettings, IrRequest } from "../../ir/ir.ts";
import { booleanOf, listOf, numberOf, objectOf, objectsOf, stringOf } from "../../json/json-fields.ts";
import { readFormat } from "../../openai/format.ts";
import { readIdentity } from "../../openai/request-fields.ts";
import { readEffort } from "../../reasoning/effort.ts";
import { itemFields, partFields, reasoningFields, requestFields, textFields } from "./fields.ts";
import { readInput } from "./input-in.ts";
import { readToolChoice, readTools } from "./tools-in.ts";

export function readRequest(body: JsonObject, dropped: DroppedFields): IrRequest {
  decideFields(body, requestFields, dropped);
  readInclude(body, dropped);
  if (body["truncation"] === "auto") dropped.add("truncation");
  decideInput(body["input"], dropped);
  const conversation = readInput(body["input"], dropped);
  const tools = readTools(body["tools"], conversation.lateTools, dropped);
  const instructions = stringOf(body["instructions"]);
  const text = objectOf(body["text"]) ?? {};
  decideFields(text, textFields, dropped, "text.");
  return {
    stream: body["stream"] === true,
    system: [
      ...(instructions === null ? [] : [{ type: "text" as const, text: instructions }]),
      ...conversation.system,
    ],
    messages: conversation.messages,
    tools,
    toolChoice: readToolChoice(body["tool_choice"], tools),
    parallelToolCalls: booleanOf(body["parallel_tool_calls"]),
    reasoning: readReasoningSettings(body["reasoning"], dropped),
    format: readFormat(objectOf(text["format"]), "text.format", describedIn),
    maxOutputTokens: numberOf(body["max_output_tokens"]),
    stop: [],
    sampling: { temperature: numberOf(body["temperature"]), topP: numberOf(body["top_p"]), topK: null },
    identity: readIdentity(body),
    serviceTier: stringOf(body["service_tier"]),
    verbosity: stringOf(text["verbosity"]),
    // Other dialects never store responses.
    store: body["store"] === true ? true : null,
    metadata: objectOf(body["metadata"]),
  };
}

/** An item without a type is a message. */
function decideInput(input: Json | undefined, dropped: DroppedFields): void {
  decideParts(input, itemFields, dropped, (item) => item["type"] ?? "message");
  for (const item of objectsOf(input)) {
    decideParts(item["content"], partFields, dropped);
    decideParts(item["output"], partFields, dropped);
  }
}

/** Encrypted reasoning is always included; the other values belong to OpenAI's hosted tools. */
function readInclude(body: JsonObject, dropped: DroppedFields): void {
  const include = listOf(body["include"]);
  if (include.includes("message.output_text.logprobs"))
    reject("include", "requests log probabilities, which this model's provider does not support");
  if (include.some((entry) => entry !== "reasoning.encrypted_content")) dropped.add("include");
}

function readReasoningSettings(
  reasoning: Json | undefined,
  dropped: DroppedFields,
): IrReasoningSettings | null {
  if (!isObject(reasoning)) return null;
  const summary = stringOf(reasoning["summary"]) ?? stringOf(reasoning["generate_summary"]);
  decideFields(reasoning, reasoningFields, dropped, "reasoning.");
  return {
    effort: readEffort(reasoning["effort"], "reasoning.effort"),
    thinking: null,
    budgetTokens: null,
    visible: summary === null ? null : true,
    summary,
  };
}

function describedIn(format: JsonObject): JsonObject {
  return isObject(format["schema"]) ? format : reject("text.format.schema", "must be a JSON schema");
}
