import type { JsonObject } from "../../base/json.ts";
import type { Target } from "../codec.ts";
import { shortened } from "../identity.ts";
import type { IrMessage, IrRequest, IrText, IrTool } from "../ir.ts";
import { mayDisableThinking, takesOutputFormat, takesSampling } from "../models.ts";
import type { Notes } from "../notes.ts";
import { functionSchema } from "../tools/schema.ts";
import { limitCacheMarks } from "./cache-out.ts";
import { withCache, writeContent } from "./content-out.ts";
import { writeMessages } from "./messages-out.ts";
import { isForced, writeThinking } from "./thinking-out.ts";

/** The dialect demands a limit; this one stands where neither the client nor the catalog has one. */
const fallbackMaxTokens = 4096;
const maxIdentityLength = 256;
const jsonOnly = "Answer with one valid JSON object and nothing else: no prose, no code fence.";

export function writeRequest(request: IrRequest, target: Target, notes: Notes): JsonObject {
  const most = target.maxOutputTokens ?? Number.POSITIVE_INFINITY;
  const maxTokens = Math.min(request.maxOutputTokens ?? target.maxOutputTokens ?? fallbackMaxTokens, most);
  const { thinking, effort } = writeThinking(request, target, maxTokens, notes);
  const messages = writeMessages(request, target, notes);
  const system = writeSystem(request);
  // A conversation of instructions alone still needs somebody to ask.
  const asked = messages.length > 0 ? messages : [{ role: "user", content: system.splice(0) }];
  const tools = writeTools(request, target, notes);
  limitCacheMarks(tools, system, asked);
  noteDropped(request, notes);
  return {
    model: target.upstreamModel,
    max_tokens: maxTokens,
    ...(system.length === 0 ? {} : { system }),
    messages: asked,
    ...(tools.length === 0 ? {} : { tools, ...writeChoice(request, target, notes) }),
    ...(thinking === undefined ? {} : { thinking }),
    ...writeOutputConfig(request, effort),
    ...writeSampling(request, target, thinking, notes),
    ...writeStops(request, notes),
    ...writeIdentity(request),
    ...writeTier(request, notes),
    stream: request.stream,
  };
}

function writeSystem(request: IrRequest): JsonObject[] {
  const extra: IrText[] = request.format?.type === "json_object" ? [{ type: "text", text: jsonOnly }] : [];
  return writeContent([...request.system, ...extra]);
}

function writeTools(request: IrRequest, target: Target, notes: Notes): JsonObject[] {
  return request.tools.flatMap((tool) => writeTool(tool, target, notes));
}

function writeTool(tool: IrTool, target: Target, notes: Notes): JsonObject[] {
  if (tool.type !== "function") return [];
  const strict = tool.strict === true && takesOutputFormat(target);
  if (tool.strict === true && !strict) notes.drop("strict");
  const written: JsonObject = {
    name: tool.name,
    ...(tool.description === null ? {} : { description: tool.description }),
    input_schema: functionSchema(tool.schema),
    ...(strict ? { strict } : {}),
  };
  return [withCache(written, tool.cache)];
}

function writeChoice(request: IrRequest, target: Target, notes: Notes): JsonObject {
  const single = request.parallelToolCalls === false ? { disable_parallel_tool_use: true } : {};
  const choice = request.toolChoice;
  // Models that always think cannot be forced; they are asked instead.
  if (isForced(request) && !mayDisableThinking(target.upstreamModel)) {
    notes.drop("tool_choice");
    return { tool_choice: { type: "auto", ...single } };
  }
  if (choice?.type === "none") return { tool_choice: { type: "none" } };
  if (choice?.type === "tool") return { tool_choice: { type: "tool", name: choice.name, ...single } };
  if (choice?.type === "required") return { tool_choice: { type: "any", ...single } };
  return choice === null && request.parallelToolCalls !== false
    ? {}
    : { tool_choice: { type: "auto", ...single } };
}

function writeOutputConfig(request: IrRequest, effort: string | undefined): JsonObject {
  const { format } = request;
  const config: JsonObject = {
    ...(effort === undefined ? {} : { effort }),
    ...(format?.type === "json_schema" ? { format: { type: "json_schema", schema: format.schema } } : {}),
  };
  return Object.keys(config).length === 0 ? {} : { output_config: config };
}

/** Claude takes a temperature up to 1, not together with top_p, and none of them while it thinks. */
function writeSampling(
  request: IrRequest,
  target: Target,
  thinking: JsonObject | undefined,
  notes: Notes,
): JsonObject {
  const { temperature, topP, topK } = request.sampling;
  const thinks = thinking !== undefined && thinking["type"] !== "disabled";
  const free = takesSampling(target) && !thinks;
  if (temperature !== null && !free) notes.drop("temperature");
  if (topP !== null && (!free || temperature !== null)) notes.drop("top_p");
  if (topK !== null && !free) notes.drop("top_k");
  if (!free) return {};
  return {
    ...(temperature === null ? {} : { temperature: Math.min(Math.max(temperature, 0), 1) }),
    ...(topP === null || temperature !== null ? {} : { top_p: topP }),
    ...(topK === null ? {} : { top_k: topK }),
  };
}

/** "All non-whitespace stop sequences work", says Anthropic, and refuses the others. */
function writeStops(request: IrRequest, notes: Notes): JsonObject {
  const stops = request.stop.filter((stop) => stop.trim() !== "");
  if (stops.length < request.stop.length) notes.drop("stop");
  return stops.length === 0 ? {} : { stop_sequences: stops };
}

function writeIdentity(request: IrRequest): JsonObject {
  const person = request.identity.safetyIdentifier ?? request.identity.user;
  if (person === null || person === "") return {};
  return { metadata: { user_id: person.length > maxIdentityLength ? shortened(person) : person } };
}

function writeTier(request: IrRequest, notes: Notes): JsonObject {
  if (request.serviceTier === "auto") return { service_tier: "auto" };
  if (request.serviceTier === "default") return { service_tier: "standard_only" };
  if (request.serviceTier !== null) notes.drop("service_tier");
  return {};
}

function noteDropped(request: IrRequest, notes: Notes): void {
  const inChat = notes.client === "chat";
  if (request.format?.type === "json_schema" && request.format.description !== null) {
    notes.drop(inChat ? "response_format.json_schema.description" : "text.format.description");
  }
  if (request.messages.some(hasDetail)) notes.drop(inChat ? "image_url.detail" : "detail");
  if (request.identity.promptCacheKey !== null) notes.drop("prompt_cache_key");
  if (request.verbosity !== null) notes.drop("verbosity");
  if (request.store !== null) notes.drop("store");
  if (request.metadata !== null) notes.drop("metadata");
}

/** How closely a picture is to be looked at; left to the model is what Claude does anyway. */
function hasDetail(message: IrMessage): boolean {
  return message.blocks.some((block) =>
    block.type === "tool_result" ? block.content.some(asksForDetail) : asksForDetail(block),
  );
}

function asksForDetail(block: IrMessage["blocks"][number]): boolean {
  return block.type === "image" && block.detail !== undefined && block.detail !== "auto";
}
