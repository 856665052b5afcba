import type { ReportedExtras } from "../../../base/extra-usage.ts";
import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import type { ReportedUsage } from "../../../base/usage.ts";
import { objectOf } from "../../json/json-fields.ts";
import { audioOf, countOf, tierOf } from "../../usage/extra-usage.ts";
import { detailsOf, inclusiveUsage, isTokenCount } from "../../usage/usage-figures.ts";

export function readUsage(usage: Json | undefined): ReportedUsage | null {
  if (!isObject(usage)) return null;
  const details = detailsOf(usage["prompt_tokens_details"]);
  const reasoning = detailsOf(usage["completion_tokens_details"])["reasoning_tokens"];
  return inclusiveUsage(
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
  if (!isTokenCount(input) || !isTokenCount(output) || !isTokenCount(reasoning) || reasoning === 0)
    return false;
  return total === input + output + reasoning;
}

/** A chunk with usage says as much as a whole answer. */
export function readExtras(answer: JsonObject): ReportedExtras {
  const usage = objectOf(answer["usage"]);
  const searches = countOf(usage?.["num_sources_used"]) || countOf(usage?.["num_search_queries"]);
  return {
    ...tierOf(answer["service_tier"]),
    ...(searches === 0 ? {} : { calls: { web_search: searches } }),
    ...audioOf(usage?.["prompt_tokens_details"], usage?.["completion_tokens_details"]),
  };
}
