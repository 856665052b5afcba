import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { noUsage, totalInput, totalTokens, type Usage } from "../../../base/usage/usage.ts";
import type { Source, WriterContext } from "../../contract/client-dialect.ts";
import { booleanOf, listOf, numberOf, objectOf } from "../../json/json-fields.ts";
import { continuedFields } from "./turn-items.ts";

/** The fields of a response that change during a stream. */
export interface ResponseProgress {
  readonly status: "queued" | "in_progress" | "completed" | "incomplete" | "failed";
  /** Only if it is completed. */
  readonly completedAtSeconds?: number | null;
  /** The reason, if the response is incomplete. */
  readonly incomplete?: string | null;
  readonly error?: JsonObject;
  readonly usage?: Usage | null;
  readonly serviceTier?: string | null;
}

/**
 * Every field that OpenAI's SDKs and the Open Responses schema require, so that a strict reader accepts the response.
 * `output` is added by the caller, because a stream has its items as text already.
 */
export function responseHead(id: string, createdAtSeconds: number, progress: ResponseProgress): JsonObject {
  const { completedAtSeconds = null, incomplete = null, error = null } = progress;
  return {
    id,
    object: "response",
    created_at: createdAtSeconds,
    completed_at: completedAtSeconds,
    status: progress.status,
    error,
    incomplete_details: incomplete === null ? null : { reason: incomplete },
    usage: usageOf(progress),
    service_tier: progress.serviceTier ?? "default",
  };
}

/** Never before the response was created, even if the clock is set back. */
export function completedAt({ source, clock }: Pick<WriterContext, "source" | "clock">): number {
  return Math.max(source.nowSeconds, Math.floor(clock.wallMs() / 1000));
}

/** A finished response always has usage, because clients read it without a check. */
function usageOf({ status, usage = null }: ResponseProgress): JsonObject | null {
  if (status === "queued" || status === "in_progress" || (status === "failed" && usage === null)) return null;
  return writeUsage(usage ?? noUsage);
}

/** The fields of the request that a response repeats, with their defaults. They do not change during a stream. */
export function requestEcho(body: JsonObject, model: string, kept?: Source["kept"]): JsonObject {
  const reasoning = objectOf(body["reasoning"]) ?? {};
  return {
    model,
    access_programs: null,
    background: false,
    frequency_penalty: numberOf(body["frequency_penalty"]) ?? 0,
    instructions: body["instructions"] ?? null,
    max_output_tokens: body["max_output_tokens"] ?? null,
    max_tool_calls: body["max_tool_calls"] ?? null,
    metadata: body["metadata"] ?? {},
    parallel_tool_calls: booleanOf(body["parallel_tool_calls"]) ?? true,
    presence_penalty: numberOf(body["presence_penalty"]) ?? 0,
    ...continuedFields(kept?.parentId ?? null),
    prompt_cache_key: body["prompt_cache_key"] ?? null,
    reasoning: { effort: reasoning["effort"] ?? null, summary: reasoning["summary"] ?? null },
    safety_identifier: body["safety_identifier"] ?? null,
    store: kept?.isStored ?? false,
    temperature: numberOf(body["temperature"]) ?? 1,
    text: echoText(objectOf(body["text"]) ?? {}),
    tool_choice: echoToolChoice(body["tool_choice"] ?? "auto"),
    tools: listOf(body["tools"]).map(echoTool),
    top_logprobs: 0,
    top_p: numberOf(body["top_p"]) ?? 1,
    truncation: "disabled",
    user: body["user"] ?? null,
  };
}

/** A function may be sent without these fields, but a response has them. Tools of other types do not. */
function echoTool(tool: Json): Json {
  if (!isObject(tool) || tool["type"] !== "function") return tool;
  return { ...tool, ...withDefaults(tool, { description: null, parameters: null, strict: false }) };
}

function echoToolChoice(choice: Json): Json {
  if (!isObject(choice) || choice["type"] !== "allowed_tools") return choice;
  return { ...choice, ...withDefaults(choice, { mode: "auto" }) };
}

function echoText({ format, verbosity, ...others }: JsonObject): JsonObject {
  const shown = { format: isObject(format) ? echoFormat(format) : { type: "text" }, ...others };
  return verbosity == null ? shown : { ...shown, verbosity };
}

function echoFormat(format: JsonObject): JsonObject {
  if (format["type"] !== "json_schema") return format;
  return { ...format, ...withDefaults(format, { description: null, strict: false }) };
}

/** Adds the defaults of fields that an object lacks or has as null. */
function withDefaults(object: JsonObject, defaults: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => [name, object[name] ?? value ?? null]),
  );
}

/** The details are always complete, because Codex and the AI SDK fail on partial ones. */
export function writeUsage(usage: Usage): JsonObject {
  return {
    input_tokens: totalInput(usage),
    input_tokens_details: {
      cached_tokens: usage.cachedInputTokens,
      cache_write_tokens: usage.cacheWriteTokens,
    },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: totalTokens(usage),
  };
}
