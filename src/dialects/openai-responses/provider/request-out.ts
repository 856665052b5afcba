import type { JsonObject } from "../../../base/json.ts";
import type { DroppedFields } from "../../contract/field-decisions.ts";
import type { Target } from "../../contract/provider-dialect.ts";
import type {
  Effort,
  IrFormat,
  IrReasoningSettings,
  IrRequest,
  IrTool,
  IrToolChoice,
  ToolRef,
} from "../../ir/ir.ts";
import type { IrWebSearch } from "../../ir/web-search.ts";
import { writeSchema } from "../../openai/format.ts";
import { limitBreakpoints, openAiIdentity, openAiSampling } from "../../openai/request-fields.ts";
import { effortOf, openAiEffort } from "../../reasoning/effort.ts";
import { dropCacheMarks } from "../../target/mark-cache.ts";
import { declared, reasons, takesCacheBreakpoints } from "../../target/model-traits.ts";
import { functionSchema } from "../../tools/schema.ts";
import { searchName, searchOf } from "../../tools/web-search.ts";
import { developerItem, writeInput } from "./input-out.ts";

/** OpenAI returns 400 for a lower limit, so lower limits are raised. */
const minOutputTokens = 16;

export function writeRequest(request: IrRequest, target: Target, dropped: DroppedFields): JsonObject {
  if (request.stop.length > 0) dropped.addNamed("stop");
  const conversation = writeConversation(request, target, dropped);
  if (takesCacheBreakpoints(target)) limitBreakpoints(conversation.input, request, dropped);
  else dropCacheMarks(request, dropped);
  const effort = request.reasoning === null ? null : openAiEffort(request.reasoning, target);
  const body: JsonObject = {
    model: target.upstreamModel,
    ...conversation,
    ...writeToolSettings(request, target, dropped),
    ...writeReasoning(request.reasoning, effort, target, dropped),
    ...writeText(request),
    ...openAiSampling(request, effort, target, dropped),
    ...openAiIdentity(request.identity, target),
    // OpenAI stores responses by default; the client has to ask for it here.
    store: request.store ?? false,
  };
  const maxOutputTokens = writeMaxOutputTokens(request, target);
  if (maxOutputTokens !== null) body["max_output_tokens"] = maxOutputTokens;
  if (request.serviceTier !== null) body["service_tier"] = request.serviceTier;
  if (request.metadata !== null) body["metadata"] = request.metadata;
  if (request.stream) body["stream"] = true;
  return body;
}

interface Conversation {
  readonly instructions?: string;
  readonly input: JsonObject[];
}

/**
 * One block becomes `instructions`; several become the parts of a developer message, to keep their boundaries. So does
 * one with a cache mark, which `instructions` cannot have.
 */
function writeConversation(request: IrRequest, target: Target, dropped: DroppedFields): Conversation {
  const { system, messages } = request;
  const input = writeInput(messages, target, dropped);
  const [only, ...others] = system;
  if (only === undefined) return { input };
  const isMarked = only.cache !== undefined && takesCacheBreakpoints(target);
  if (others.length === 0 && input.length > 0 && !isMarked) return { instructions: only.text, input };
  return { input: [developerItem(system, target), ...input] };
}

function writeToolSettings(request: IrRequest, target: Target, dropped: DroppedFields): JsonObject {
  if (request.tools.length === 0) return {};
  const { tools, toolChoice, parallelToolCalls } = request;
  const search = searchOf(request);
  return {
    tools: [...writeTools(tools), ...(search === null ? [] : [writeSearch(search, dropped)])],
    // One bound for all tools that the provider runs.
    ...(search === null || target.webSearches === undefined ? {} : { max_tool_calls: target.webSearches }),
    ...(toolChoice === null ? {} : { tool_choice: writeToolChoice(toolChoice, tools) }),
    ...(parallelToolCalls === null ? {} : { parallel_tool_calls: parallelToolCalls }),
  };
}

/** Encrypted reasoning is requested, so that the client can replay it although nothing is stored. */
function writeReasoning(
  settings: IrReasoningSettings | null,
  effort: Effort | null,
  target: Target,
  dropped: DroppedFields,
): JsonObject {
  if (settings === null) return {};
  const isOff = effort === "none" && declared(target, "effort_none") === true;
  if (!reasons(target) && !isOff) {
    if (effort !== "none") dropped.addNamed("effort");
    return {};
  }
  if (effort === null && effortOf(settings) === "none") dropped.addNamed("effort");
  const summary = settings.summary ?? (isToBeSeen(settings) ? "auto" : null);
  const reasoning: JsonObject = {
    ...(effort === null ? {} : { effort }),
    ...(summary === null || effort === "none" ? {} : { summary }),
  };
  return {
    ...(Object.keys(reasoning).length === 0 ? {} : { reasoning }),
    ...(effort === "none" ? {} : { include: ["reasoning.encrypted_content"] }),
  };
}

/** By default, Anthropic shows thinking that is enabled with a budget. */
function isToBeSeen({ visible, thinking }: IrReasoningSettings): boolean {
  return visible ?? thinking === "enabled";
}

function writeText({ format, verbosity }: IrRequest): JsonObject {
  if (format === null && verbosity === null) return {};
  return {
    text: {
      ...(format === null ? {} : { format: writeFormat(format) }),
      ...(verbosity === null ? {} : { verbosity }),
    },
  };
}

function writeFormat(format: IrFormat): JsonObject {
  return format.type === "json_object"
    ? { type: "json_object" }
    : { type: "json_schema", ...writeSchema(format) };
}

function writeMaxOutputTokens({ maxOutputTokens }: IrRequest, target: Target): number | null {
  if (maxOutputTokens === null) return null;
  const capped = Math.min(maxOutputTokens, target.maxOutputTokens ?? maxOutputTokens);
  return target.isStrict ? Math.max(capped, minOutputTokens) : capped;
}

function writeSearch(search: IrWebSearch, dropped: DroppedFields): JsonObject {
  const { allowedDomains, blockedDomains, location } = search;
  if (blockedDomains.length > 0) dropped.addNamed("blockedDomains");
  return {
    type: searchName,
    ...(allowedDomains.length > 0 ? { filters: { allowed_domains: [...allowedDomains] } } : {}),
    ...(location === null ? {} : { user_location: location }),
  };
}

/** Takes adapted tools: names without namespaces, and no hosted tool but a search, which is written by itself. */
function writeTools(tools: readonly IrTool[]): JsonObject[] {
  return tools.flatMap(writeTool);
}

function writeTool(tool: IrTool): JsonObject[] {
  switch (tool.type) {
    case "function":
      return [
        {
          type: "function",
          name: tool.name,
          ...describe(tool),
          parameters: functionSchema(tool.schema),
          // The default is true in Responses, and false in the client's dialect.
          strict: tool.strict ?? false,
        },
      ];
    case "custom":
      return [
        {
          type: "custom",
          name: tool.name,
          ...describe(tool),
          ...(tool.format === null ? {} : { format: tool.format }),
        },
      ];
    case "hosted":
      return [];
  }
}

function describe({ description }: { readonly description: string | null }): JsonObject {
  return description === null ? {} : { description };
}

function writeToolChoice(choice: IrToolChoice, tools: readonly IrTool[]): string | JsonObject {
  switch (choice.type) {
    case "tool":
      return writeRef(choice, tools);
    case "allowed":
      return {
        type: "allowed_tools",
        mode: choice.mode,
        tools: choice.tools.map((ref) => writeRef(ref, tools)),
      };
    case "hosted":
      return { type: searchName };
    default:
      return choice.type;
  }
}

function writeRef(ref: ToolRef, tools: readonly IrTool[]): JsonObject {
  const custom = tools.some((tool) => tool.type === "custom" && tool.name === ref.name);
  return { type: custom ? "custom" : "function", name: ref.name };
}
