import { tableOf } from "../../../base/collections/table.ts";
import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { nothingReported, type ReportedExtras, type ReportedUsage } from "../../../base/usage/usage.ts";
import { firstObjectOf, listOf, objectOf, objectsOf, stringOf } from "../../json/json-fields.ts";
import { countOf, reportedTogether, serviceTier } from "../../usage/extra-usage.ts";
import { inclusiveUsage, isTokenCount, mergeReported, type UsageReader } from "../../usage/reported-usage.ts";

/** Thoughts are billed as output and counted separately. Counts of 0 are dropped. */
export function readUsage(usage: Json | undefined): ReportedUsage | null {
  if (!isObject(usage)) return null;
  return inclusiveUsage(
    inputOf(usage),
    outputOf(usage),
    usage["cachedContentTokenCount"],
    undefined,
    usage["thoughtsTokenCount"],
  );
}

/** The results of Google's own tools are input too, unless they are paid for by the query. */
function inputOf(usage: JsonObject): Json | undefined {
  const { promptTokenCount: prompt, toolUsePromptTokenCount: tools } = usage;
  const isBilled = isTokenCount(prompt) && isTokenCount(tools) && usage[searchMark] !== true;
  return isBilled ? prompt + tools : prompt;
}

/** Whether the usage reports output; some chunks of Vertex do not. */
export function reportsOutput(usage: Json | undefined): boolean {
  if (!isObject(usage)) return false;
  return (
    isTokenCount(usage["candidatesTokenCount"]) ||
    isTokenCount(usage["totalTokenCount"]) ||
    isTokenCount(usage["thoughtsTokenCount"])
  );
}

function outputOf(usage: JsonObject): Json | undefined {
  if (!reportsOutput(usage)) return usage["candidatesTokenCount"];
  const { promptTokenCount: prompt, candidatesTokenCount: candidates, totalTokenCount: total } = usage;
  const thoughts = countOr0(usage["thoughtsTokenCount"]);
  const tools = countOr0(usage["toolUsePromptTokenCount"]);
  if (candidates === undefined || candidates === null) {
    const rest = isTokenCount(total) && isTokenCount(prompt) ? total - prompt - tools : thoughts;
    return Math.max(rest, thoughts);
  }
  if (!isTokenCount(candidates)) return candidates;
  // Some models count the thoughts as candidates too; only the total shows it.
  const isInclusive = isTokenCount(prompt) && total === prompt + candidates + tools;
  return isInclusive ? Math.max(candidates, thoughts) : candidates + thoughts;
}

function countOr0(value: Json | undefined): number {
  return isTokenCount(value) ? value : 0;
}

/** Kept among the merged figures; no name of Google's. */
const searchMark = "(searched)";

/** Every chunk of a stream repeats the usage so far; some have only a part of it. */
export function mergeUsage(merged: JsonObject, chunk: JsonObject): void {
  if (mergeReported(merged, chunk["usageMetadata"]) && hasSearched(chunk)) merged[searchMark] = true;
}

function hasSearched(chunk: JsonObject): boolean {
  const grounding = objectOf(firstObjectOf(chunk["candidates"])?.["groundingMetadata"]);
  return listOf(grounding?.["webSearchQueries"]).length > 0;
}

/** By OpenAI's names; null if the provider does not report it. Vertex reports the kind of traffic instead. */
export function tierOf(usage: JsonObject): string | null {
  const tier =
    stringOf(usage["serviceTier"])?.toLowerCase() ?? trafficTiers[stringOf(usage["trafficType"]) ?? ""];
  return tier === "standard" ? "default" : (tier ?? null);
}

const trafficTiers = tableOf<string>({
  ON_DEMAND: "default",
  ON_DEMAND_PRIORITY: "priority",
  ON_DEMAND_FLEX: "flex",
});

export const usageReader: UsageReader = {
  usageIn: ({ usageMetadata }) => readUsage(usageMetadata),
  readExtras: ({ usageMetadata }) => {
    const usage = objectOf(usageMetadata) ?? {};
    return reportedTogether(serviceTier(tierOf(usage)), audioIn(usage));
  },
};

/** The parts of the input and the output that are audio. */
export function audioIn(usage: JsonObject): ReportedExtras {
  const audioInputTokens = audioAmong(usage["promptTokensDetails"]);
  const audioOutputTokens = audioAmong(usage["candidatesTokensDetails"]);
  const isNothing = audioInputTokens + audioOutputTokens === 0;
  return isNothing ? nothingReported : { audioInputTokens, audioOutputTokens };
}

function audioAmong(details: Json | undefined): number {
  const audio = objectsOf(details).filter(({ modality }) => modality === "AUDIO");
  return audio.reduce((sum, { tokenCount }) => sum + countOf(tokenCount), 0);
}
