import { isObject, type JsonObject } from "../../base/json.ts";
import { matchesModel } from "../../base/models/model-pattern.ts";
import { factorParts, maxFactor } from "../../base/money/money.ts";
import { vendorKinds, vendorOf } from "../../vendors/registry.ts";
import { mapPrices, priceOn } from "../dated-prices.ts";
import type { ConfigFile, ModelConfig, PriceConfig, ProviderConfig } from "../schema.ts";
import { didYouMean } from "../suggest.ts";
import type { CatalogRule } from "./rule.ts";
import { catalogNames, shippedCatalog } from "./shipped.ts";
import type { StoredPrices } from "./stored-prices.ts";
import { hasOwnList, unpricedNames } from "./vendors.ts";

export interface ExpandedConfig {
  /** The file with the models of its catalogs after its own. */
  readonly document: JsonObject;
  /** The models that were added, by their ids. */
  readonly catalogIds: ReadonlySet<string>;
  readonly rules: readonly CatalogRule[];
  readonly problems: readonly { readonly path: string; readonly message: string }[];
  readonly warnings: readonly string[];
}

/**
 * Adds an entry for each model that a provider serves by the catalog (`models = "catalog"`, or patterns). An entry or an alias in
 * the file overrides the catalog. Runs before the schema check, so it skips values of the wrong type.
 */
export function expandCatalogs(written: JsonObject, stored: StoredPrices | null = null): ExpandedConfig {
  // The cast only names the fields: each is tested below before it is used.
  const { providers, models = [] } = written as ConfigFile;
  const rules: CatalogRule[] = [];
  const problems: { path: string; message: string }[] = [];
  const warnings: string[] = [];
  const added = new Map<string, ModelConfig>();
  const taken = namesIn(models);
  const offers: Offer[] = [];
  for (const [name, provider] of Object.entries(isObject(providers) ? providers : {})) {
    if (!isObject(provider)) continue;
    if (provider.models === undefined) {
      for (const field of ["catalog", "cost_factor", "markup", "batch", "unpriced"] as const)
        if (provider[field] !== undefined)
          problems.push({
            path: `providers.${name}.${field}`,
            message: 'needs models = "catalog", or patterns',
          });
      continue;
    }
    const patterns = patternsOf(provider.models);
    if (patterns === null) continue;
    const path = `providers.${name}`;
    const catalog = shippedCatalog(provider.catalog ?? provider.kind, stored, provider.region ?? null);
    if (catalog === null) {
      problems.push({ path: `${path}.catalog`, message: unknownCatalog(provider) });
      continue;
    }
    for (const field of ["cost_factor", "markup"] as const) {
      const factor = provider[field];
      if (typeof factor === "number" && isInRange(factor) && !isFactor(factor))
        problems.push({ path: `${path}.${field}`, message: "must have four decimals at most" });
    }
    if (provider.batch === "native" && !hasBatches(provider))
      problems.push({ path: `${path}.batch`, message: 'cannot be "native": only kind "anthropic" can' });
    if (isRegional(provider) && provider.cost_factor === undefined)
      warnings.push(regionalPrices(name, provider));
    const isBudgetOnly = provider.unpriced === "budget-only";
    rules.push({ provider: name, isBudgetOnly, patterns });
    const chosenIds = new Set<string>();
    for (const pattern of patterns) {
      const chosen = catalog.filter((model) => matchesModel(pattern, model.id) && isReached(model, provider));
      if (chosen.length === 0 && !(isBudgetOnly && hasNoPrices(provider)))
        warnings.push(unmatched(name, pattern, provider));
      for (const model of chosen) {
        if (!chosenIds.has(model.id)) offers.push({ name, provider, model });
        chosenIds.add(model.id);
      }
      if (chosen.length === 0 && !pattern.includes("*") && provider.unpriced === "budget-only")
        if (!taken.has(pattern)) added.set(pattern, { id: pattern, provider: name });
    }
  }
  const qualified = new Set(offers.map(({ name, model }) => `${name}/${model.id}`));
  for (const offer of offers) {
    const { id } = offer.model;
    const isQualified = added.has(id) || qualified.has(id);
    if (!taken.has(id)) addOffer(offer, isQualified, added, taken);
  }
  const document = added.size === 0 ? written : { ...written, models: [...models, ...added.values()] };
  return { document: document as JsonObject, catalogIds: new Set(added.keys()), rules, problems, warnings };
}

/** Whether a provider can reach a model of its cloud's catalog, which has the models of all regions. */
export function isReached(
  { id, upstream_model = id }: ModelConfig,
  { kind, ...options }: ProviderConfig,
): boolean {
  const warnings = vendorKinds.includes(kind) ? (vendorOf(kind).lint?.(options, upstream_model) ?? []) : [];
  return warnings.every(({ about }) => about !== "upstream_model");
}

/** A model that a provider serves by its catalog. */
interface Offer {
  readonly name: string;
  readonly provider: ProviderConfig;
  readonly model: ModelConfig;
}

/**
 * `openai/gpt-6` always selects the provider "openai", as in other gateways, and is not listed. A plain id that several
 * providers have selects the first of them; the others serve the model only under the qualified id.
 */
function addOffer(
  { name, provider: { cost_factor, markup, batch }, model }: Offer,
  isQualified: boolean,
  added: Map<string, ModelConfig>,
  taken: ReadonlySet<string>,
): void {
  const alias = `${name}/${model.id}`;
  if (isQualified && taken.has(alias)) return;
  const factored = (each: PriceConfig) => multiplied(multiplied(each, sound(cost_factor)), sound(markup));
  const price = model.price === undefined ? {} : { price: mapPrices(model.price, factored) };
  const isBatchUsed = batch !== undefined && (batch !== "native" || isSoldInBatches(model));
  const own = { ...model, provider: name, ...(isBatchUsed ? { batch } : {}), ...price };
  if (isQualified)
    added.set(alias, { ...own, id: alias, upstream_model: model.upstream_model ?? model.id, listed: false });
  else
    added.set(model.id, { ...own, ...(taken.has(alias) ? {} : { aliases: [alias], list_aliases: false }) });
}

function hasBatches({ kind }: ProviderConfig): boolean {
  return vendorKinds.includes(kind) && vendorOf(kind).batches !== undefined;
}

/** Whether the provider's own batches have a price. Only generation runs in them. */
function isSoldInBatches({ price, serves }: ModelConfig): boolean {
  return serves === undefined && priceOn(price)?.tiers?.["batch"] !== undefined;
}

/** All names of the file's own models. */
export function namesIn(models: unknown): ReadonlySet<string> {
  const names = new Set<string>();
  for (const model of Array.isArray(models) ? models : []) {
    if (!isObject(model)) continue;
    const aliases = Array.isArray(model["aliases"]) ? model["aliases"] : [];
    for (const name of [model["id"], ...aliases]) if (typeof name === "string") names.add(name);
  }
  return names;
}

export function patternsOf(models: ProviderConfig["models"]): readonly string[] | null {
  if (models === "catalog") return ["*"];
  const isList = Array.isArray(models) && models.every((each) => typeof each === "string");
  return isList ? models : null;
}

function unknownCatalog({ kind, catalog }: ProviderConfig): string {
  const known = catalogNames();
  const list = `the built-in catalogs are ${known.join(", ")}`;
  if (catalog === undefined) return `missing; kind "${kind}" has no catalog of its own, and ${list}`;
  return `catalog "${catalog}" does not exist${didYouMean(catalog, known) || `; ${list}`}`;
}

/** The catalog has the prices of the endpoint for the whole world. */
function isRegional({ kind, catalog, location }: ProviderConfig): boolean {
  return kind === "vertex" && catalog === undefined && location !== undefined && location !== "global";
}

function regionalPrices(name: string, { location }: ProviderConfig): string {
  return `provider "${name}": the catalog has the prices of location "global"; in "${location}" most models cost 10% more (cost_factor = 1.1)`;
}

function hasNoPrices({ catalog, kind }: ProviderConfig): boolean {
  return unpricedNames(catalog ?? kind) !== null;
}

function unmatched(name: string, pattern: string, { catalog, kind, unpriced }: ProviderConfig): string {
  if (hasOwnList(catalog ?? kind))
    return `provider "${name}" has no models yet: the running gateway reads its list at the start`;
  const what = `provider "${name}": no model of the catalog "${catalog ?? kind}" matches "${pattern}"`;
  if (unpriced === "budget-only") return `${what}, so only token-budget keys can use it`;
  return pattern.includes("*")
    ? what
    : `${what}; add [[models]] with id = "${pattern}", provider = "${name}" and its price`;
}

/** Prices have at most six decimals, so they are whole numbers of this. */
const microUsd = 1_000_000;

/** What the schema accepts. */
function isInRange(factor: number): boolean {
  return factor > 0 && factor <= maxFactor;
}

/** Undefined for a factor that is reported as wrong: the rest of the file is checked with the list prices. */
function sound(factor: unknown): number | undefined {
  return typeof factor === "number" && isInRange(factor) && isFactor(factor) ? factor : undefined;
}

function isFactor(factor: number): boolean {
  return Math.abs(factor * factorParts - Math.round(factor * factorParts)) < 1e-6;
}

export function partsOf(factor = 1): number {
  return Math.round(factor * factorParts);
}

/** Multiplies every rate of a price, rounded up to a millionth of a dollar. Limits in tokens stay. */
export function multiplied(price: PriceConfig, factor = 1): PriceConfig {
  // The cast holds because numbers are replaced by numbers.
  return factor === 1 ? price : (multipliedRates(price as JsonObject, partsOf(factor)) as PriceConfig);
}

function multipliedRates(rates: JsonObject, parts: number): JsonObject {
  const entries = Object.entries(rates).map(([name, rate]) => {
    if (isObject(rate)) return [name, multipliedRates(rate, parts)];
    if (Array.isArray(rate)) return [name, rate.filter(isObject).map((each) => multipliedRates(each, parts))];
    const isRate = typeof rate === "number" && name !== "above";
    return [name, isRate ? Math.ceil((Math.round(rate * microUsd) * parts) / factorParts) / microUsd : rate];
  });
  return Object.fromEntries(entries);
}
