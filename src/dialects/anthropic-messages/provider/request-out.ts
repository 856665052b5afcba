import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { asksForImageDetail } from "../../ir/image-detail.ts";
import type { IrRequest, IrTool } from "../../ir/ir.ts";
import { shortened } from "../../openai/identity.ts";
import type { Target } from "../../provider-dialect.ts";
import { functionSchema } from "../../tools/schema.ts";
import type { DroppedFields } from "../../translation/dropped-fields.ts";
import {
  mayDisableThinking,
  modelName,
  takesOutputFormat,
  takesSampling,
} from "../../translation/model-traits.ts";
import { jsonOnly } from "../../translation/own-words.ts";
import { withCache, writeContent } from "./content-out.ts";
import { writeMessages } from "./messages-out.ts";
import { addOutputConfig, isForced, writeThinking } from "./thinking-out.ts";

/** The dialect requires a limit; used if neither the client nor the catalog has one. */
const fallbackMaxTokens = 4096;
const maxIdentityLength = 256;

/** Fields are assigned one by one: most requests have few, and every spread would allocate another object. */
export function writeRequest(request: IrRequest, target: Target, dropped: DroppedFields): JsonObject {
  const most = target.maxOutputTokens ?? Number.POSITIVE_INFINITY;
  const maxTokens = Math.min(request.maxOutputTokens ?? target.maxOutputTokens ?? fallbackMaxTokens, most);
  const { thinking, effort } = writeThinking(request, target, maxTokens, dropped);
  const messages = writeMessages(request, target, dropped);
  const system = writeSystem(request);
  // Anthropic requires a user message, so a request with instructions only sends them as one.
  const asked = messages.length > 0 ? messages : [{ role: "user", content: system.splice(0) }];
  const tools = writeTools(request, target, dropped);
  limitCacheMarks(tools, system, asked);
  dropUnsupported(request, dropped);
  const body: JsonObject = { model: target.upstreamModel, max_tokens: maxTokens };
  if (system.length > 0) body["system"] = system;
  body["messages"] = asked;
  if (tools.length > 0) {
    body["tools"] = tools;
    addChoice(body, request, target, dropped);
  }
  if (thinking !== undefined) body["thinking"] = thinking;
  addOutputConfig(body, request, effort);
  addSampling(body, request, target, thinking, dropped);
  addStops(body, request, dropped);
  addIdentity(body, request);
  addTier(body, request, dropped);
  body["stream"] = request.stream;
  return body;
}

function writeSystem(request: IrRequest): JsonObject[] {
  const written = writeContent(request.system);
  if (request.format?.type === "json_object") written.push({ type: "text", text: jsonOnly });
  return written;
}

function writeTools(request: IrRequest, target: Target, dropped: DroppedFields): JsonObject[] {
  return request.tools.flatMap((tool) => writeTool(tool, target, dropped));
}

function writeTool(tool: IrTool, target: Target, dropped: DroppedFields): JsonObject[] {
  if (tool.type !== "function") return [];
  const strict = tool.strict === true && takesOutputFormat(target);
  if (tool.strict === true && !strict) dropped.add("strict");
  const written: JsonObject = {
    name: tool.name,
    ...(tool.description === null ? {} : { description: tool.description }),
    input_schema: functionSchema(tool.schema),
    ...(strict ? { strict } : {}),
  };
  return [withCache(written, tool.cache)];
}

function addChoice(body: JsonObject, request: IrRequest, target: Target, dropped: DroppedFields): void {
  const single = request.parallelToolCalls === false ? { disable_parallel_tool_use: true } : {};
  const choice = request.toolChoice;
  // Models that always think cannot be forced to call a tool.
  if (isForced(request) && !mayDisableThinking(modelName(target))) {
    dropped.add("tool_choice");
    body["tool_choice"] = { type: "auto", ...single };
  } else if (choice?.type === "none") body["tool_choice"] = { type: "none" };
  else if (choice?.type === "tool") body["tool_choice"] = { type: "tool", name: choice.name, ...single };
  else if (choice?.type === "required") body["tool_choice"] = { type: "any", ...single };
  else if (choice !== null || request.parallelToolCalls === false) {
    body["tool_choice"] = { type: "auto", ...single };
  }
}

/** Claude takes a temperature of at most 1, not together with top_p, and neither with thinking. */
function addSampling(
  body: JsonObject,
  request: IrRequest,
  target: Target,
  thinking: JsonObject | undefined,
  dropped: DroppedFields,
): void {
  const { temperature, topP, topK } = request.sampling;
  if (temperature === null && topP === null && topK === null) return;
  const thinks = thinking !== undefined && thinking["type"] !== "disabled";
  const free = takesSampling(target) && !thinks;
  if (temperature !== null && free) body["temperature"] = Math.min(Math.max(temperature, 0), 1);
  else if (temperature !== null) dropped.add("temperature");
  if (topP !== null && free && temperature === null) body["top_p"] = topP;
  else if (topP !== null) dropped.add("top_p");
  if (topK !== null && free) body["top_k"] = topK;
  else if (topK !== null) dropped.add("top_k");
}

/** Anthropic rejects stop sequences that are only white space. */
function addStops(body: JsonObject, request: IrRequest, dropped: DroppedFields): void {
  if (request.stop.length === 0) return;
  const stops = request.stop.filter((stop) => stop.trim() !== "");
  if (stops.length < request.stop.length) dropped.add(dropped.names.stop);
  if (stops.length > 0) body["stop_sequences"] = stops;
}

function addIdentity(body: JsonObject, request: IrRequest): void {
  const person = request.identity.safetyIdentifier ?? request.identity.user;
  if (person === null || person === "") return;
  body["metadata"] = { user_id: person.length > maxIdentityLength ? shortened(person) : person };
}

function addTier(body: JsonObject, request: IrRequest, dropped: DroppedFields): void {
  if (request.serviceTier === "auto") body["service_tier"] = "auto";
  else if (request.serviceTier === "default") body["service_tier"] = "standard_only";
  else if (request.serviceTier !== null) dropped.add("service_tier");
}

function dropUnsupported(request: IrRequest, dropped: DroppedFields): void {
  if (request.format?.type === "json_schema" && request.format.description !== null) {
    dropped.add(dropped.names.formatDescription);
  }
  if (asksForImageDetail(request)) dropped.add(dropped.names.imageDetail);
  if (request.identity.promptCacheKey !== null) dropped.add("prompt_cache_key");
  if (request.verbosity !== null) dropped.add("verbosity");
  if (request.store !== null) dropped.add("store");
  if (request.metadata !== null) dropped.add("metadata");
}

/** Anthropic's limit per request. The last marks cover the most, so the earliest are removed. */
const maxMarks = 4;

/** Takes the sections in the provider's order: tools, instructions, conversation. Modifies the blocks. */
function limitCacheMarks(...sections: readonly (readonly JsonObject[])[]): void {
  const marked: JsonObject[] = [];
  for (const section of sections) collectMarked(section, marked);
  for (const block of marked.slice(0, -maxMarks)) delete block["cache_control"];
}

function collectMarked(blocks: readonly Json[], marked: JsonObject[]): void {
  for (const block of blocks) {
    if (!isObject(block)) continue;
    if (Array.isArray(block["content"])) collectMarked(block["content"], marked);
    if (block["cache_control"] !== undefined) marked.push(block);
  }
}
