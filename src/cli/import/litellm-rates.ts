import type { JsonObject } from "../../base/json.ts";
import type { TokenRatesConfig } from "../../config/schema/price.ts";
import type { PriceConfig } from "../../config/schema.ts";
import { definedPrices, tokenRates, usdPerMillion } from "./imported.ts";

/** LiteLLM's prices per token, as in its price file and in `model_info` of its configuration; null without any. */
export function litellmRates(entry: JsonObject): PriceConfig | null {
  const rates = ratesOf(entry, "");
  if (rates === null) return null;
  const cache_write_1h = usdPerMillion(entry["cache_creation_input_token_cost_above_1hr"], true);
  return { ...rates, ...definedPrices({ cache_write_1h }), ...longContextOf(entry) };
}

/** `input_cost_per_token_above_200k_tokens` and the like. Of several limits the lowest is used. */
function longContextOf(entry: JsonObject): Pick<PriceConfig, "long_context"> {
  const limits = Object.keys(entry).flatMap((name) => {
    const thousands = /^input_cost_per_token_above_(\d+)k_tokens$/.exec(name)?.[1];
    return thousands === undefined ? [] : [Number(thousands)];
  });
  if (limits.length === 0) return {};
  const lowest = Math.min(...limits);
  const rates = ratesOf(entry, `_above_${lowest}k_tokens`);
  return rates === null ? {} : { long_context: { above: lowest * 1000, ...rates } };
}

function ratesOf(entry: JsonObject, suffix: string): TokenRatesConfig | null {
  const perToken = (name: string) => usdPerMillion(entry[`${name}${suffix}`], true);
  return tokenRates({
    input: perToken("input_cost_per_token"),
    // Some entries raise only the price of the input.
    output: perToken("output_cost_per_token") ?? usdPerMillion(entry["output_cost_per_token"], true),
    cached_input: perToken("cache_read_input_token_cost"),
    cache_write: perToken("cache_creation_input_token_cost"),
  });
}
