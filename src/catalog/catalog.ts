import type { DeploymentSettings, ModelSettings, Price, Settings } from "../config/settings.ts";
import { highestPrice, priceAt, publishedPrice, startsOf } from "./price.ts";
import { type PublicModel, publicModels } from "./public-model.ts";

/** The fields of a key that determine which models it may use. */
export interface KeyAccess {
  /** A provider's name, or `all`. */
  readonly scope: string;
  /** Null means all models. */
  readonly models: readonly string[] | null;
}

/** A model, and what it costs at one provider at the moment that was asked for; null if it has no price. */
export interface ModelRun {
  readonly model: ModelSettings;
  readonly price: Price | null;
}

type CatalogSettings = Pick<Settings, "models"> & Partial<Pick<Settings, "unpricedModels">>;

/** Maximum number of remembered names from clients. */
const maxUnpriced = 256;

interface CatalogEntry {
  readonly model: ModelSettings;
  /** The model, and its aliases if they are listed. */
  readonly shown: readonly [PublicModel, ...PublicModel[]];
  readonly holdPrice: Price | null;
  /** The model's own deployments and its fallbacks'. */
  readonly deployments: readonly DeploymentSettings[];
}

/** Whether a key's scope allows a deployment. A model may have deployments both inside and outside a scope. */
export function inScope(scope: string, deployment: { readonly provider: string }): boolean {
  return scope === "all" || deployment.provider === scope;
}

/** Whether a key's list contains the model under any of its names. */
export function isEntitled({ models }: Pick<KeyAccess, "models">, { id, aliases }: ModelSettings): boolean {
  return models === null || models.includes(id) || aliases.some((name) => models.includes(name));
}

/** The models of one configuration. A reload makes a new catalog; this one never changes. */
export class Catalog {
  readonly #entries = new Map<string, CatalogEntry>();
  readonly #aliased = new Map<string, ModelSettings>();
  /** Models without an entry, by the names that clients have sent. */
  readonly #unpriced = new Map<string, ModelSettings>();
  readonly #unpricedModels: Settings["unpricedModels"] | undefined;
  /** The moments at which announced prices begin, in their order. */
  readonly #priceStarts: readonly number[];

  private constructor({ models, unpricedModels }: CatalogSettings) {
    this.#unpricedModels = unpricedModels;
    this.#priceStarts = startsOf(models.flatMap(({ deployments }) => deployments.map(({ price }) => price)));
    const byId = new Map(models.map((model) => [model.id, model]));
    for (const model of models) {
      const others = model.fallbacks.flatMap((id) => byId.get(id)?.deployments ?? []);
      const deployments = [...model.deployments, ...others];
      const holdPrice = highestPrice(model.deployments.map((deployment) => deployment.price));
      this.#entries.set(model.id, { model, shown: publicModels(model, 0), holdPrice, deployments });
      for (const alias of model.aliases) this.#aliased.set(alias, model);
    }
  }

  static from(settings: CatalogSettings): Catalog {
    return new Catalog(settings);
  }

  /** Finds a model by its id or an alias. */
  find(name: string): ModelSettings | undefined {
    return this.#entries.get(name)?.model ?? this.#aliased.get(name);
  }

  /** A model without an entry that a provider serves to token-budget keys. The same object for the same name, while it is in use. */
  findUnpriced(name: string): ModelSettings | undefined {
    const known = this.#unpriced.get(name) ?? this.#unpricedModels?.build(name);
    if (known == null) return undefined;
    this.#unpriced.delete(name);
    this.#unpriced.set(name, known);
    const [oldest] = this.#unpriced.keys();
    if (this.#unpriced.size > maxUnpriced && oldest !== undefined) this.#unpriced.delete(oldest);
    return known;
  }

  /** Finds the model that a provider runs under this name, the provider's or ours, and its price there. */
  findRun(name: string, provider: string, atMs: number): ModelRun | undefined {
    for (const { model } of this.#entries.values()) {
      const run = model.deployments.find((at) => at.provider === provider && at.upstreamModel === name);
      if (run !== undefined) return { model, price: priceAt(run.price, atMs) };
    }
    const model = this.find(name);
    if (model === undefined) return undefined;
    const run = model.deployments.find((deployment) => deployment.provider === provider);
    return { model, price: priceAt((run ?? model.deployments[0])?.price ?? null, atMs) };
  }

  /** In the order of the configuration, as all lists here. */
  publicModels(): ModelSettings[] {
    return this.#select((model) => model.public);
  }

  modelsFor(key: KeyAccess): ModelSettings[] {
    return this.#select((model) => this.permits(key, model));
  }

  permits(key: KeyAccess, model: ModelSettings): boolean {
    if (!isEntitled(key, model)) return false;
    return key.scope === "all" || model.deployments.some((deployment) => inScope(key.scope, deployment));
  }

  /**
   * The price for holds at a moment: the highest rates among the model's own deployments. A fallback gets its own hold before it
   * runs. Null for a model that costs nothing.
   */
  holdPrice(model: ModelSettings, atMs: number): Price | null {
    return priceAt(this.#entries.get(model.id)?.holdPrice ?? null, atMs);
  }

  /** The moment at which the prices of this moment have begun; 0 if they have always been. */
  pricesStartedMs(atMs: number): number {
    return this.#priceStarts.findLast((startMs) => startMs <= atMs) ?? 0;
  }

  /** Whether an announced price begins after one moment and at or before another. */
  beginsPrice(afterMs: number, untilMs: number): boolean {
    return this.#priceStarts.some((startMs) => startMs > afterMs && startMs <= untilMs);
  }

  /** The deployments within a scope that can serve a model: its own and its fallbacks'. */
  reached(model: ModelSettings, scope: string): readonly DeploymentSettings[] {
    const deployments = this.#entries.get(model.id)?.deployments ?? model.deployments;
    return scope === "all" ? deployments : deployments.filter((deployment) => inScope(scope, deployment));
  }

  /** The models of `GET /v1/models`, at the prices of a moment. Dated ids and the like are served without being listed. */
  list(models: readonly ModelSettings[], atMs: number): PublicModel[] {
    return models.flatMap((model) => (model.listed ? this.#shown(model, atMs) : []));
  }

  /** The model of `GET /v1/models/{id}`. An alias is resolved to the model itself, under its own id. */
  show(model: ModelSettings, atMs: number): PublicModel {
    return this.#shown(model, atMs)[0];
  }

  #shown(model: ModelSettings, atMs: number): CatalogEntry["shown"] {
    const isDated = publishedPrice(model)?.later !== undefined;
    const entry = isDated ? undefined : this.#entries.get(model.id);
    return entry?.shown ?? publicModels(model, atMs);
  }

  #select(isSelected: (model: ModelSettings) => boolean): ModelSettings[] {
    const models: ModelSettings[] = [];
    for (const { model } of this.#entries.values()) if (isSelected(model)) models.push(model);
    return models;
  }
}
