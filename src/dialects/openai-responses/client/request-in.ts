import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import type { IrFormat, IrReasoningSettings, IrRequest } from "../../ir/ir.ts";
import { booleanOf, listOf, numberOf, objectOf, stringOf } from "../../json/json-fields.ts";
import { readEffort } from "../../reasoning/effort.ts";
import { type DroppedFields, dropOthers, refuse } from "../../translation/dropped-fields.ts";
import { readInput } from "./input-in.ts";
import { readToolChoice, readTools } from "./tools-in.ts";

const keepsNothing = "this model's provider keeps no responses; send the whole conversation in input";

/** Fields that only OpenAI itself supports and that would change the answer. */
const stateful: Readonly<Record<string, string>> = {
  previous_response_id: keepsNothing,
  conversation: keepsNothing,
  background: "this model's provider answers at once or not at all",
  prompt: "this model's provider does not know the template; send its text in input",
};

/** Fields translated below, or without a meaning for other providers. All others are dropped and reported. */
const translatedFields: ReadonlySet<string> = new Set([
  ...Object.keys(stateful),
  ...["model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "reasoning", "text"],
  ...["include", "stream", "stream_options", "max_output_tokens", "temperature", "top_p", "top_logprobs"],
  ...["metadata", "prompt_cache_key", "safety_identifier", "user", "service_tier", "store", "truncation"],
]);

const reasoningFields: ReadonlySet<string> = new Set(["effort", "summary", "generate_summary"]);

export function readRequest(body: JsonObject, dropped: DroppedFields): IrRequest {
  refuseStateful(body);
  readInclude(body, dropped);
  dropUnsupported(body, dropped);
  const conversation = readInput(body["input"], dropped);
  const tools = readTools(body["tools"], conversation.lateTools, dropped);
  const instructions = stringOf(body["instructions"]);
  const text = objectOf(body["text"]) ?? {};
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
    format: readFormat(text["format"]),
    maxOutputTokens: numberOf(body["max_output_tokens"]),
    stop: [],
    sampling: { temperature: numberOf(body["temperature"]), topP: numberOf(body["top_p"]), topK: null },
    identity: {
      user: stringOf(body["user"]),
      safetyIdentifier: stringOf(body["safety_identifier"]),
      promptCacheKey: stringOf(body["prompt_cache_key"]),
    },
    serviceTier: stringOf(body["service_tier"]),
    verbosity: stringOf(text["verbosity"]),
    // Other dialects never store responses.
    store: body["store"] === true ? true : null,
    metadata: objectOf(body["metadata"]),
  };
}

function refuseStateful(body: JsonObject): void {
  for (const [field, why] of Object.entries(stateful)) {
    const value = body[field];
    if (value !== undefined && value !== null && value !== false) refuse(field, why);
  }
}

/** Encrypted reasoning is always included; the other values belong to OpenAI's hosted tools. */
function readInclude(body: JsonObject, dropped: DroppedFields): void {
  const include = listOf(body["include"]);
  if (include.includes("message.output_text.logprobs"))
    refuse("include", "log probabilities are not available");
  if ((numberOf(body["top_logprobs"]) ?? 0) > 0) {
    refuse("top_logprobs", "log probabilities are not available for this model");
  }
  if (include.some((entry) => entry !== "reasoning.encrypted_content")) dropped.add("include");
}

function dropUnsupported(body: JsonObject, dropped: DroppedFields): void {
  dropOthers(body, translatedFields, dropped);
  if (body["truncation"] === "auto") dropped.add("truncation");
}

function readReasoningSettings(
  reasoning: Json | undefined,
  dropped: DroppedFields,
): IrReasoningSettings | null {
  if (!isObject(reasoning)) return null;
  const summary = stringOf(reasoning["summary"]) ?? stringOf(reasoning["generate_summary"]);
  dropOthers(reasoning, reasoningFields, dropped, "reasoning.");
  return {
    effort: readEffort(reasoning["effort"], "reasoning.effort"),
    thinking: null,
    budgetTokens: null,
    visible: summary === null ? null : true,
    summary,
  };
}

function readFormat(format: Json | undefined): IrFormat | null {
  if (!isObject(format) || format["type"] === "text") return null;
  if (format["type"] === "json_object") return { type: "json_object" };
  if (format["type"] !== "json_schema")
    refuse("text.format.type", "must be text, json_object or json_schema");
  if (!isObject(format["schema"])) refuse("text.format.schema", "must be a JSON schema");
  return {
    type: "json_schema",
    name: stringOf(format["name"]),
    description: stringOf(format["description"]),
    schema: format["schema"],
    strict: booleanOf(format["strict"]),
  };
}
