import type { JsonObject } from "../../../base/json.ts";
import { type DroppedFields, reject } from "../../contract/field-decisions.ts";
import type { Target } from "../../contract/provider-dialect.ts";
import { hasQuirk } from "../../contract/quirks.ts";
import type { Effort, IrFormat, IrRequest, IrTool, IrToolChoice } from "../../ir/ir.ts";
import { writeSchema } from "../../openai/format.ts";
import {
  hashedIfLong,
  limitBreakpoints,
  openAiIdentity,
  openAiSampling,
} from "../../openai/request-fields.ts";
import { effortOf, openAiEffort } from "../../reasoning/effort.ts";
import { dropCacheMarks } from "../../target/mark-cache.ts";
import { declared, reasons, takesCacheBreakpoints, takesCacheControl } from "../../target/model-traits.ts";
import { functionSchema } from "../../tools/schema.ts";
import { writeMessages } from "./messages-out.ts";

const maxStops = 4;

/** Fields are assigned one by one: most requests have few, and every spread would allocate another object. */
export function writeRequest(request: IrRequest, target: Target, dropped: DroppedFields): JsonObject {
  const messages = writeMessages(request, target, dropped);
  if (!takesCacheControl(target)) {
    if (takesCacheBreakpoints(target)) limitBreakpoints(messages, request, dropped);
    else dropCacheMarks(request, dropped);
  }
  const body: JsonObject = { model: target.upstreamModel, messages };
  if (request.tools.length > 0) addTools(body, request, target);
  addLimits(body, request, target, dropped);
  Object.assign(body, openAiSampling(request, effortFor(request, target), target, dropped));
  addReasoning(body, request, target, dropped);
  if (request.format !== null) body["response_format"] = writeFormat(request.format, target);
  if (target.isStrict) addIdentity(body, request, target);
  else addUser(body, request, target, dropped);
  addStream(body, request, target);
  return body;
}

function addTools(body: JsonObject, request: IrRequest, target: Target): void {
  body["tools"] = request.tools.flatMap((tool) => writeTool(tool, target));
  if (request.toolChoice !== null) body["tool_choice"] = writeChoice(request.toolChoice, target);
  if (request.parallelToolCalls !== null) body["parallel_tool_calls"] = request.parallelToolCalls;
}

function writeTool(tool: IrTool, target: Target): JsonObject[] {
  if (tool.type !== "function") return [];
  const keepsCache = tool.cache !== undefined && takesCacheControl(target);
  return [
    {
      type: "function",
      function: {
        name: tool.name,
        ...(tool.description === null ? {} : { description: tool.description }),
        parameters: functionSchema(tool.schema),
        ...(tool.strict === null || hasQuirk(target, "no_strict") ? {} : { strict: tool.strict }),
      },
      ...(keepsCache ? { cache_control: tool.cache } : {}),
    },
  ];
}

function writeChoice(choice: IrToolChoice, target: Target): JsonObject | string {
  if (choice.type === "tool") return { type: "function", function: { name: choice.name } };
  if (choice.type === "required" && hasQuirk(target, "choice_any")) return "any";
  return choice.type === "required" || choice.type === "none" ? choice.type : "auto";
}

function addLimits(body: JsonObject, request: IrRequest, target: Target, dropped: DroppedFields): void {
  const limit = request.maxOutputTokens;
  const max = target.maxOutputTokens ?? Number.POSITIVE_INFINITY;
  if (request.stop.length > maxStops && target.isStrict) {
    reject(dropped.names.stop, `can have at most ${maxStops} items for this model's provider`);
  }
  if (limit !== null) body[target.maxTokensField] = Math.min(limit, max);
  if (request.stop.length > 0) body["stop"] = [...request.stop];
}

function addReasoning(body: JsonObject, request: IrRequest, target: Target, dropped: DroppedFields): void {
  const { reasoning } = request;
  if (reasoning === null) return;
  if (hasQuirk(target, "thinking_switch")) {
    body["thinking"] = { type: effortOf(reasoning) === "none" ? "disabled" : "enabled" };
    return;
  }
  const effort = effortFor(request, target);
  if (effort !== null) body["reasoning_effort"] = effort;
  else if (effortOf(reasoning) === "none" ? mayReason(target) : !reasons(target)) {
    dropped.addNamed("effort");
  }
}

/** Null for a model without reasoning, which would return 400. A model that declares `none` always gets it. */
function effortFor({ reasoning }: IrRequest, target: Target): Effort | null {
  if (reasoning === null) return null;
  const isOff = effortOf(reasoning) === "none" && declared(target, "effort_none") === true;
  return isOff || reasons(target) ? openAiEffort(reasoning, target) : null;
}

/** A model at a compatible server can think although its name does not show it. */
function mayReason(target: Target): boolean {
  return reasons(target) || (!target.isStrict && declared(target, "reasoning") === null);
}

function writeFormat(format: IrFormat, target: Target): JsonObject {
  if (format.type === "json_object") return { type: "json_object" };
  return { type: "json_schema", json_schema: writeSchema(format, !hasQuirk(target, "no_strict")) };
}

/** Fields that only OpenAI takes. */
function addIdentity(body: JsonObject, request: IrRequest, target: Target): void {
  Object.assign(body, openAiIdentity(request.identity, target));
  if (request.serviceTier !== null) body["service_tier"] = request.serviceTier;
  if (request.verbosity !== null) body["verbosity"] = request.verbosity;
  if (request.store !== null) body["store"] = request.store;
  if (request.metadata !== null) body["metadata"] = request.metadata;
}

/** Other providers may reject OpenAI's own fields, so they are dropped. */
function addUser(body: JsonObject, request: IrRequest, target: Target, dropped: DroppedFields): void {
  const { user, safetyIdentifier, promptCacheKey } = request.identity;
  if (promptCacheKey !== null) dropped.addNamed("promptCacheKey");
  if (request.serviceTier !== null) dropped.addNamed("serviceTier");
  if (request.verbosity !== null) dropped.addNamed("verbosity");
  if (request.store !== null) dropped.addNamed("store");
  if (request.metadata !== null) dropped.addNamed("metadata");
  const person = safetyIdentifier ?? user;
  if (person === null) return;
  if (hasQuirk(target, "no_user")) dropped.addNamed("user");
  else body["user"] = hashedIfLong(person);
}

/** Usage is always requested, whether or not the client wants it, because the charge depends on it. */
function addStream(body: JsonObject, request: IrRequest, target: Target): void {
  body["stream"] = request.stream;
  if (request.stream && target.streamUsage) body["stream_options"] = { include_usage: true };
}
