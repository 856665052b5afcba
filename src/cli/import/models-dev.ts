import { isObject, type JsonObject } from "../../base/json.ts";
import { longContextOf as bandsInOrder } from "../../base/money/token-price.ts";
import type { TokenRatesConfig } from "../../config/schema/price.ts";
import type { PriceConfig } from "../../config/schema.ts";
import {
  definedPrices,
  EntryReader,
  type ImportedModel,
  type ImportedPrices,
  positiveInteger,
  statedCapability,
  tokenRates,
  usdPerMillion,
} from "./imported.ts";
import { useByName } from "./use-by-name.ts";

/** models.dev's `api.json`: providers by id, each with its models by id, prices in USD per million tokens. */
export function readModelsDev(document: JsonObject): ImportedPrices {
  const entries = new EntryReader();
  for (const [vendor, provider] of Object.entries(document)) {
    if (!isObject(provider) || !isObject(provider["models"])) continue;
    for (const [id, entry] of Object.entries(provider["models"])) {
      if (!isObject(entry)) continue;
      entries.add({ id, vendor }, () => modelOf(vendor, id, entry));
    }
  }
  const { models, leftOut, invalid } = entries;
  return { source: "models.dev", models, leftOut, invalid };
}

function modelOf(vendor: string, id: string, entry: JsonObject): ImportedModel | string {
  if (!modalities(entry, "output").includes("text")) return "without text output";
  const use = useByName(id);
  // The file only has token prices, and lists the output of embedding models as text.
  if (use !== "generation" && use !== "embeddings") return use;
  const cost = isObject(entry["cost"]) ? entry["cost"] : {};
  const limit = isObject(entry["limit"]) ? entry["limit"] : {};
  const rates = ratesOf(cost);
  if (rates === null) return "without a price per token";
  return {
    id,
    vendor,
    displayName: typeof entry["name"] === "string" ? entry["name"] : null,
    contextWindow: positiveInteger(limit["context"]),
    ...(use === "embeddings"
      ? { maxOutputTokens: null, serves: use, price: { input: rates.input }, capabilities: {} }
      : generating(rates, cost, limit, entry)),
  };
}

function generating(rates: TokenRatesConfig, cost: JsonObject, limit: JsonObject, entry: JsonObject) {
  return {
    maxOutputTokens: positiveInteger(limit["output"]),
    price: {
      ...rates,
      ...longContextOf(cost),
      ...definedPrices({
        audio_input: usdPerMillion(cost["input_audio"], false),
        audio_output: usdPerMillion(cost["output_audio"], false),
      }),
    },
    capabilities: {
      tools: entry["tool_call"] === true,
      vision: modalities(entry, "input").includes("image"),
      reasoning: entry["reasoning"] === true,
      ...statedCapability("structured_output", entry["structured_output"]),
    },
  };
}

function modalities(entry: JsonObject, side: "input" | "output"): readonly unknown[] {
  const all = isObject(entry["modalities"]) ? entry["modalities"][side] : undefined;
  return Array.isArray(all) ? all : ["text"];
}

function ratesOf(cost: JsonObject): TokenRatesConfig | null {
  const perMillion = (name: string) => usdPerMillion(cost[name], false);
  return tokenRates({
    input: perMillion("input"),
    output: perMillion("output"),
    cached_input: perMillion("cache_read"),
    cache_write: perMillion("cache_write"),
  });
}

/** Newer dumps have `tiers`, older ones `context_over_200k`. */
function longContextOf(cost: JsonObject): Pick<PriceConfig, "long_context"> {
  const tiers = (Array.isArray(cost["tiers"]) ? cost["tiers"] : []).filter(isObject).flatMap((tier) => {
    const above = isObject(tier["tier"]) ? positiveInteger(tier["tier"]["size"]) : null;
    const rates = ratesOf(tier);
    return above === null || rates === null ? [] : [{ above, ...rates }];
  });
  const older = isObject(cost["context_over_200k"]) ? ratesOf(cost["context_over_200k"]) : null;
  const bands = tiers.length > 0 || older === null ? tiers : [{ above: 200_000, ...older }];
  return bandsInOrder(bands.sort((one, other) => one.above - other.above));
}
