import type { DialectName } from "../base/dialect.ts";
import { isObject, type Json, type JsonObject } from "../base/json.ts";
import type { ReportedUsage, Usage } from "../base/usage.ts";

/** No call comes near this; a provider that reports more has reported nonsense. */
const maxTokens = 1_000_000_000;

/**
 * A provider's own figures, with nothing counted twice; null when it reported neither input nor output. An
 * explicit 0 is a figure; what is missing, negative, fractional or no number is not, and makes its side doubtful.
 * OpenAI's input includes what came from a cache, Anthropic's does not.
 */
export function readUsage(dialect: DialectName, usage: Json | undefined): ReportedUsage | null {
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

function readChat(usage: JsonObject): ReportedUsage | null {
  const details = objectOf(usage["prompt_tokens_details"]);
  const reasoning = objectOf(usage["completion_tokens_details"])["reasoning_tokens"];
  return inclusive(
    usage["prompt_tokens"],
    reasoningIsApart(usage, reasoning)
      ? Number(usage["completion_tokens"]) + Number(reasoning)
      : usage["completion_tokens"],
    // DeepSeek reports its cache beside the details that everybody else has.
    details["cached_tokens"] ?? usage["prompt_cache_hit_tokens"],
    details["cache_write_tokens"],
    reasoning,
  );
}

/** xAI's `completion_tokens` leave out the reasoning that it bills as output; only the total shows it. */
function reasoningIsApart(usage: JsonObject, reasoning: Json | undefined): boolean {
  const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = usage;
  if (!isCount(input) || !isCount(output) || !isCount(reasoning) || reasoning === 0) return false;
  return total === input + output + reasoning;
}

function readResponses(usage: JsonObject): ReportedUsage | null {
  const details = objectOf(usage["input_tokens_details"]);
  return inclusive(
    usage["input_tokens"],
    usage["output_tokens"],
    details["cached_tokens"],
    details["cache_write_tokens"],
    objectOf(usage["output_tokens_details"])["reasoning_tokens"],
  );
}

/** Where the input includes what came from and went to a cache. */
function inclusive(
  input: Json | undefined,
  output: Json | undefined,
  cached: Json | undefined,
  written: Json | undefined,
  reasoning: Json | undefined,
): ReportedUsage | null {
  if (!isCount(input) && !isCount(output)) return null;
  const inputSide = new Side();
  const all = inputSide.figure(input);
  const cachedInputTokens = inputSide.part(cached, all);
  // What is written to a cache may have been read from it before, and is counted once.
  const cacheWriteTokens = Math.min(inputSide.part(written, all), all - cachedInputTokens);
  const inputTokens = all - cachedInputTokens - cacheWriteTokens;
  return reported({ inputTokens, cachedInputTokens, cacheWriteTokens }, inputSide, output, reasoning);
}

function readMessages(usage: JsonObject): ReportedUsage | null {
  const { input_tokens: input, output_tokens: output } = usage;
  if (!isCount(input) && !isCount(output)) return null;
  const inputSide = new Side();
  const inputTokens = inputSide.figure(input);
  const cachedInputTokens = inputSide.detail(usage["cache_read_input_tokens"]);
  const byAge = objectOf(usage["cache_creation"]);
  const cacheWriteTokens =
    usage["cache_creation_input_tokens"] == null
      ? inputSide.detail(byAge["ephemeral_5m_input_tokens"]) +
        inputSide.detail(byAge["ephemeral_1h_input_tokens"])
      : inputSide.detail(usage["cache_creation_input_tokens"]);
  const reasoning = objectOf(usage["output_tokens_details"])["thinking_tokens"];
  return reported({ inputTokens, cachedInputTokens, cacheWriteTokens }, inputSide, output, reasoning);
}

function reported(
  input: Pick<Usage, "inputTokens" | "cachedInputTokens" | "cacheWriteTokens">,
  inputSide: Side,
  output: Json | undefined,
  reasoning: Json | undefined,
): ReportedUsage {
  const outputSide = new Side();
  const outputTokens = outputSide.figure(output);
  const reasoningTokens = outputSide.part(reasoning, outputTokens);
  const usage = { ...input, outputTokens, reasoningTokens };
  if (!inputSide.isDoubtful && !outputSide.isDoubtful) return usage;
  return {
    ...usage,
    ...(inputSide.isDoubtful ? { isInputDoubtful: true } : {}),
    ...(outputSide.isDoubtful ? { isOutputDoubtful: true } : {}),
  };
}

/** Reads the figures of one side, input or output, and remembers whether one of them is no count. */
class Side {
  isDoubtful = false;

  figure(value: Json | undefined): number {
    if (isCount(value)) return value;
    this.isDoubtful = true;
    return 0;
  }

  /** A detail that is part of a whole, and so no larger. */
  part(value: Json | undefined, whole: number): number {
    const part = this.detail(value);
    if (part <= whole) return part;
    this.isDoubtful = true;
    return 0;
  }

  /** Most providers leave some details out: that is a 0, and not a doubt. */
  detail(value: Json | undefined): number {
    return value == null ? 0 : this.figure(value);
  }
}

function isCount(value: Json | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value <= maxTokens;
}

const nothing: JsonObject = {};

function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : nothing;
}
