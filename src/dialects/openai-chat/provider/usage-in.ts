import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { nothingReported, type ReportedExtras, type ReportedUsage } from "../../../base/usage/usage.ts";
import { firstObjectOf, listOf, objectOf, objectsOf } from "../../json/json-fields.ts";
import { countOf, dayWritesOf, mediaOf, reportedTogether, tiersIn } from "../../usage/extra-usage.ts";
import {
  addReported,
  detailsOf,
  inclusiveUsage,
  isTokenCount,
  type UsageReader,
} from "../../usage/reported-usage.ts";

/**
 * `usage` of a chat completion, or of the last chunk of a stream: the fields that are read here, none of which is
 * guaranteed. https://platform.openai.com/docs/api-reference/chat/object#chat-object-usage
 */
interface ChatUsage {
  /** All input, cached tokens included; without them at xAI (see `cacheIsApart`). */
  readonly prompt_tokens?: Json | undefined;
  /** All output, reasoning included; without it at xAI (see `reasoningIsApart`). */
  readonly completion_tokens?: Json | undefined;
  /** Input and output. Read only to determine which of them includes the parts. */
  readonly total_tokens?: Json | undefined;
  /** Parts of the input: `PromptTokensDetails`. */
  readonly prompt_tokens_details?: Json | undefined;
  /** Parts of the output: `CompletionTokensDetails`. */
  readonly completion_tokens_details?: Json | undefined;
  /** Moonshot: input read from the cache. */
  readonly cached_tokens?: Json | undefined;
  /** DeepSeek's field for cached input. */
  readonly prompt_cache_hit_tokens?: Json | undefined;
  /** Mistral: the same. */
  readonly num_cached_tokens?: Json | undefined;
  /** xAI: the sources that its web search has used, each of which is billed. */
  readonly num_sources_used?: Json | undefined;
  /** Perplexity: its web searches, each of which is billed. */
  readonly num_search_queries?: Json | undefined;
}

interface PromptTokensDetails {
  /** Read from the cache; some servers fill in 0 here and report it elsewhere. */
  readonly cached_tokens?: Json | undefined;
  /** OpenRouter: written to the cache. */
  readonly cache_write_tokens?: Json | undefined;
  /** Audio, which has a separate price. */
  readonly audio_tokens?: Json | undefined;
}

interface CompletionTokensDetails {
  /** Reasoning, which is billed as output. */
  readonly reasoning_tokens?: Json | undefined;
  /** Sound, which has a price of its own. */
  readonly audio_tokens?: Json | undefined;
}

function readUsage(reported: Json | undefined): ReportedUsage | null {
  if (!isObject(reported)) return null;
  const usage: ChatUsage = reported;
  const { prompt_tokens: input, completion_tokens: output } = usage;
  const promptDetails: PromptTokensDetails = detailsOf(usage.prompt_tokens_details);
  const completionDetails: CompletionTokensDetails = detailsOf(usage.completion_tokens_details);
  const cached = promptDetails.cached_tokens || (cachedBesideDetails(usage) ?? promptDetails.cached_tokens);
  const reasoning = completionDetails.reasoning_tokens;
  return inclusiveUsage(
    cacheIsApart(usage, cached) ? Number(input) + Number(cached) : input,
    reasoningIsApart(usage, reasoning) ? Number(output) + Number(reasoning) : output,
    cached,
    promptDetails.cache_write_tokens,
    reasoning,
  );
}

/** Moonshot, DeepSeek and Mistral report their caches next to the usual details, which they omit or fill with 0. */
function cachedBesideDetails(usage: ChatUsage): Json | undefined {
  return usage.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.num_cached_tokens;
}

/** xAI's `prompt_tokens` can exclude tokens read from its cache. Elsewhere such counts are invalid. */
function cacheIsApart(usage: ChatUsage, cached: Json | undefined): boolean {
  const { prompt_tokens: input, num_sources_used: sources } = usage;
  return sources !== undefined && isTokenCount(input) && isTokenCount(cached) && cached > input;
}

/** Figures that choices have of their own (Moonshot), by the choice's index, or its place. */
export type ChoiceUsages = Map<Json | undefined, ReportedUsage>;

/**
 * The usage of a response, or of a stream up to this chunk: `streamed` has the usage of the chunks so far, and this chunk's is
 * added to it. Null if this chunk reports none. The choices of a response are identified by position, because some servers give
 * all of them the same index, or none.
 */
export function usageIn(chunk: JsonObject, streamed?: ChoiceUsages): ReportedUsage | null {
  if (chunk["usage"] != null) return readUsage(chunk["usage"]);
  const choices: ChoiceUsages = streamed ?? new Map();
  let isReported = false;
  for (const [place, { index, usage }] of objectsOf(chunk["choices"]).entries()) {
    const reported = readUsage(usage);
    if (reported === null) continue;
    choices.set(streamed === undefined ? place : (index ?? place), reported);
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

/** The usage object of a response or a chunk: its own, its first choice's, or Groq's. */
function usageOf(chunk: JsonObject): Json | undefined {
  return chunk["usage"] ?? firstObjectOf(chunk["choices"])?.["usage"] ?? objectOf(chunk["x_groq"])?.["usage"];
}

/** xAI's `completion_tokens` leave out the reasoning that it bills as output; only the total shows it. */
function reasoningIsApart(usage: ChatUsage, reasoning: Json | undefined): boolean {
  const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = usage;
  if (!isTokenCount(input) || !isTokenCount(output) || !isTokenCount(reasoning) || reasoning === 0)
    return false;
  return total === input + output + reasoning;
}

/** A chunk with usage has the same fields as a non-streaming response. */
export function readExtras(answer: JsonObject): ReportedExtras {
  const reported = objectOf(usageOf(answer));
  const usage: ChatUsage = reported ?? {};
  const searches = countOf(usage.num_sources_used) || countOf(usage.num_search_queries);
  return reportedTogether(
    tiersIn(answer, reported),
    searches === 0 ? nothingReported : { calls: { web_search: searches } },
    mediaOf(usage.prompt_tokens_details, usage.completion_tokens_details),
    dayWritesOf(answer, usage.prompt_tokens_details),
  );
}

export const usageReader: UsageReader = { usageIn: (answer) => usageIn(answer), readExtras };

/** A chat stream includes usage only if its client requests it. */
export function wantsUsage(body: JsonObject): boolean {
  return objectOf(body["stream_options"])?.["include_usage"] === true;
}
