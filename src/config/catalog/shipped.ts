import shippedModels from "../../../config/models.toml" with { type: "text" };
import { assert } from "../../base/assert.ts";
import { isObject } from "../../base/json.ts";
import type { ConfigFile, ModelConfig, ProviderConfig } from "../schema.ts";
import { cloudCatalog, cloudNames } from "./clouds.ts";

/** The providers of the built-in catalog, as they are configured to be called. A catalog has the name of its provider. */
export function shippedProviders(): ReadonlyMap<string, ProviderConfig> {
  return shipped().providers;
}

/** The models of one catalog with their list prices; null if there is no such catalog. */
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

interface Shipped {
  readonly providers: ReadonlyMap<string, ProviderConfig>;
  readonly models: readonly ModelConfig[];
}

/** Parsed when it is first needed, which takes about a millisecond. */
let parsed: Shipped | null = null;

function shipped(): Shipped {
  parsed ??= parse();
  return parsed;
}

function parse(): Shipped {
  const document: unknown = Bun.TOML.parse(shippedModels);
  assert(isObject(document), "the built-in catalog is a TOML document");
  // The cast holds because a test loads the same text as a configuration.
  const { providers = {}, models = [] } = document as ConfigFile;
  return { providers: new Map(Object.entries(providers)), models };
}
