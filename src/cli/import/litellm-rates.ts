import { isObject, type JsonObject } from "../../base/json.ts";
import { longContextOf } from "../../base/money/token-price.ts";
import type { PriceConfig, TokenPriceConfig } from "../../config/schema.ts";
import { definedPrices, tokenRates, usdPerMillion } from "./imported.ts";

/** LiteLLM's prices per token, as in its price file and in `model_info` of its configuration; null without any. */
export function litellmRates(entry: JsonObject): TokenPriceConfig | null {
  const stages = Array.isArray(entry["tiered_pricing"]) ? entry["tiered_pricing"].filter(isObject) : [];
  return stages.length === 0 ? ratesOf(entry, "") : stagedRates(stages);
}

/** The file's names of service tiers, by their names here. */
const tierNames = { batch: "batches", flex: "flex", priority: "priority", ultrafast: "ultrafast" } as const;

/** The prices of service tiers. One without its own input and output is left out: no rate is taken from another. */
export function litellmTiers(entry: JsonObject): Pick<PriceConfig, "tiers"> {
  const tiers = Object.entries(tierNames).flatMap(([tier, name]) => {
    const isStated = entry[`output_cost_per_token_${name}`] != null;
    const rates = isStated ? ratesOf(entry, `_${name}`) : null;
    return rates === null ? [] : [[tier, rates] as const];
  });
  return tiers.length === 0 ? {} : { tiers: Object.fromEntries(tiers) };
}

/** The rates of a service tier, or the usual ones, with their bands for long inputs. */
function ratesOf(entry: JsonObject, tier: string): TokenPriceConfig | null {
  const rates = bandOf(entry, "", tier);
  if (rates === null) return null;
  const limits = Object.keys(entry).flatMap((name) => {
    const [, thousands, rest] = /^input_cost_per_token_above_(\d+)k_tokens(_[a-z]+)?$/.exec(name) ?? [];
    return thousands === undefined || (rest ?? "") !== tier ? [] : [Number(thousands)];
  });
  const bands = limits
    .sort((one, other) => one - other)
    .flatMap((thousands) => {
      const band = bandOf(entry, `_above_${thousands}k_tokens`, tier);
      return band === null ? [] : [{ above: thousands * 1000, ...band }];
    });
  return { ...rates, ...longContextOf(bands) };
}

function bandOf(entry: JsonObject, above: string, tier: string) {
  const perToken = (name: string) => usdPerMillion(entry[`${name}${above}${tier}`], true);
  const rates = tokenRates({
    input: perToken("input_cost_per_token"),
    // Some entries raise only the price of the input.
    output: perToken("output_cost_per_token") ?? usdPerMillion(entry[`output_cost_per_token${tier}`], true),
    cached_input: perToken("cache_read_input_token_cost"),
    cache_write: perToken("cache_creation_input_token_cost"),
  });
  if (rates === null) return null;
  const others = definedPrices({
    cache_write_1h: perToken("cache_creation_input_token_cost_above_1hr"),
    cache_write_24h: perToken("cache_creation_input_token_cost_above_12hr"),
    audio_input: perToken("input_cost_per_audio_token"),
    audio_output: perToken("output_cost_per_audio_token"),
    image_input: perToken("input_cost_per_image_token"),
    image_output: perToken("output_cost_per_image_token"),
    cached_audio_input: perToken("cache_read_input_audio_token_cost"),
    cached_image_input: perToken("cache_read_input_image_token_cost"),
  });
  return { ...rates, ...charged(others) };
}

/** Entries have zeros for sound and images that a model does not take. */
function charged(prices: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(prices).filter(([, usd]) => usd > 0));
}

/** `tiered_pricing`: rates for inputs in a range, the first from 0 on. */
function stagedRates(stages: readonly JsonObject[]): TokenPriceConfig | null {
  const bands = stages.flatMap((stage) => {
    const [above] = Array.isArray(stage["range"]) ? stage["range"] : [];
    const rates = bandOf(stage, "", "");
    return rates === null || typeof above !== "number" ? [] : [{ above, ...rates }];
  });
  const [first, ...rest] = bands;
  if (first === undefined || first.above !== 0 || bands.length < stages.length) return null;
  const { above: _, ...usual } = first;
  return { ...usual, ...longContextOf(rest) };
}
