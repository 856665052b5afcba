import { tableOf } from "../../../base/collections/table.ts";
import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import type { ReportedExtras, ReportedUsage } from "../../../base/usage/usage.ts";
import { objectOf, objectsOf, stringOf, stringsOf } from "../../json/json-fields.ts";
import {
  CallCounter,
  type MediaTokens,
  mediaTokens,
  reportedTogether,
  serviceTier,
  tokensOf,
} from "../../usage/extra-usage.ts";
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
  mergeReported(merged, chunk["usageMetadata"]);
  if (searchesIn(chunk) > 0) merged[searchMark] = true;
}

/** The searches of Google that a response, or a chunk of it, was grounded with. Google does not bill empty ones. */
export function searchesIn(answer: JsonObject): number {
  return objectsOf(answer["candidates"]).reduce((sum, { groundingMetadata }) => {
    const queries = stringsOf(objectOf(groundingMetadata)?.["webSearchQueries"]);
    return sum + queries.filter((query) => query.trim() !== "").length;
  }, 0);
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
  usageIn: (answer) => {
    if (!isObject(answer["usageMetadata"])) return null;
    const usage: JsonObject = {};
    mergeUsage(usage, answer);
    return readUsage(usage);
  },
  readExtras: (answer) => {
    const usage = objectOf(answer["usageMetadata"]) ?? {};
    const calls = new CallCounter();
    calls.atLeast("web_search", searchesIn(answer));
    return reportedTogether(serviceTier(tierOf(usage)), extrasOf(usage, calls));
  },
};

/** The calls, and the parts of the tokens that have a price of their own. */
export function extrasOf(usage: JsonObject, calls: CallCounter): ReportedExtras {
  const media = mediaTokens(
    mediaAmong(usage["promptTokensDetails"]),
    mediaAmong(usage["cacheTokensDetails"]),
    mediaAmong(usage["candidatesTokensDetails"]),
  );
  return reportedTogether(media, calls.report());
}

function mediaAmong(details: Json | undefined): MediaTokens {
  const parts = objectsOf(details);
  const sumOf = (kind: string) =>
    parts.reduce((sum, { modality, tokenCount }) => sum + (modality === kind ? tokensOf(tokenCount) : 0), 0);
  return { audio: sumOf("AUDIO"), image: sumOf("IMAGE") };
}
