import type { ModelConfig } from "../schema.ts";

/** Prices that an operator has put above the built-in catalog, below the entries of a configuration. */
export interface StoredPrices {
  /** Unique, so that a gateway sees whether it runs with these. Null if an operator has stored none. */
  readonly version: string | null;
  /** By the name of the catalog. */
  readonly catalogs: Readonly<Record<string, readonly StoredModel[]>>;
}

/**
 * Replaces the catalog's settings of the model with this id: a price with its day, or only the day of a price that was
 * confirmed. A model that is not in the catalog has all of its settings here.
 */
export type StoredModel = Pick<ModelConfig, "id"> & Partial<ModelConfig>;

/** The catalog with the stored prices. */
export function withStoredPrices(
  catalog: readonly ModelConfig[],
  stored: readonly StoredModel[] = [],
): readonly ModelConfig[] {
  if (stored.length === 0) return catalog;
  const byId = new Map(stored.map((model) => [model.id, model]));
  const known = new Set(catalog.map(({ id }) => id));
  return [
    ...catalog.map((model) => ({ ...model, ...byId.get(model.id) })),
    // Without a price it only confirmed one, of a model that this build no longer has.
    ...stored.filter(({ id, price }) => !known.has(id) && price !== undefined),
  ];
}
