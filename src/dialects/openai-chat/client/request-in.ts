import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import type { IrFormat, IrReasoningSettings, IrRequest } from "../../ir/ir.ts";
import { booleanOf, listOf, numberOf, objectOf, stringOf, stringsOf } from "../../json/json-fields.ts";
import { readEffort } from "../../reasoning/effort.ts";
import { type DroppedFields, dropOthers, refuse } from "../../translation/dropped-fields.ts";
import { readMessages } from "./messages-in.ts";
import { readToolChoice, readTools } from "./tools-in.ts";

/** Fields translated below. All others are dropped and reported. */
const translatedFields: ReadonlySet<string> = new Set([
  ...["model", "messages", "stream", "stream_options", "tools", "functions", "tool_choice", "function_call"],
  ...["parallel_tool_calls", "reasoning_effort", "response_format", "max_completion_tokens", "max_tokens"],
  ...["stop", "temperature", "top_p", "top_k", "user", "safety_identifier", "prompt_cache_key"],
  ...["service_tier", "verbosity", "store", "metadata", "n", "logprobs", "modalities", "audio"],
]);

export function readRequest(body: JsonObject, dropped: DroppedFields): IrRequest {
  refuseWhatChangesTheAnswer(body);
  dropOthers(body, translatedFields, dropped);
  return {
    stream: body["stream"] === true,
    ...readMessages(body["messages"]),
    tools: readTools(body),
    toolChoice: readToolChoice(body),
    parallelToolCalls: booleanOf(body["parallel_tool_calls"]),
    reasoning: readReasoning(body["reasoning_effort"]),
    format: readFormat(objectOf(body["response_format"])),
    maxOutputTokens: numberOf(body["max_completion_tokens"]) ?? numberOf(body["max_tokens"]),
    stop: typeof body["stop"] === "string" ? [body["stop"]] : stringsOf(body["stop"]),
    sampling: {
      temperature: numberOf(body["temperature"]),
      topP: numberOf(body["top_p"]),
      topK: numberOf(body["top_k"]),
    },
    identity: {
      user: stringOf(body["user"]),
      safetyIdentifier: stringOf(body["safety_identifier"]),
      promptCacheKey: stringOf(body["prompt_cache_key"]),
    },
    serviceTier: stringOf(body["service_tier"]),
    verbosity: stringOf(body["verbosity"]),
    store: booleanOf(body["store"]),
    metadata: objectOf(body["metadata"]),
  };
}

/** Rejects options that no other dialect has and whose absence would change the answer. */
function refuseWhatChangesTheAnswer(body: JsonObject): void {
  const choices = numberOf(body["n"]);
  if (choices !== null && choices > 1) refuse("n", "the model's provider gives one choice only");
  if (body["logprobs"] === true) refuse("logprobs", "the model's provider gives none");
  if (isObject(body["audio"])) refuse("audio", "the model's provider gives no audio");
  if (listOf(body["modalities"]).includes("audio"))
    refuse("modalities", "the model's provider gives no audio");
}

/** Chat clients read `reasoning_content`, so reasoning is visible. */
function readReasoning(asked: Json | undefined): IrReasoningSettings | null {
  const effort = readEffort(asked, "reasoning_effort");
  if (effort === null) return null;
  return { effort, thinking: null, budgetTokens: null, visible: true, summary: null };
}

function readFormat(format: JsonObject | null): IrFormat | null {
  if (format === null || format["type"] === "text") return null;
  if (format["type"] === "json_object") return { type: "json_object" };
  if (format["type"] !== "json_schema")
    refuse("response_format.type", "must be text, json_object or json_schema");
  const described = objectOf(format["json_schema"]);
  if (described === null) return refuse("response_format.json_schema", "must be an object");
  return {
    type: "json_schema",
    name: stringOf(described["name"]),
    description: stringOf(described["description"]),
    schema: objectOf(described["schema"]) ?? {},
    strict: booleanOf(described["strict"]),
  };
}
