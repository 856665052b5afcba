import type { DialectName } from "../base/dialect.ts";
import { isObject, type Json, type JsonObject } from "../base/json.ts";
import type { Usage } from "../base/usage.ts";

/** No call comes near this; a provider that reports more has reported nonsense. */
const maxTokens = 1_000_000_000;

/**
 * A provider's own figures, with nothing counted twice; null when it gave none that can be believed. An
 * explicit 0 is a figure. OpenAI's input includes what came from a cache, Anthropic's does not.
 */
export function readUsage(dialect: DialectName, usage: Json | undefined): Usage | null {
  if (!isObject(usage)) return null;
  switch (dialect) {
    case "chat":
      return readChat(usage);
    case "responses":
      return readResponses(usage);
    case "messages":
      return readMessages(usage);
  }
}

/** Messages reports usage at the start and again at the end: later figures replace earlier ones, never add. */
export function mergeUsage(earlier: Json | undefined, later: Json | undefined): JsonObject {
  const merged: JsonObject = isObject(earlier) ? { ...earlier } : {};
  if (!isObject(later)) return merged;
  for (const [name, value] of Object.entries(later)) {
    if (value !== null && value !== undefined) merged[name] = value;
  }
  return merged;
}

function readChat(usage: JsonObject): Usage | null {
  const details = objectOf(usage["prompt_tokens_details"]);
  return inclusive(
    tokens(usage["prompt_tokens"]),
    tokens(usage["completion_tokens"]),
    // DeepSeek tells its cache beside the details that everybody else has.
    tokens(details["cached_tokens"]) ?? tokens(usage["prompt_cache_hit_tokens"]),
    tokens(details["cache_write_tokens"]),
    tokens(objectOf(usage["completion_tokens_details"])["reasoning_tokens"]),
  );
}

function readResponses(usage: JsonObject): Usage | null {
  const details = objectOf(usage["input_tokens_details"]);
  return inclusive(
    tokens(usage["input_tokens"]),
    tokens(usage["output_tokens"]),
    tokens(details["cached_tokens"]),
    tokens(details["cache_write_tokens"]),
    tokens(objectOf(usage["output_tokens_details"])["reasoning_tokens"]),
  );
}

function inclusive(
  input: number | null,
  output: number | null,
  cached: number | null,
  written: number | null,
  reasoning: number | null,
): Usage | null {
  if (input === null && output === null) return null;
  const all = input ?? 0;
  const cachedInputTokens = Math.min(cached ?? 0, all);
  const cacheWriteTokens = Math.min(written ?? 0, all - cachedInputTokens);
  return {
    inputTokens: all - cachedInputTokens - cacheWriteTokens,
    cachedInputTokens,
    cacheWriteTokens,
    outputTokens: output ?? 0,
    reasoningTokens: Math.min(reasoning ?? 0, output ?? 0),
  };
}

function readMessages(usage: JsonObject): Usage | null {
  const input = tokens(usage["input_tokens"]);
  const output = tokens(usage["output_tokens"]);
  if (input === null && output === null) return null;
  const byAge = objectOf(usage["cache_creation"]);
  const writtenByAge =
    (tokens(byAge["ephemeral_5m_input_tokens"]) ?? 0) + (tokens(byAge["ephemeral_1h_input_tokens"]) ?? 0);
  return {
    inputTokens: input ?? 0,
    cachedInputTokens: tokens(usage["cache_read_input_tokens"]) ?? 0,
    cacheWriteTokens: tokens(usage["cache_creation_input_tokens"]) ?? writtenByAge,
    outputTokens: output ?? 0,
    reasoningTokens: Math.min(
      tokens(objectOf(usage["output_tokens_details"])["thinking_tokens"]) ?? 0,
      output ?? 0,
    ),
  };
}

/** Whole tokens; a fraction is rounded up, and what is no plausible count is as good as missing. */
function tokens(value: Json | undefined): number | null {
  if (typeof value !== "number" || !(value >= 0) || value > maxTokens) return null;
  return Math.ceil(value);
}

const nothing: JsonObject = {};

function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : nothing;
}
