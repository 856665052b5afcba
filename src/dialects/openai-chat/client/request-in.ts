import type { Json, JsonObject } from "../../../base/json.ts";
import type { IrReasoningSettings, IrRequest } from "../../ir/ir.ts";
import { booleanOf, listOf, numberOf, objectOf, stringOf, stringsOf } from "../../json/json-fields.ts";
import { readFormat } from "../../openai/format.ts";
import { readIdentity } from "../../openai/identity.ts";
import { readEffort } from "../../reasoning/effort.ts";
import { type DroppedFields, decideFields, reject } from "../../translation/field-decisions.ts";
import { requestFields } from "./fields.ts";
import { readMessages } from "./messages-in.ts";
import { readToolChoice, readTools } from "./tools-in.ts";

export function readRequest(body: JsonObject, dropped: DroppedFields): IrRequest {
  decideFields(body, requestFields, dropped);
  if (listOf(body["modalities"]).includes("audio"))
    reject("modalities", "the model's provider gives no audio");
  return {
    stream: body["stream"] === true,
    ...readMessages(body["messages"], dropped),
    tools: readTools(body, dropped),
    toolChoice: readToolChoice(body),
    parallelToolCalls: booleanOf(body["parallel_tool_calls"]),
    reasoning: readReasoning(body["reasoning_effort"]),
    format: readFormat(objectOf(body["response_format"]), "response_format", describedIn),
    maxOutputTokens: numberOf(body["max_completion_tokens"]) ?? numberOf(body["max_tokens"]),
    stop: typeof body["stop"] === "string" ? [body["stop"]] : stringsOf(body["stop"]),
    sampling: {
      temperature: numberOf(body["temperature"]),
      topP: numberOf(body["top_p"]),
      topK: numberOf(body["top_k"]),
    },
    identity: readIdentity(body),
    serviceTier: stringOf(body["service_tier"]),
    verbosity: stringOf(body["verbosity"]),
    store: booleanOf(body["store"]),
    metadata: objectOf(body["metadata"]),
  };
}

/** Chat clients read `reasoning_content`, so reasoning is visible. */
function readReasoning(requested: Json | undefined): IrReasoningSettings | null {
  const effort = readEffort(requested, "reasoning_effort");
  if (effort === null) return null;
  return { effort, thinking: null, budgetTokens: null, visible: true, summary: null };
}

function describedIn(format: JsonObject): JsonObject {
  return objectOf(format["json_schema"]) ?? reject("response_format.json_schema", "must be an object");
}
