import type { JsonObject } from "../../../base/json.ts";
import { noUsage, totalInput, totalTokens, type Usage } from "../../../base/usage.ts";
import type { ClientCall } from "../../client-dialect.ts";
import { objectOf } from "../../json/json-fields.ts";

/** The fields of a response that change during a stream. */
export interface Progress {
  readonly status: "in_progress" | "completed" | "incomplete" | "failed";
  readonly incomplete: string | null;
  readonly error: JsonObject | null;
  readonly usage: Usage | null;
  readonly serviceTier: string | null;
}

/**
 * All fields that the official SDKs' types require, so that a strict reader accepts the response. `output` is added by
 * the caller, because a stream has its items as text already.
 */
export function responseHead(id: string, createdAtSeconds: number, progress: Progress): JsonObject {
  return {
    id,
    object: "response",
    created_at: createdAtSeconds,
    status: progress.status,
    error: progress.error,
    incomplete_details: progress.incomplete === null ? null : { reason: progress.incomplete },
    usage: usageOf(progress),
    service_tier: progress.serviceTier ?? "default",
  };
}

/** A finished response always has usage, because clients read it without a check. */
function usageOf({ status, usage }: Progress): JsonObject | null {
  if (status === "in_progress" || (status === "failed" && usage === null)) return null;
  return writeUsage(usage ?? noUsage);
}

/** The fields of the request that a response repeats. They do not change during a stream. */
export function requestEcho({ source }: ClientCall): JsonObject {
  const { body } = source;
  const reasoning = objectOf(body["reasoning"]) ?? {};
  return {
    model: source.model,
    background: false,
    completed_at: null,
    instructions: body["instructions"] ?? null,
    max_output_tokens: body["max_output_tokens"] ?? null,
    max_tool_calls: body["max_tool_calls"] ?? null,
    metadata: body["metadata"] ?? {},
    parallel_tool_calls: body["parallel_tool_calls"] ?? true,
    previous_response_id: null,
    prompt_cache_key: body["prompt_cache_key"] ?? null,
    reasoning: { effort: reasoning["effort"] ?? null, summary: reasoning["summary"] ?? null },
    safety_identifier: body["safety_identifier"] ?? null,
    store: false,
    temperature: body["temperature"] ?? 1,
    text: { format: { type: "text" }, ...objectOf(body["text"]) },
    tool_choice: body["tool_choice"] ?? "auto",
    tools: body["tools"] ?? [],
    top_logprobs: 0,
    top_p: body["top_p"] ?? 1,
    truncation: "disabled",
    ...(body["user"] === undefined ? {} : { user: body["user"] }),
  };
}

/** The details are always complete, because Codex and the AI SDK fail on partial ones. */
function writeUsage(usage: Usage): JsonObject {
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
