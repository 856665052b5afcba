import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { type DroppedFields, decideFields, decideParts, reject } from "../../contract/field-decisions.ts";
import {
  asIs,
  maxOutput,
  type OutputLimit,
  type PassthroughLimit,
  type PublishedLimits,
} from "../../contract/output-limit.ts";
import type { IrFormat, IrReasoningSettings, IrRequest } from "../../ir/ir.ts";
import { listOf, numberOf, objectOf, objectsOf, stringOf, stringsOf } from "../../json/json-fields.ts";
import { readEffort } from "../../reasoning/effort.ts";
import {
  blockFields,
  messageFields,
  metadataFields,
  outputConfigFields,
  requestFields,
  thinkingFields,
  toolFields,
} from "./fields.ts";
import { readMessages, readSystem } from "./messages-in.ts";
import { readParallel, readToolChoice, readTools } from "./tools-in.ts";

export function readRequest(body: JsonObject, dropped: DroppedFields): IrRequest {
  decideRequest(body, dropped);
  return {
    stream: body["stream"] === true,
    system: readSystem(body["system"]),
    messages: readMessages(body["messages"], dropped),
    tools: readTools(body, dropped),
    toolChoice: readToolChoice(body),
    parallelToolCalls: readParallel(body),
    reasoning: readReasoning(body),
    format: readFormat(body),
    maxOutputTokens: numberOf(body["max_tokens"]) ?? defaultMaxTokens,
    stop: stringsOf(body["stop_sequences"]),
    sampling: {
      temperature: numberOf(body["temperature"]),
      topP: numberOf(body["top_p"]),
      topK: numberOf(body["top_k"]),
    },
    identity: { user: readUser(body), safetyIdentifier: null, promptCacheKey: null },
    serviceTier: body["service_tier"] === "standard_only" ? "default" : stringOf(body["service_tier"]),
    verbosity: null,
    store: null,
    metadata: null,
  };
}

const thinkingTypes = ["adaptive", "enabled", "disabled", "between_tools"] as const;

function readReasoning(body: JsonObject): IrReasoningSettings | null {
  const thinking = objectOf(body["thinking"]);
  const effort = readEffort(objectOf(body["output_config"])?.["effort"], "output_config.effort");
  if (thinking === null) {
    return effort === null
      ? null
      : { effort, thinking: null, budgetTokens: null, visible: null, summary: null };
  }
  const display = stringOf(thinking["display"]);
  return {
    effort,
    thinking: readThinkingType(thinking["type"]),
    budgetTokens: numberOf(thinking["budget_tokens"]),
    visible: display === null ? null : display !== "omitted",
    summary: null,
  };
}

/** No other dialect can ask for thinking between tool calls only; the model decides there. */
function readThinkingType(type: Json | undefined): IrReasoningSettings["thinking"] {
  const known = thinkingTypes.find((name) => name === type);
  if (known === undefined) return reject("thinking.type", `must be one of ${thinkingTypes.join(", ")}`);
  return known === "between_tools" ? "adaptive" : known;
}

/** `output_format` is the name of the beta. */
function readFormat(body: JsonObject): IrFormat | null {
  const format = objectOf(objectOf(body["output_config"])?.["format"]) ?? objectOf(body["output_format"]);
  if (format === null) return null;
  const schema = objectOf(format["schema"]);
  if (format["type"] !== "json_schema") reject("output_config.format.type", "must be json_schema");
  if (schema === null) return reject("output_config.format.schema", "must be a JSON schema");
  return { type: "json_schema", name: null, description: null, schema, strict: null };
}

export function readUser(body: JsonObject): string | null {
  return stringOf(objectOf(body["metadata"])?.["user_id"]) || null;
}

/** Rejects or reports the parts of a request that no other dialect can express. */
function decideRequest(body: JsonObject, dropped: DroppedFields): void {
  decideFields(body, requestFields, dropped);
  const { output_config: config, metadata, thinking } = body;
  if (isObject(config)) decideFields(config, outputConfigFields, dropped, "output_config.");
  if (isObject(metadata)) decideFields(metadata, metadataFields, dropped, "metadata.");
  if (isObject(thinking)) decideFields(thinking, thinkingFields, dropped, "thinking.");
  for (const tool of objectsOf(body["tools"])) {
    if ((tool["type"] ?? "custom") === "custom") decideFields(tool, toolFields, dropped, "tools[].");
  }
  for (const message of listOf(body["messages"])) {
    if (!isObject(message)) continue;
    decideFields(message, messageFields, dropped, "messages[].");
    decideParts(message["content"], blockFields, dropped);
  }
  if (listOf(body["messages"]).some(hasCitations)) dropped.add("citations");
}

/** Whether citations are requested, or an earlier response has some, at any level of the content. */
function hasCitations(holder: Json): boolean {
  const content = isObject(holder) ? holder["content"] : null;
  return Array.isArray(content) && content.some((block) => isCited(block) || hasCitations(block));
}

function isCited(block: Json): boolean {
  const citations = isObject(block) ? block["citations"] : null;
  return Array.isArray(citations)
    ? citations.length > 0
    : isObject(citations) && citations["enabled"] === true;
}

/** The gateway's default; Anthropic itself requires the field. */
export const defaultMaxTokens = 1024;
/** Anthropic's least budget for thinking, which has to be below `max_tokens`. */
const minBudget = 1024;

/** Messages has a default, and a limit above the model's is capped instead of rejected. */
export function limitOutput(body: JsonObject, { maxOutputTokens: published }: PublishedLimits): OutputLimit {
  const requested = numberOf(body["max_tokens"]);
  const effective = Math.min(requested ?? defaultMaxTokens, published ?? maxOutput);
  if (effective === requested) return asIs(effective);
  const limit = { maxOutputTokens: effective, changes: { max_tokens: effective } };
  const passthrough = limitThinking(body, requested ?? effective, effective);
  return passthrough === null ? limit : { ...limit, passthrough };
}

/** Null if the unchanged thinking budget fits into the lowered limit. */
function limitThinking(body: JsonObject, requested: number, effective: number): PassthroughLimit | null {
  const thinking = objectOf(body["thinking"]);
  const budget = numberOf(thinking?.["budget_tokens"]);
  if (thinking?.["type"] !== "enabled" || budget === null) return null;
  if (effective <= minBudget) {
    return { changes: { thinking: { type: "disabled" } }, dropped: ["thinking"] };
  }
  const lowered = lowerBudget(budget, requested, effective);
  if (lowered === budget) return null;
  return { changes: { thinking: { ...thinking, budget_tokens: lowered } }, dropped: [] };
}

/**
 * Lowers the budget by what the limit was lowered, so that the visible response keeps its room, but to no less than
 * half of the limit.
 */
function lowerBudget(budget: number, requested: number, effective: number): number {
  const roomForResponse = requested - budget;
  const share = Math.max(effective - roomForResponse, Math.floor(effective / 2));
  return Math.min(budget, Math.max(minBudget, Math.min(share, effective - 1)));
}
