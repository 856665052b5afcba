import { isObject, type JsonObject } from "../../base/json.ts";
import type { ModelUse } from "../../base/models/model-uses.ts";
import { isFreeUse } from "../../config/models.ts";
import {
  definedPrices,
  EntryReader,
  type ImportedModel,
  type ImportedPrices,
  positiveInteger,
  statedCapability,
  usdPerMillion,
} from "./imported.ts";
import { withImageVariants } from "./litellm-images.ts";
import { meteredPrice, useOfMode } from "./litellm-metered.ts";
import { litellmRates, litellmTiers } from "./litellm-rates.ts";
import { perThousand, requestFees } from "./request-fee.ts";

/** LiteLLM's `model_prices_and_context_window.json`: one object by model name, prices in USD per token. */
export function readLiteLlmPrices(document: JsonObject): ImportedPrices {
  const entries = new EntryReader();
  for (const [name, entry] of Object.entries(document)) {
    if (name === "sample_spec" || !isObject(entry)) continue;
    entries.add(namesOf(name, entry), () => modelOf(name, entry));
  }
  const { models, leftOut, invalid } = entries;
  return { source: "LiteLLM", models: withImageVariants(models), leftOut, invalid };
}

function modelOf(name: string, entry: JsonObject): ImportedModel | string {
  const mode = typeof entry["mode"] === "string" ? entry["mode"] : "chat";
  const serves = writesText(entry) ? "generation" : useOfMode(mode);
  if (serves !== "generation") return meteredModelOf(name, entry, serves) ?? mode.replaceAll("_", " ");
  const rates = litellmRates(entry);
  if (rates === null) return "without a price per token";
  if (hasDearerReasoning(entry)) return "with reasoning at a rate of its own";
  // Perplexity's deep research bills them at a rate of their own.
  if (entry["citation_cost_per_token"] !== undefined) return "billed by citations";
  const names = namesOf(name, entry);
  const fees = requestFees(names.vendor, entry);
  return {
    ...names,
    ...endOf(entry),
    contextWindow: positiveInteger(entry["max_input_tokens"]) ?? positiveInteger(entry["max_tokens"]),
    maxOutputTokens: positiveInteger(entry["max_output_tokens"]) ?? positiveInteger(entry["max_tokens"]),
    price: {
      ...rates,
      ...definedPrices({
        [searchName(names, entry)]:
          fees.requests === undefined ? searchPrice(entry["search_context_cost_per_query"]) : null,
        file_search: usdPerMillion(entry["file_search_cost_per_1k_calls"], false),
        code_interpreter: perThousand(entry["code_interpreter_cost_per_session"]),
      }),
      ...fees,
      ...litellmTiers(entry),
    },
    capabilities: {
      tools: entry["supports_function_calling"] === true,
      vision: entry["supports_vision"] === true,
      reasoning: entry["supports_reasoning"] === true,
      ...statedCapability("structured_output", entry["supports_response_schema"]),
    },
  };
}

/** Gemini's image models write text, too, and take the requests of any model that generates. */
function writesText({ mode, supported_output_modalities: output, output_cost_per_token: text }: JsonObject) {
  return mode === "image_generation" && Array.isArray(output) && output.includes("text") && Number(text) > 0;
}

/** There is no price for that. */
function hasDearerReasoning(entry: JsonObject): boolean {
  const stages = Array.isArray(entry["tiered_pricing"]) ? entry["tiered_pricing"].filter(isObject) : [];
  return [entry, ...stages].some(
    ({ output_cost_per_reasoning_token: reasoning, output_cost_per_token: text }) =>
      typeof reasoning === "number" && reasoning !== text,
  );
}

/** Google bills a grounded prompt once for some models, and each search for others. */
function searchName({ vendor, id }: Pick<ImportedModel, "vendor" | "id">, entry: JsonObject) {
  const isGoogles = /^(?:gemini|vertex_ai)/.test(vendor) && id.replace(/^.*\//, "").startsWith("gemini-");
  return isGoogles && entry["web_search_billing_unit"] !== "per_query" ? "web_search_prompts" : "web_search";
}

/** LiteLLM selects a provider by the prefix of `gemini/gemini-3-pro`; the provider calls it gemini-3-pro. */
function namesOf(name: string, entry: JsonObject): Pick<ImportedModel, "id" | "vendor" | "displayName"> {
  const vendor = typeof entry["litellm_provider"] === "string" ? entry["litellm_provider"] : "unknown";
  const id = name.startsWith(`${vendor}/`) ? name.slice(vendor.length + 1) : name;
  return { id, vendor, displayName: null };
}

/** A model that is not an LLM; null if no route serves it, or the file has no price for it. */
function meteredModelOf(name: string, entry: JsonObject, serves: ModelUse | null): ImportedModel | null {
  if (serves === null) return null;
  const names = namesOf(name, entry);
  const price = isFreeUse(serves) ? {} : meteredPrice(names.id, serves, entry);
  if (price === null) return null;
  return {
    ...names,
    ...endOf(entry),
    contextWindow: positiveInteger(entry["max_input_tokens"]) ?? positiveInteger(entry["max_tokens"]),
    maxOutputTokens: serves === "completions" ? positiveInteger(entry["max_output_tokens"]) : null,
    serves,
    price,
    capabilities: {},
  };
}

function endOf({ deprecation_date: day }: JsonObject): Pick<ImportedModel, "ends"> {
  return typeof day === "string" && /^\d{4}-\d\d-\d\d$/.test(day) ? { ends: day } : {};
}

/** The price depends on the context size of the search. The highest is safe. */
function searchPrice(bySize: unknown): number | null {
  if (!isObject(bySize)) return null;
  const prices = Object.values(bySize)
    .map(perThousand)
    .filter((usd) => usd !== null);
  return prices.length === 0 ? null : Math.max(...prices);
}
