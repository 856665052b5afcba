import { matchesModel, modelPatternForm } from "../base/models/model-pattern.ts";
import { missingModelAdvice } from "./catalog/missing-model.ts";
import type { CatalogRule } from "./catalog/rule.ts";
import { buildModel, type ModelContext } from "./models.ts";
import type { ConfigFile, ModelConfig } from "./schema.ts";
import type { ModelBuilder, ModelSettings } from "./settings.ts";

/** A segment that consists of dots would change a provider's path. */
const dotSegment = /(?:^|\/)\.*(?:\/|$)/;

/** Not a model, but what an account keeps: a prompt or a profile of Bedrock, an endpoint of Vertex. */
const accountsOwn = /^(?:arn:|\d+$)/;

/**
 * Builds models that have no entry and no known price, by the patterns of providers with `unpriced = "budget-only"`. Their names come
 * from clients.
 */
export class UnpricedModels implements ModelBuilder {
  readonly #config: ConfigFile;
  readonly #rules: readonly CatalogRule[];
  readonly #context: ModelContext;
  /** A model that is skipped because a secret is missing is not served by another provider. */
  readonly #named: ReadonlyMap<string, ModelConfig>;

  constructor(config: ConfigFile, rules: readonly CatalogRule[], context: ModelContext) {
    this.#config = config;
    this.#rules = rules.some(({ isBudgetOnly }) => isBudgetOnly) ? rules : [];
    this.#context = context;
    this.#named = new Map(
      (config.models ?? []).flatMap((model) =>
        [model.id, ...(model.aliases ?? [])].map((name) => [name, model]),
      ),
    );
  }

  build(id: string): ModelSettings | null {
    if (this.#rules.length === 0 || this.#named.has(id)) return null;
    if (!modelPatternForm.test(id) || id.includes("*") || dotSegment.test(id)) return null;
    const place = this.#placeOf(id);
    if (place === null) return null;
    const [model = null] = buildModel({ id, ...place }, false, this.#config, this.#context);
    return model === null ? null : { ...model, public: false, isUnlisted: true };
  }

  advice(id: string): string {
    const providers = this.#config.providers ?? {};
    return missingModelAdvice(id, { providers, usable: new Set(this.#context.providers.usable.keys()) });
  }

  /** A name that begins with a provider's, such as `openai/gpt-6`, is served by that provider or not at all. */
  #placeOf(id: string): Pick<ModelConfig, "provider" | "upstream_model"> | null {
    const prefixed = this.#rules.find(({ provider }) => id.startsWith(`${provider}/`));
    const name = prefixed === undefined ? id : id.slice(prefixed.provider.length + 1);
    const named = this.#named.get(name);
    // Two vendors can have the same name for a model, which is then asked for with the provider's name before it.
    const isOthers =
      prefixed !== undefined && named?.provider !== undefined && named.provider !== prefixed.provider;
    if ((named !== undefined && !isOthers) || accountsOwn.test(name)) return null;
    const rule = (prefixed === undefined ? this.#rules : [prefixed]).find(
      ({ isBudgetOnly, patterns }) => isBudgetOnly && patterns.some((pattern) => matchesModel(pattern, name)),
    );
    return rule === undefined ? null : { provider: rule.provider, upstream_model: name };
  }
}
