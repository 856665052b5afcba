import { callPriceNames } from "../../base/usage/hosted-tools.ts";
import { priceOn, withoutBatchPrice } from "../dated-prices.ts";
import type { ModelConfig, PriceConfig } from "../schema.ts";
import { multiplied } from "./expand.ts";
import { shippedCatalog } from "./shipped.ts";

/**
 * How a catalog knows a model: under this id, under the same id with another date or none, or by the seller's rule for
 * models of a different vendor or region.
 */
export type KnownBy = "id" | "dated id" | "family";

export interface KnownModel {
  /** The catalog's entry, with the price that holds for the id today. */
  readonly model: ModelConfig & { readonly price: PriceConfig };
  readonly by: KnownBy;
}

type PricedModel = KnownModel["model"];

/** The models of one catalog by the ids that its provider takes. */
export class KnownModels {
  readonly #catalog: string;
  /** The provider's location; null without that option. */
  readonly #location: string | null;
  readonly #byId = new Map<string, PricedModel>();
  readonly #byUndatedId = new Map<string, PricedModel[]>();

  constructor(catalog: string, location: string | null = null) {
    // What Vertex AI calls a location, Bedrock calls a region.
    this.#catalog = catalog;
    this.#location = location;
    for (const model of shippedCatalog(catalog, null, location) ?? []) {
      const id = model.upstream_model ?? model.id;
      const price = priceOn(model.price);
      if (price === undefined || this.#byId.has(id)) continue;
      const priced = { ...model, price: withoutBatchPrice(price) };
      this.#byId.set(id, priced);
      this.#byUndatedId.getOrInsertComputed(undated(id), () => []).push(priced);
    }
  }

  /** Null if the cost of the model is unknown. */
  find(id: string): KnownModel | null {
    const found = this.#find(id);
    const isRegional = this.#catalog === "vertex" && (this.#location ?? "global") !== "global";
    return found !== null && isRegional && id.startsWith("claude-")
      ? inFamily(found.model, regionalFactor)
      : found;
  }

  #find(id: string): KnownModel | null {
    const exact = this.#byId.get(id);
    if (exact !== undefined) return { model: exact, by: "id" };
    const relative = Object.hasOwn(families, this.#catalog) ? (families[this.#catalog]?.(id) ?? null) : null;
    if (relative === null) return this.#dated(id);
    const { factor = 1 } = relative;
    const relatives = relative.catalog === this.#catalog ? this : new KnownModels(relative.catalog);
    // A list that has the very id comes before another date of it.
    const same = relatives.#byId.get(relative.id);
    if (same !== undefined) return inFamily(same, factor);
    const dated = relatives.#dated(relative.id);
    return this.#dated(id) ?? (dated === null ? null : inFamily(dated.model, factor));
  }

  /** The model without a date, or one with another date, unless those differ in price. */
  #dated(id: string): KnownModel | null {
    const plain = undated(id);
    const [first, ...others] = this.#byUndatedId.get(plain) ?? [];
    const isAgreed = others.every(({ price }) => Bun.deepEquals(price, first?.price));
    const model = this.#byId.get(plain) ?? (isAgreed ? first : undefined);
    return model === undefined ? null : { model, by: "dated id" };
  }
}

function inFamily(model: PricedModel, factor: number): KnownModel {
  return { model: { ...model, price: multiplied(tokensOnly(model.price), factor) }, by: "family" };
}

/** The model whose price decides. */
interface Relative {
  readonly catalog: string;
  readonly id: string;
  readonly factor?: number;
}

/** An endpoint or profile of one region costs a tenth more than the one for the whole world. */
const regionalFactor = 1.1;

/** Sellers' prices for models that are not in their own list yet. */
const families: Readonly<Record<string, (id: string) => Relative | null>> = {
  // https://platform.claude.com/docs/en/about-claude/pricing
  bedrock: (id) => {
    const claude = /^(?:(?!global\.)[a-z]+(?:-[a-z]+)?\.)?(anthropic\.claude-.+)$/.exec(id)?.[1];
    if (claude === undefined) return null;
    const factor = beforeRegionalPrices.test(claude) ? 1 : regionalFactor;
    return { catalog: "bedrock", id: `global.${claude}`, factor };
  },
  // Azure sells at the list prices of the makers, and in one data zone for a tenth more.
  azure: (id) => {
    const zone = /^(?:eu|us)\/(.+)$/.exec(id)?.[1];
    if (zone !== undefined) return { catalog: "azure", id: zone, factor: regionalFactor };
    return { catalog: id.startsWith("claude-") ? "anthropic" : "openai", id };
  },
  // OpenRouter passes on the list price where the maker sells its own model.
  openrouter: (id) => {
    const [, maker = "", name = ""] = /^([a-z-]+)\/([^:]+)$/.exec(id) ?? [];
    const catalog = Object.hasOwn(makersAtOpenRouter, maker) ? makersAtOpenRouter[maker] : undefined;
    if (catalog === undefined) return null;
    return { catalog, id: catalog === "anthropic" ? name.replaceAll(".", "-") : name };
  },
};

const makersAtOpenRouter: Readonly<Record<string, string>> = {
  openai: "openai",
  anthropic: "anthropic",
  google: "gemini",
  "x-ai": "xai",
  perplexity: "perplexity",
};

/** Claude models up to 4.1 cost the same in every region. */
const beforeRegionalPrices = /claude-(?:3|opus-4-1-|(?:opus|sonnet)-4-20)/;

/** Tools that the maker runs and its service tiers are not part of what another seller offers. */
function tokensOnly(price: PriceConfig): PriceConfig {
  const kept = Object.entries(price).filter(([name]) => name !== "tiers" && !hostedTools.has(name));
  // Tools and tiers are optional parts of a price.
  return Object.fromEntries(kept) as PriceConfig;
}

const hostedTools: ReadonlySet<string> = new Set(callPriceNames);

/**
 * `claude-sonnet-4-5@20250929`, `gpt-4o-2024-08-06` and `anthropic.claude-sonnet-4-5-20250929-v1:0` without the
 * version. A region stays: it has its own price.
 */
function undated(id: string): string {
  return id
    .replace(/(?:-v\d+)?:\d+$/, "")
    .replace(/(?:[@-](?:20\d{6}|latest|default)|-20\d\d-\d\d-\d\d)(?:-v\d+)?$/, "");
}
