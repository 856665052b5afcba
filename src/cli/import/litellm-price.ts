import type { JsonObject } from "../../base/json.ts";
import type { ModelUse } from "../../base/models/model-uses.ts";
import { KnownModels } from "../../config/catalog/known-model.ts";
import type { PriceConfig } from "../../config/schema.ts";
import { ifAmounts } from "./imported.ts";
import { meteredPrice } from "./litellm-metered.ts";
import { withoutZone } from "./litellm-model-info.ts";
import { litellmRates } from "./litellm-rates.ts";
import type { ConvertedProvider } from "./litellm-toml.ts";
import type { PriceList } from "./price-list.ts";

/** A deployment, as far as it decides its price. */
interface PricedDeployment {
  /** LiteLLM's name of the provider: `azure`. */
  readonly prefix: string;
  /** LiteLLM's name of the model: `azure/our-gpt`. */
  readonly upstream: string;
  readonly upstreamModel: string;
  /** The model behind the operator's own name; null if the file does not tell. */
  readonly base: string | null;
  readonly use: ModelUse;
  readonly provider: ConvertedProvider;
  /** The part of the file that can state prices. */
  readonly costs: JsonObject;
}

interface Limits {
  readonly contextWindow: number | null;
  readonly maxOutputTokens: number | null;
  readonly capabilities: Readonly<Record<string, boolean>>;
}

export interface FoundPrice {
  readonly price: PriceConfig | null;
  /** `file`: the configuration itself; `list`: the price list passed with it; null without a price. */
  readonly source: "file" | "list" | "catalog" | "family" | null;
  /** The origin of the price, if it might not be this deployment's price. */
  readonly note: string | null;
  readonly limits: Limits;
}

/** The file's own price comes first, then the price list passed with it, then the built-in catalog. */
export function priceFor(deployment: PricedDeployment, prices: PriceList | undefined): FoundPrice {
  const { prefix, upstream, upstreamModel, base, use, costs } = deployment;
  const stated = ifAmounts(() =>
    use === "generation" ? litellmRates(costs) : meteredPrice(upstreamModel, use, costs),
  );
  const names = [upstream, upstreamModel, ...(base === null ? [] : [withoutZone(base)])];
  const found = prices?.find(prefix, names) ?? null;
  const listed = (found?.model.serves ?? "generation") === use ? found : null;
  const limits = listed?.model ?? unknownLimits;
  if (stated !== null) return { price: stated, source: "file", note: null, limits };
  if (listed !== null && !listed.isOtherVendors)
    return { price: listed.model.price, source: "list", note: null, limits };
  return (
    catalogPrice(deployment, limits) ??
    (listed === null
      ? { price: null, source: null, note: null, limits }
      : {
          price: listed.model.price,
          source: "list",
          note: `the price of ${listed.model.id} at ${listed.model.vendor}`,
          limits,
        })
  );
}

const unknownLimits: Limits = { contextWindow: null, maxOutputTokens: null, capabilities: {} };

function catalogPrice(
  { upstreamModel, base, use, provider: { catalog, settings } }: PricedDeployment,
  limits: Limits,
): FoundPrice | null {
  if (catalog === null) return null;
  const name = base ?? upstreamModel;
  const known = new KnownModels(catalog, settings["location"] ?? settings["region"] ?? null).find(name);
  if (known === null || (known.model.serves?.[0] ?? "generation") !== use) return null;
  const { id, price, upstream_model = id } = known.model;
  return {
    price,
    source: known.by === "id" ? "catalog" : "family",
    note: known.by === "id" ? null : `the list price of ${upstream_model}`,
    limits,
  };
}
