import { isObject, type JsonObject } from "../../base/json.ts";
import { matchesModel } from "../../base/models/model-pattern.ts";
import type { ConfigFile, ModelConfig } from "../schema.ts";
import { isReached, namesIn, patternsOf } from "./expand.ts";
import { shippedCatalog } from "./shipped.ts";
import type { StoredPrices } from "./stored-prices.ts";

/** A catalog by which providers serve models. */
export interface ServedCatalog {
  readonly name: string;
  /** The providers' own names, by which an operator's file may call it. */
  readonly providers: readonly string[];
  /** The models that are served at the catalog's prices. */
  readonly models: readonly ModelConfig[];
  /** All of its models, for example those that no provider serves. */
  readonly all: readonly ModelConfig[];
  /** Whether a provider would serve a model with this id, if the catalog had it. */
  admits(id: string): boolean;
}

/** The catalogs that a configuration serves by. Its own entries have their own prices, so they are left out. */
export function servedCatalogs(written: JsonObject, stored: StoredPrices | null): readonly ServedCatalog[] {
  // The cast only names the fields: each is tested below before it is used.
  const { providers, models = [] } = written as ConfigFile;
  const taken = namesIn(models);
  const uses = Object.entries(isObject(providers) ? providers : {}).flatMap(([provider, options]) => {
    const patterns = isObject(options) ? patternsOf(options.models) : null;
    return patterns === null ? [] : [{ provider, options, patterns, name: options.catalog ?? options.kind }];
  });
  return [...Map.groupBy(uses, ({ name }) => name)].flatMap(([name, users]) => {
    const all = shippedCatalog(name, stored);
    if (all === null) return [];
    const admits = (id: string) =>
      !taken.has(id) && users.some(({ patterns }) => patterns.some((pattern) => matchesModel(pattern, id)));
    const isServed = (model: ModelConfig) =>
      admits(model.id) && users.some(({ options }) => isReached(model, options));
    return [
      { name, providers: users.map(({ provider }) => provider), all, models: all.filter(isServed), admits },
    ];
  });
}
