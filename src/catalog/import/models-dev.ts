import { isObject, type JsonObject } from "../../base/json.ts";
import {
  type ImportedModel,
  type ImportedPrices,
  knownExtras,
  positiveInteger,
  statedCapability,
  usdPerMillion,
} from "./imported.ts";

/** models.dev's `api.json`: providers by id, each with its models by id, prices in USD per million tokens. */
export function readModelsDev(document: JsonObject): ImportedPrices {
  const models: ImportedModel[] = [];
  const leftOut: Record<string, number> = {};
  for (const [vendor, provider] of Object.entries(document)) {
    if (!isObject(provider) || !isObject(provider["models"])) continue;
    for (const [id, entry] of Object.entries(provider["models"])) {
      if (!isObject(entry)) continue;
      const model = modelOf(vendor, id, entry);
      if (typeof model === "string") leftOut[model] = (leftOut[model] ?? 0) + 1;
      else models.push(model);
    }
  }
  return { source: "models.dev", models, leftOut };
}

function modelOf(vendor: string, id: string, entry: JsonObject): ImportedModel | string {
  if (!writesText(entry)) return "without text output";
  const cost = isObject(entry["cost"]) ? entry["cost"] : {};
  const limit = isObject(entry["limit"]) ? entry["limit"] : {};
  const input = usdPerMillion(cost["input"], false);
  const output = usdPerMillion(cost["output"], false);
  if (input === null || output === null) return "without a price per token";
  return {
    id,
    vendor,
    displayName: typeof entry["name"] === "string" ? entry["name"] : null,
    contextWindow: positiveInteger(limit["context"]),
    maxOutputTokens: positiveInteger(limit["output"]),
    price: {
      input,
      output,
      cachedInput: usdPerMillion(cost["cache_read"], false),
      cacheWrite: usdPerMillion(cost["cache_write"], false),
      ...knownExtras({
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
    remark: longInputRemark(cost),
  };
}

function modalities(entry: JsonObject, side: "input" | "output"): readonly unknown[] {
  const all = isObject(entry["modalities"]) ? entry["modalities"][side] : undefined;
  return Array.isArray(all) ? all : ["text"];
}

function writesText(entry: JsonObject): boolean {
  return modalities(entry, "output").includes("text");
}

/** Newer dumps have `tiers`, older ones `context_over_200k`. */
function longInputRemark(cost: JsonObject): string | null {
  const [tier] = Array.isArray(cost["tiers"]) ? cost["tiers"] : [];
  if (isObject(tier) && isObject(tier["tier"])) {
    return `inputs above ${Number(tier["tier"]["size"])} tokens cost more: ${Number(tier["input"])} USD per million`;
  }
  const over = cost["context_over_200k"];
  return isObject(over)
    ? `inputs above 200000 tokens cost more: ${Number(over["input"])} USD per million`
    : null;
}
