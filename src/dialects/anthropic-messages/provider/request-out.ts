import type { JsonObject } from "../../../base/json.ts";
import { type DroppedFields, takenStops } from "../../contract/field-decisions.ts";
import type { Target } from "../../contract/provider-dialect.ts";
import { requestsImageDetail } from "../../ir/image-detail.ts";
import type { IrRequest, IrTool } from "../../ir/ir.ts";
import { hashedIfLong } from "../../openai/request-fields.ts";
import { limitMarks } from "../../target/mark-cache.ts";
import { mayDisableThinking, modelName, takesOutputFormat } from "../../target/model-traits.ts";
import { jsonOnly } from "../../target/prompt-text.ts";
import { functionSchema } from "../../tools/schema.ts";
import { searchName, searchOf } from "../../tools/web-search.ts";
import { withCache, writeContent } from "./content-out.ts";
import { writeMessages } from "./messages-out.ts";
import { addOutputConfig, isForced, isThinking, takenSampling, writeThinking } from "./thinking-out.ts";

/** The dialect requires a limit; used if neither the client nor the catalog has one. */
const fallbackMaxTokens = 4096;
const maxIdentityLength = 256;

/** Fields are assigned one by one: most requests have few, and every spread would allocate another object. */
export function writeRequest(request: IrRequest, target: Target, dropped: DroppedFields): JsonObject {
  const max = target.maxOutputTokens ?? Number.POSITIVE_INFINITY;
  const maxTokens = Math.min(request.maxOutputTokens ?? target.maxOutputTokens ?? fallbackMaxTokens, max);
  const { thinking, effort } = writeThinking(request, target, maxTokens, dropped);
  const messages = writeMessages(request, target, dropped);
  const system = writeSystem(request);
  // Anthropic requires a user message, so a request with instructions only sends them as one.
  const conversation = messages.length > 0 ? messages : [{ role: "user", content: system.splice(0) }];
  const tools = [
    ...request.tools.flatMap((tool) => writeTool(tool, target, dropped)),
    ...writeSearch(request, target, dropped),
  ];
  limitMarks([...tools, ...system, ...conversation], "cache_control");
  dropUnsupported(request, dropped);
  const body: JsonObject = { model: target.upstreamModel, max_tokens: maxTokens };
  if (system.length > 0) body["system"] = system;
  body["messages"] = conversation;
  if (tools.length > 0) {
    body["tools"] = tools;
    addChoice(body, request, target, dropped);
  }
  if (thinking !== undefined) body["thinking"] = thinking;
  addOutputConfig(body, request, effort);
  const sampling = takenSampling(request, target, isThinking(thinking), dropped);
  if (sampling.temperature !== null) body["temperature"] = sampling.temperature;
  if (sampling.topP !== null) body["top_p"] = sampling.topP;
  if (sampling.topK !== null) body["top_k"] = sampling.topK;
  const stops = takenStops(request, dropped);
  if (stops.length > 0) body["stop_sequences"] = stops;
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

function writeTool(tool: IrTool, target: Target, dropped: DroppedFields): JsonObject[] {
  if (tool.type !== "function") return [];
  const strict = tool.strict === true && takesOutputFormat(target);
  if (tool.strict === true && !strict) dropped.addNamed("strict");
  const written: JsonObject = {
    name: tool.name,
    ...(tool.description === null ? {} : { description: tool.description }),
    input_schema: functionSchema(tool.schema),
    ...(strict ? { strict } : {}),
  };
  return [withCache(written, tool.cache)];
}

/** The oldest version of the tool, which every model has. It takes either list of domains, but not both. */
function writeSearch(request: IrRequest, target: Target, dropped: DroppedFields): JsonObject[] {
  const search = searchOf(request);
  if (search === null || target.webSearches === undefined) return [];
  const { allowedDomains, blockedDomains, location } = search;
  const isLimited = allowedDomains.length > 0;
  if (isLimited && blockedDomains.length > 0) dropped.addNamed("blockedDomains");
  return [
    {
      type: "web_search_20250305",
      name: searchName,
      max_uses: target.webSearches,
      ...(isLimited ? { allowed_domains: [...allowedDomains] } : {}),
      ...(!isLimited && blockedDomains.length > 0 ? { blocked_domains: [...blockedDomains] } : {}),
      ...(location === null ? {} : { user_location: location }),
    },
  ];
}

function addChoice(body: JsonObject, request: IrRequest, target: Target, dropped: DroppedFields): void {
  const single = request.parallelToolCalls === false ? { disable_parallel_tool_use: true } : {};
  const choice = request.toolChoice;
  // Models that always think cannot be forced to call a tool.
  if (isForced(request) && !mayDisableThinking(modelName(target))) {
    dropped.addNamed("toolChoice");
    body["tool_choice"] = { type: "auto", ...single };
  } else if (choice?.type === "none") body["tool_choice"] = { type: "none" };
  else if (choice?.type === "hosted") body["tool_choice"] = { type: "tool", name: searchName, ...single };
  else if (choice?.type === "tool") body["tool_choice"] = { type: "tool", name: choice.name, ...single };
  else if (choice?.type === "required") body["tool_choice"] = { type: "any", ...single };
  else if (choice !== null || request.parallelToolCalls === false) {
    body["tool_choice"] = { type: "auto", ...single };
  }
}

function addIdentity(body: JsonObject, request: IrRequest): void {
  const person = request.identity.safetyIdentifier ?? request.identity.user;
  if (person === null || person === "") return;
  body["metadata"] = { user_id: person.length > maxIdentityLength ? hashedIfLong(person) : person };
}

function addTier(body: JsonObject, request: IrRequest, dropped: DroppedFields): void {
  if (request.serviceTier === "auto") body["service_tier"] = "auto";
  else if (request.serviceTier === "default") body["service_tier"] = "standard_only";
  else if (request.serviceTier !== null) dropped.addNamed("serviceTier");
}

/** Drops fields that Claude does not support, in Messages and in Converse. */
export function dropUnsupported(request: IrRequest, dropped: DroppedFields): void {
  if (request.format?.type === "json_schema" && request.format.description !== null) {
    dropped.addNamed("formatDescription");
  }
  if (requestsImageDetail(request)) dropped.addNamed("imageDetail");
  if (request.identity.promptCacheKey !== null) dropped.addNamed("promptCacheKey");
  if (request.verbosity !== null) dropped.addNamed("verbosity");
  if (request.store !== null) dropped.addNamed("store");
  if (request.metadata !== null) dropped.addNamed("metadata");
}
