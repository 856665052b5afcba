import type { JsonObject } from "../../base/json.ts";
import { noteCacheMarks } from "../cache-marks.ts";
import type { Target } from "../codec.ts";
import { effortFields, effortOf, openAiEffort } from "../effort.ts";
import { openAiIdentity, shortened } from "../identity.ts";
import type { Effort, IrFormat, IrRequest, IrTool, IrToolChoice } from "../ir.ts";
import { openAiTakesSampling, reasons, takesCacheControl } from "../models.ts";
import { type Notes, refuse } from "../notes.ts";
import { functionSchema } from "../tools/schema.ts";
import { writeMessages } from "./messages-out.ts";

const maxStops = 4;

export function writeRequest(request: IrRequest, target: Target, notes: Notes): JsonObject {
  if (!takesCacheControl(target)) noteCacheMarks(request, notes);
  return {
    model: target.upstreamModel,
    messages: writeMessages(request, target, notes),
    ...writeTools(request, target),
    ...writeLimits(request, target, notes),
    ...writeReasoning(request, target, notes),
    ...(request.format === null ? {} : { response_format: writeFormat(request.format) }),
    ...writeIdentity(request, target, notes),
    ...writeStream(request, target),
  };
}

function writeTools(request: IrRequest, target: Target): JsonObject {
  if (request.tools.length === 0) return {};
  const choice = request.toolChoice;
  return {
    tools: request.tools.flatMap((tool) => writeTool(tool, target)),
    ...(choice === null ? {} : { tool_choice: writeChoice(choice) }),
    ...(request.parallelToolCalls === null ? {} : { parallel_tool_calls: request.parallelToolCalls }),
  };
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
        ...(tool.strict === null ? {} : { strict: tool.strict }),
      },
      ...(keepsCache ? { cache_control: tool.cache } : {}),
    },
  ];
}

function writeChoice(choice: IrToolChoice): JsonObject | string {
  if (choice.type === "tool") return { type: "function", function: { name: choice.name } };
  return choice.type === "required" || choice.type === "none" ? choice.type : "auto";
}

function writeLimits(request: IrRequest, target: Target, notes: Notes): JsonObject {
  const limit = request.maxOutputTokens;
  const most = target.maxOutputTokens ?? Number.POSITIVE_INFINITY;
  if (request.stop.length > maxStops && target.kind === "openai") {
    refuse(
      notes.client === "messages" ? "stop_sequences" : "stop",
      `the model's provider takes at most ${maxStops}`,
    );
  }
  return {
    ...(limit === null ? {} : { [target.maxTokensField]: Math.min(limit, most) }),
    ...(request.stop.length === 0 ? {} : { stop: [...request.stop] }),
    ...writeSampling(request, target, notes),
  };
}

/** OpenAI's reasoning models refuse sampling, and nobody but Anthropic promises to take top_k. */
function writeSampling(request: IrRequest, target: Target, notes: Notes): JsonObject {
  const { temperature, topP, topK } = request.sampling;
  if (topK !== null) notes.drop("top_k");
  if (!openAiTakesSampling(target, effortFor(request, target))) {
    if (temperature !== null) notes.drop("temperature");
    if (topP !== null) notes.drop("top_p");
    return {};
  }
  return {
    ...(temperature === null ? {} : { temperature }),
    ...(topP === null ? {} : { top_p: topP }),
  };
}

function writeReasoning(request: IrRequest, target: Target, notes: Notes): JsonObject {
  const { reasoning } = request;
  const effort = effortFor(request, target);
  if (effort !== null) return { reasoning_effort: effort };
  if (reasoning !== null && !reasons(target) && effortOf(reasoning) !== "none")
    notes.drop(effortFields[notes.client]);
  return {};
}

/** A model without reasoning is asked for none: it would answer 400. */
function effortFor({ reasoning }: IrRequest, target: Target): Effort | null {
  return reasoning === null || !reasons(target) ? null : openAiEffort(reasoning, target);
}

function writeFormat(format: IrFormat): JsonObject {
  if (format.type === "json_object") return { type: "json_object" };
  return {
    type: "json_schema",
    json_schema: {
      name: format.name ?? "answer",
      ...(format.description === null ? {} : { description: format.description }),
      schema: format.schema,
      ...(format.strict === null ? {} : { strict: format.strict }),
    },
  };
}

/** OpenAI's own fields go to OpenAI only: other providers refuse what they do not know. */
function writeIdentity(request: IrRequest, target: Target, notes: Notes): JsonObject {
  const { user, safetyIdentifier, promptCacheKey } = request.identity;
  if (target.kind !== "openai") {
    const left = {
      prompt_cache_key: promptCacheKey,
      service_tier: request.serviceTier,
      verbosity: request.verbosity,
      store: request.store,
      metadata: request.metadata,
    };
    for (const [name, value] of Object.entries(left)) if (value !== null) notes.drop(name);
    const person = safetyIdentifier ?? user;
    return person === null ? {} : { user: shortened(person) };
  }
  return {
    ...openAiIdentity(request.identity, target),
    ...(request.serviceTier === null ? {} : { service_tier: request.serviceTier }),
    ...(request.verbosity === null ? {} : { verbosity: request.verbosity }),
    ...(request.store === null ? {} : { store: request.store }),
    ...(request.metadata === null ? {} : { metadata: request.metadata }),
  };
}

/** Usage is always asked for, whether or not the client wants to see it: it is what the call costs. */
function writeStream(request: IrRequest, target: Target): JsonObject {
  if (!request.stream) return { stream: false };
  return { stream: true, ...(target.streamUsage ? { stream_options: { include_usage: true } } : {}) };
}
