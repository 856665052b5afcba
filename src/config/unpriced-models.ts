import { matchesModel, modelPatternForm } from "../base/models/model-pattern.ts";
import type { CatalogRule } from "./catalog/rule.ts";
import { buildModel, type ModelContext } from "./models.ts";
import type { ConfigFile } from "./schema.ts";
import type { ModelBuilder, ModelSettings } from "./settings.ts";

/** A segment of dots alone would leave its place in a provider's path. */
const dotSegment = /(?:^|\/)\.*(?:\/|$)/;

/**
 * Builds models that have no entry and no known price, by the patterns of providers with `unpriced = "budget-only"`. Their names come
 * from clients.
 */
export class UnpricedModels implements ModelBuilder {
  readonly #config: ConfigFile;
  readonly #rules: readonly CatalogRule[];
  readonly #context: ModelContext;
  /** A model that is skipped because a secret is missing is not served by another provider. */
  readonly #named: ReadonlySet<string>;

  constructor(config: ConfigFile, rules: readonly CatalogRule[], context: ModelContext) {
    this.#config = config;
    this.#rules = rules.filter(({ isBudgetOnly }) => isBudgetOnly);
    this.#context = context;
    this.#named = new Set((config.models ?? []).flatMap(({ id, aliases = [] }) => [id, ...aliases]));
  }

  build(id: string): ModelSettings | null {
    if (this.#rules.length === 0 || this.#named.has(id)) return null;
    if (!modelPatternForm.test(id) || id.includes("*") || dotSegment.test(id)) return null;
    const rule = this.#rules.find(({ patterns }) => patterns.some((pattern) => matchesModel(pattern, id)));
    if (rule === undefined) return null;
    const [model = null] = buildModel({ id, provider: rule.provider }, false, this.#config, this.#context);
    return model === null ? null : { ...model, public: false, isUnlisted: true };
  }
}
