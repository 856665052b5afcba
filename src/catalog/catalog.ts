import type { DeploymentSettings, ModelSettings, Price, Settings } from "../config/settings.ts";
import { dearestPrice } from "./price.ts";
import { type PublicModel, publicModel } from "./public-model.ts";

/** What decides which models a key may use; a KeyRecord has both. */
export interface KeyAccess {
  /** A provider's name, or `all`. */
  readonly scope: string;
  /** The models it is entitled to; null means all. */
  readonly models: readonly string[] | null;
}

interface Listed {
  readonly model: ModelSettings;
  readonly shown: PublicModel;
  readonly holdPrice: Price | null;
  readonly deployments: readonly DeploymentSettings[];
}

/** Whether a deployment lies within a key's scope; of a model that others serve too, only such are used. */
export function inScope(scope: string, deployment: { readonly provider: string }): boolean {
  return scope === "all" || deployment.provider === scope;
}

/** The models of one configuration. A reload makes a new catalog; this one never changes. */
export class Catalog {
  readonly #listed = new Map<string, Listed>();

  private constructor(models: readonly ModelSettings[]) {
    const byId = new Map(models.map((model) => [model.id, model]));
    for (const model of models) {
      const others = model.fallbacks.flatMap((id) => byId.get(id)?.deployments ?? []);
      const deployments = [...model.deployments, ...others];
      const holdPrice = dearestPrice(deployments.map((deployment) => deployment.price));
      this.#listed.set(model.id, { model, shown: publicModel(model), holdPrice, deployments });
    }
  }

  static from(settings: Pick<Settings, "models">): Catalog {
    return new Catalog(settings.models);
  }

  find(id: string): ModelSettings | undefined {
    return this.#listed.get(id)?.model;
  }

  /** In the order of the configuration, as all lists here. */
  publicModels(): ModelSettings[] {
    return this.#select((model) => model.public);
  }

  modelsFor(key: KeyAccess): ModelSettings[] {
    return this.#select((model) => this.permits(key, model));
  }

  permits(key: KeyAccess, model: ModelSettings): boolean {
    if (key.models !== null && !key.models.includes(model.id)) return false;
    return key.scope === "all" || model.deployments.some((deployment) => inScope(key.scope, deployment));
  }

  /**
   * What a hold is priced with: the dearest that the call may cost, whichever deployment or fallback
   * answers. Null for a model that costs nothing.
   */
  holdPrice(model: ModelSettings): Price | null {
    return this.#listed.get(model.id)?.holdPrice ?? null;
  }

  /** Whoever may answer for a model: its own deployments, and those of its fallbacks. */
  deploymentsOf(model: ModelSettings): readonly DeploymentSettings[] {
    return this.#listed.get(model.id)?.deployments ?? model.deployments;
  }

  /** The response of `GET /v1/models`; no other fields are allowed beside these two. */
  list(models: readonly ModelSettings[]): { object: "list"; data: PublicModel[] } {
    return {
      object: "list",
      data: models.map((model) => this.#listed.get(model.id)?.shown ?? publicModel(model)),
    };
  }

  #select(wanted: (model: ModelSettings) => boolean): ModelSettings[] {
    const models: ModelSettings[] = [];
    for (const { model } of this.#listed.values()) if (wanted(model)) models.push(model);
    return models;
  }
}
