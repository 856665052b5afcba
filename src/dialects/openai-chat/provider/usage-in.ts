import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { nothingReported, type ReportedExtras } from "../../../base/usage/extra-usage.ts";
import type { ReportedUsage } from "../../../base/usage/usage.ts";
import { firstObjectOf, listOf, objectOf, objectsOf } from "../../json/json-fields.ts";
import { audioOf, countOf, reportedTogether, tiersIn } from "../../usage/extra-usage.ts";
import {
  type AnswerFigures,
  addReported,
  detailsOf,
  inclusiveUsage,
  isTokenCount,
} from "../../usage/usage-figures.ts";

function readUsage(usage: Json | undefined): ReportedUsage | null {
  if (!isObject(usage)) return null;
  const details = detailsOf(usage["prompt_tokens_details"]);
  const input = usage["prompt_tokens"];
  const cached = details["cached_tokens"] || (cachedBesideDetails(usage) ?? details["cached_tokens"]);
  const reasoning = detailsOf(usage["completion_tokens_details"])["reasoning_tokens"];
  return inclusiveUsage(
    cacheIsApart(usage, cached) ? Number(input) + Number(cached) : input,
    reasoningIsApart(usage, reasoning)
      ? Number(usage["completion_tokens"]) + Number(reasoning)
      : usage["completion_tokens"],
    cached,
    details["cache_write_tokens"],
    reasoning,
  );
}

/** Moonshot, DeepSeek and Mistral report their caches beside the details that everybody else has, or that they fill with 0. */
function cachedBesideDetails(usage: JsonObject): Json | undefined {
  return usage["cached_tokens"] ?? usage["prompt_cache_hit_tokens"] ?? usage["num_cached_tokens"];
}

/** xAI's `prompt_tokens` may leave out what was read from its cache. Elsewhere such figures make no sense. */
function cacheIsApart(usage: JsonObject, cached: Json | undefined): boolean {
  const { prompt_tokens: input, num_sources_used: sources } = usage;
  return sources !== undefined && isTokenCount(input) && isTokenCount(cached) && cached > input;
}

/** Figures that choices have of their own (Moonshot), by the choice's index, or its place. */
export type ChoiceFigures = Map<Json | undefined, ReportedUsage>;

/**
 * The usage of an answer, or of a stream up to a chunk: `streamed` are the figures of its chunks so far, to which those of this one are
 * added. Null if this one reports none.
 * The choices of an answer are told by their place, because some servers give all of them the same index, or none.
 */
export function usageIn(chunk: JsonObject, streamed?: ChoiceFigures): ReportedUsage | null {
  if (chunk["usage"] != null) return readUsage(chunk["usage"]);
  const choices: ChoiceFigures = streamed ?? new Map();
  let isReported = false;
  for (const [place, { index, usage }] of objectsOf(chunk["choices"]).entries()) {
    const figures = readUsage(usage);
    if (figures === null) continue;
    choices.set(streamed === undefined ? place : (index ?? place), figures);
    isReported = true;
  }
  return isReported ? [...choices.values()].reduce(withChoice) : readUsage(usageOf(chunk));
}

/** Each has the whole input, and the output that it has written itself. */
function withChoice(others: ReportedUsage, choice: ReportedUsage): ReportedUsage {
  const { inputTokens, cachedInputTokens, cacheWriteTokens } = choice;
  return { ...addReported(others, choice), inputTokens, cachedInputTokens, cacheWriteTokens };
}

/** Whether `usageIn` has anything to read. Nearly all chunks of a stream report nothing. */
export function reportsUsage(chunk: JsonObject): boolean {
  const { usage, x_groq: groq, choices } = chunk;
  if (isObject(usage) || (isObject(groq) && isObject(groq["usage"]))) return true;
  return listOf(choices).some((choice) => isObject(choice) && isObject(choice["usage"]));
}

/** The usage object of an answer or a chunk: its own, that of its first choice, or Groq's. */
function usageOf(chunk: JsonObject): Json | undefined {
  return chunk["usage"] ?? firstObjectOf(chunk["choices"])?.["usage"] ?? objectOf(chunk["x_groq"])?.["usage"];
}

/** xAI's `completion_tokens` leave out the reasoning that it bills as output; only the total shows it. */
function reasoningIsApart(usage: JsonObject, reasoning: Json | undefined): boolean {
  const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = usage;
  if (!isTokenCount(input) || !isTokenCount(output) || !isTokenCount(reasoning) || reasoning === 0)
    return false;
  return total === input + output + reasoning;
}

/** A chunk with usage says as much as a whole answer. */
export function readExtras(answer: JsonObject): ReportedExtras {
  const usage = objectOf(usageOf(answer));
  const searches = countOf(usage?.["num_sources_used"]) || countOf(usage?.["num_search_queries"]);
  return reportedTogether(
    tiersIn(answer, usage),
    searches === 0 ? nothingReported : { calls: { web_search: searches } },
    audioOf(usage?.["prompt_tokens_details"], usage?.["completion_tokens_details"]),
  );
}

export const figures: AnswerFigures = { usageIn: (answer) => usageIn(answer), readExtras };
