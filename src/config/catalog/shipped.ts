import shippedModels from "../../../config/models.toml" with { type: "text" };
import { assert } from "../../base/assert.ts";
import { isObject } from "../../base/json.ts";
import { mapPrices } from "../dated-prices.ts";
import type { ConfigFile, ModelConfig } from "../schema.ts";
import { type CatalogLine, listedModels, listedVendors, regionalModels } from "./price-lists.ts";
import { type StoredPrices, withStoredPrices } from "./stored-prices.ts";
import { catalogVendors } from "./vendors.ts";

/**
 * The models of one catalog with their list prices; null if the catalog does not exist. A cloud's region has its own
 * prices, which stored prices do not replace, because stored lists do not distinguish regions.
 */
export function shippedCatalog(
  name: string,
  stored: StoredPrices | null = null,
  region: string | null = null,
): readonly ModelConfig[] | null {
  if (!catalogNames().includes(name)) return null;
  const derived = Object.hasOwn(clouds, name) ? (clouds[name]?.(checkedOf) ?? []) : [];
  const shipped = [...checkedOf(name), ...derived, ...listedModels(name).map(modelIn)];
  const usual = withStoredPrices(shipped, stored?.catalogs[name]);
  if (region === null) return usual;
  const regional = new Map(regionalModels(name, region).map((line) => [line.id, modelIn(line)]));
  return usual.map((model) => regional.get(model.id) ?? model);
}

/** The models of one vendor whose prices were compared with the vendor's own list. They override the public lists. */
function checkedOf(name: string): readonly ModelConfig[] {
  return checkedModels().filter(({ provider }) => provider === name);
}

export function catalogNames(): readonly string[] {
  return [...new Set([...Object.keys(catalogVendors), ...Object.keys(clouds), ...listedVendors])];
}

/** Every model with its list price, those that were checked first. */
export function allShippedModels(): readonly ModelConfig[] {
  return [...checkedModels(), ...listedVendors.flatMap((vendor) => listedModels(vendor).map(modelIn))];
}

/** Parsed when it is first needed, which takes about a millisecond. */
let parsed: readonly ModelConfig[] | null = null;

function checkedModels(): readonly ModelConfig[] {
  parsed ??= parse();
  return parsed;
}

function parse(): readonly ModelConfig[] {
  const document: unknown = Bun.TOML.parse(shippedModels);
  assert(isObject(document), "the built-in catalog is a TOML document");
  // The cast holds because a test loads the same text as a configuration.
  return (document as ConfigFile).models ?? [];
}

/** The settings of a line, without the fields that only record their source. */
function modelIn({ source: _, note: __, regions: ___, ...model }: CatalogLine): ModelConfig {
  return model;
}

/** The models of one vendor's catalog. */
type CatalogOf = (name: string) => readonly ModelConfig[];

/**
 * Clouds that sell models of other vendors at the vendors' list prices, as long as a request can run anywhere in the world. An endpoint
 * of one region costs 10% more: https://platform.claude.com/docs/en/about-claude/pricing
 */
const clouds: Readonly<Record<string, (of: CatalogOf) => readonly ModelConfig[]>> = {
  // Current models have inference profiles only, and Bedrock runs none of Anthropic's own tools and tiers.
  bedrock: (catalogOf) => [
    ...catalogOf("anthropic").map((model) => ({
      ...without(model, "web_search", "web_fetch", "tool_search", "tiers"),
      upstream_model: `global.anthropic.${model.id}`,
    })),
    ...claudeProfiles(),
  ],
  vertex: (catalogOf) => [
    ...catalogOf("anthropic").map((model) => without(model, "web_fetch")),
    ...catalogOf("gemini").filter(({ serves }) => serves === undefined),
  ],
};

/** Anthropic's own ids of the Claude models that Bedrock lists for the whole world, at Bedrock's price. */
function claudeProfiles(): readonly ModelConfig[] {
  const profiles = listedModels("bedrock").filter(({ id }) => id.startsWith("global.anthropic."));
  return listedModels("anthropic").flatMap(({ id, listed = true }) => {
    const profile = profiles.find((each) => claudeName(each.id) === claudeName(id));
    return profile === undefined ? [] : [{ ...modelIn(profile), id, upstream_model: profile.id, listed }];
  });
}

/** `claude-sonnet-4-5`, without the region before it and the date and version after it; null for the oldest models. */
function claudeName(id: string): string | null {
  return /claude-[a-z]+(?:-\d{1,2}(?!\d))+/.exec(id)?.[0] ?? null;
}

function without(model: ModelConfig, ...names: readonly string[]): ModelConfig {
  if (model.price === undefined) return model;
  const price = mapPrices(model.price, (each) => {
    const kept = Object.entries(each).filter(([name]) => !names.includes(name));
    // Tools and tiers are optional parts of a price.
    return Object.fromEntries(kept);
  });
  return { ...model, price };
}
