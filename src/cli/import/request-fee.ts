import { isObject, type JsonObject } from "../../base/json.ts";
import type { PriceConfig } from "../../config/schema.ts";
import { type ImportedModel, usdPerMillion } from "./imported.ts";

/** Perplexity's own models search in each request, for a fee that models.dev does not have. Without it, half of the price is missing. */
export function lacksRequestFee({
  vendor,
  serves,
  price,
}: Pick<ImportedModel, "vendor" | "price"> & { readonly serves?: unknown }): boolean {
  return vendor === "perplexity" && serves === undefined && price.requests === undefined;
}

/** LiteLLM's price per search is Perplexity's fee per request, by the size of the search. */
export function requestFees(vendor: string, entry: JsonObject): Pick<PriceConfig, "requests"> {
  const flat = perThousand(entry["input_cost_per_request"]);
  if (flat !== null && flat > 0) return { requests: flat };
  const bySize = entry["search_context_cost_per_query"];
  if (vendor !== "perplexity" || !isObject(bySize)) return {};
  const [low, medium, high] = ["low", "medium", "high"].map((size) =>
    perThousand(bySize[`search_context_size_${size}`]),
  );
  if (low == null || medium == null || high == null) return {};
  return { requests: { low, medium, high } };
}

export function perThousand(usdPerCall: unknown): number | null {
  return typeof usdPerCall === "number" ? usdPerMillion(usdPerCall * 1000, false) : null;
}
