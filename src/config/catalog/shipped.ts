import shippedModels from "../../../config/models.toml" with { type: "text" };
import { assert } from "../../base/assert.ts";
import { isObject } from "../../base/json.ts";
import type { ConfigFile, ModelConfig, ProviderConfig } from "../schema.ts";

/** The providers of the built-in catalog, as they are configured to be called. A catalog has the name of its provider. */
export function shippedProviders(): ReadonlyMap<string, ProviderConfig> {
  return shipped().providers;
}

/** The models of one catalog with their list prices; null if the catalog does not exist. */
export function shippedCatalog(name: string): readonly ModelConfig[] | null {
  return shipped().providers.has(name) ? modelsOf(name) : cloudCatalog(name, modelsOf);
}

function modelsOf(name: string): readonly ModelConfig[] {
  return shipped().models.filter(({ provider }) => provider === name);
}

export function catalogNames(): readonly string[] {
  return [...shipped().providers.keys(), ...cloudNames];
}

/** Every model with its list price. */
export function allShippedModels(): readonly ModelConfig[] {
  return shipped().models;
}

interface ShippedCatalog {
  readonly providers: ReadonlyMap<string, ProviderConfig>;
  readonly models: readonly ModelConfig[];
}

/** Parsed when it is first needed, which takes about a millisecond. */
let parsed: ShippedCatalog | null = null;

function shipped(): ShippedCatalog {
  parsed ??= parse();
  return parsed;
}

function parse(): ShippedCatalog {
  const document: unknown = Bun.TOML.parse(shippedModels);
  assert(isObject(document), "the built-in catalog is a TOML document");
  // The cast holds because a test loads the same text as a configuration.
  const { providers = {}, models = [] } = document as ConfigFile;
  return { providers: new Map(Object.entries(providers)), models };
}

/** The models of one vendor's catalog. */
type CatalogOf = (name: string) => readonly ModelConfig[];

/**
 * Clouds that sell models of other vendors at the vendors' list prices, as long as a request can run anywhere in the world. An endpoint
 * of one region costs 10% more: https://platform.claude.com/docs/en/about-claude/pricing
 */
const clouds: Readonly<Record<string, (of: CatalogOf) => readonly ModelConfig[]>> = {
  // Current models have inference profiles only, and Bedrock runs none of Anthropic's own tools.
  bedrock: (catalogOf) =>
    catalogOf("anthropic").map((model) => ({
      ...without(model, "web_search", "web_fetch", "tool_search"),
      upstream_model: `global.anthropic.${model.id}`,
    })),
  vertex: (catalogOf) => [
    ...catalogOf("anthropic").map((model) => without(model, "web_fetch")),
    ...catalogOf("gemini").filter(({ serves }) => serves === undefined),
  ],
};

/** Null if it is not the name of such a cloud. */
function cloudCatalog(name: string, catalogOf: CatalogOf): readonly ModelConfig[] | null {
  return Object.hasOwn(clouds, name) ? (clouds[name]?.(catalogOf) ?? null) : null;
}

const cloudNames: readonly string[] = Object.keys(clouds);

function without(model: ModelConfig, ...tools: readonly string[]): ModelConfig {
  if (model.price === undefined) return model;
  const kept = Object.entries(model.price).filter(([name]) => !tools.includes(name));
  // Tools that a provider runs are optional parts of a price.
  return { ...model, price: Object.fromEntries(kept) as typeof model.price };
}
