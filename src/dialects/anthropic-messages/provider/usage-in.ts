import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { type HostedToolName, hostedToolNames } from "../../../base/usage/hosted-tools.ts";
import { noUsage, type ReportedExtras, type ReportedUsage, unreported } from "../../../base/usage/usage.ts";
import { objectOf, objectsOf, stringOf } from "../../json/json-fields.ts";
import { CallCounter, countOf, reportedTogether, tiersIn } from "../../usage/extra-usage.ts";
import {
  addReported,
  detailsOf,
  isTokenCount,
  reportUsage,
  type UsageReader,
  UsageSide,
} from "../../usage/reported-usage.ts";

/**
 * `usage` of a message, or of `message_start` and `message_delta` in a stream: the fields that are read here, none of
 * which is guaranteed. Unlike OpenAI's, the input count does not include cached tokens.
 * https://docs.anthropic.com/en/api/messages#response-usage
 */
interface MessagesUsage {
  /** Input that was neither read from the cache nor written to it. */
  readonly input_tokens?: Json | undefined;
  /** Input that was read from the cache. */
  readonly cache_read_input_tokens?: Json | undefined;
  /** Input that was written to the cache, however long it stays there. */
  readonly cache_creation_input_tokens?: Json | undefined;
  /** Cache writes broken down by time to live: `CacheCreation`. */
  readonly cache_creation?: Json | undefined;
  /** All output, thinking included. In a stream, a running total. */
  readonly output_tokens?: Json | undefined;
  /** Parts of the output: `OutputTokensDetails`. */
  readonly output_tokens_details?: Json | undefined;
  /** The model's runs, if there was more than one: see `readRound`. */
  readonly iterations?: Json | undefined;
  /** Calls of tools that Anthropic runs, by name: `{ web_search_requests: 2 }`. */
  readonly server_tool_use?: Json | undefined;
}

interface CacheCreation {
  /** Written for five minutes. */
  readonly ephemeral_5m_input_tokens?: Json | undefined;
  /** Written for an hour, which costs more. */
  readonly ephemeral_1h_input_tokens?: Json | undefined;
}

interface OutputTokensDetails {
  /** Thinking, which is billed as output. */
  readonly thinking_tokens?: Json | undefined;
}

export function readUsage(reported: Json | undefined): ReportedUsage | null {
  if (!isObject(reported)) return null;
  const usage: MessagesUsage = reported;
  const answer = readFigures(usage);
  const rounds = objectsOf(usage.iterations).filter(({ type }) => !inAnswer.has(type));
  if (rounds.length === 0) return answer;
  const read = rounds.map(readRound);
  return { ...read.reduce((sum, round) => addReported(sum, round.usage), answer ?? noUsage), rounds: read };
}

/** Iterations that the response's own usage already includes. All others are billed in addition. */
const inAnswer: ReadonlySet<Json | undefined> = new Set(["message", "fallback_message"]);

/** Compaction runs the requested model, an advisor runs another one. */
function readRound(iteration: JsonObject) {
  const model = iteration["type"] === "compaction" ? null : stringOf(iteration["model"]);
  return { model, usage: readFigures(iteration) ?? unreported };
}

function readFigures(usage: MessagesUsage): ReportedUsage | null {
  const { input_tokens: input, output_tokens: output } = usage;
  if (!isTokenCount(input) && !isTokenCount(output)) return null;
  const inputSide = new UsageSide();
  const inputTokens = inputSide.figure(input);
  const cachedInputTokens = inputSide.detail(usage.cache_read_input_tokens);
  const byAge: CacheCreation = detailsOf(usage.cache_creation);
  const shortTokens = inputSide.detail(byAge.ephemeral_5m_input_tokens);
  const reportedHour = inputSide.detail(byAge.ephemeral_1h_input_tokens);
  const cacheWriteTokens =
    usage.cache_creation_input_tokens == null
      ? shortTokens + reportedHour
      : inputSide.detail(usage.cache_creation_input_tokens);
  // At the end of a stream with server tools the total covers all rounds, but the breakdown only the first.
  const areAllForAnHour = byAge.ephemeral_5m_input_tokens === 0 && reportedHour > 0;
  const hourTokens = areAllForAnHour ? Math.max(cacheWriteTokens, reportedHour) : reportedHour;
  const hour = hourTokens === 0 ? {} : { cacheWriteHourTokens: hourTokens };
  const details: OutputTokensDetails = detailsOf(usage.output_tokens_details);
  return reportUsage(
    { inputTokens, cachedInputTokens, cacheWriteTokens, ...hour },
    inputSide,
    output,
    details.thinking_tokens,
  );
}

function readExtras(answer: JsonObject): ReportedExtras {
  const calls = new CallCounter();
  for (const block of objectsOf(answer["content"])) countBlock(block, calls);
  return extrasOf(objectOf(answer["usage"]) ?? {}, calls);
}

export const usageReader: UsageReader = { usageIn: ({ usage }) => readUsage(usage), readExtras };

/** Some tools are counted in the usage, some appear only as blocks, some in both: the larger count is used. */
export function extrasOf(reported: JsonObject, counted: CallCounter): ReportedExtras {
  const { server_tool_use: toolUse }: MessagesUsage = reported;
  const calls = objectOf(toolUse);
  if (calls !== null) {
    for (const name of hostedToolNames) counted.atLeast(name, countOf(calls[`${name}_requests`]));
  }
  return reportedTogether(tiersIn(reported), counted.report());
}

/** Counts a content block if it is a call of a hosted tool. */
export function countBlock(block: JsonObject, calls: CallCounter): void {
  if (block["type"] === "mcp_tool_use") calls.add("mcp");
  if (block["type"] !== "server_tool_use") return;
  const tool = stringOf(block["name"]) ?? "";
  const name = toolsOfBlocks.find(([family]) => family.test(tool))?.[1];
  if (name !== undefined) calls.add(name);
}

const toolsOfBlocks: readonly (readonly [RegExp, HostedToolName])[] = [
  [/^web_search$/, "web_search"],
  [/^web_fetch$/, "web_fetch"],
  [/code_execution$/, "code_execution"],
  [/^tool_search/, "tool_search"],
];

/** The length of the reasoning in a block or a delta that only Anthropic can read: hidden altogether, or in its signature. */
export function encryptedChars(block: Json | undefined): number {
  if (!isObject(block)) return 0;
  const { type, signature, data } = block;
  const hidden = type === "redacted_thinking" ? (stringOf(data)?.length ?? 0) : 0;
  return hidden + (stringOf(signature)?.length ?? 0);
}
