import { type ModelUse, usualUses } from "../base/models/model-uses.ts";
import { batchTier } from "../base/usage/usage.ts";
import { billedFields } from "../dialects/names/billed-fields.ts";
import { vendorOf } from "../vendors/registry.ts";
import { checkPrices } from "./check-prices.ts";
import { priceList } from "./dated-prices.ts";
import type { LoadContext } from "./problems.ts";
import type { Providers } from "./providers.ts";
import type { ConfigFile, ModelConfig, PriceConfig } from "./schema.ts";
import { didYouMean } from "./suggest.ts";

/**
 * Checks of these models that need the whole file: names refer to something, ids are unique, prices are whole pico-USD. Each check looks at
 * one field, and runs only if the schema accepts that field, so that one mistake never hides another.
 */
export function checkModels(
  checked: readonly ModelConfig[],
  config: ConfigFile,
  providers: Providers,
  context: LoadContext,
): void {
  const models: readonly ModelConfig[] = Array.isArray(config.models) ? config.models : [];
  const checks = new ModelChecks(models, config, providers, context);
  const included = new Set<unknown>(checked);
  for (const [index, model] of models.entries()) {
    if (included.has(model)) checks.check(model, `models[${index}]`);
  }
}

class ModelChecks {
  readonly #config: ConfigFile;
  readonly #providers: Providers;
  readonly #context: LoadContext;
  readonly #ids: ReadonlySet<string>;
  /** If two models have the same id (reported separately), the first one counts. */
  readonly #byId: ReadonlyMap<string, ModelConfig>;
  readonly #firstAt = new Map<string, string>();
  readonly #aliasedAt = new Map<string, string>();

  constructor(
    models: readonly ModelConfig[],
    config: ConfigFile,
    providers: Providers,
    context: LoadContext,
  ) {
    this.#config = config;
    this.#providers = providers;
    this.#context = context;
    this.#ids = new Set(models.map(({ id }) => id));
    this.#byId = new Map(models.toReversed().map((model) => [model.id, model]));
  }

  check(model: ModelConfig, path: string): void {
    this.#checkId(model, path);
    this.#checkAliases(model, path);
    this.#checkProviderIsNamed(model, path);
    this.#checkProvider(model.provider, `${path}.provider`);
    this.#checkDialect(model.dialect, model.provider, `${path}.dialect`);
    checkPrices(model.price, `${path}.price`, usesOf(model), this.#context.problems);
    this.#checkFallbacks(model, path);
    this.#checkAllowed(model, path);
    this.#warnOfOutputAboveWindow(model, path);
    this.#checkDeployments(model, path);
    this.#checkContent(model, path);
    this.#checkBatchTier(model, path);
    this.#checkNativeBatches(model, path);
  }

  #isValid(path: string): boolean {
    return this.#context.problems.isValidAt(path);
  }

  #add(path: string, message: string): void {
    this.#context.problems.add(path, message);
  }

  #checkContent({ content }: ModelConfig, path: string): void {
    const at = `${path}.content`;
    if (content === undefined || !this.#isValid(at)) return;
    if (this.#config.content !== undefined || this.#config.tracing?.content === true) return;
    this.#add(at, "nothing is recorded without [content]; add that section, or remove this line");
  }

  /** A provider's own batches have a price of their own. */
  #checkNativeBatches({ batch, price: usual, provider, deployments }: ModelConfig, path: string): void {
    const at = `${path}.batch`;
    if (batch !== "native" || !this.#isValid(at)) return;
    const places = Array.isArray(deployments) ? deployments : [{ provider, price: usual }];
    const able = places.filter(({ provider: name = "" }) => {
      const kind = this.#providers.usable.get(name)?.kind;
      // A provider without its secret is skipped, not wrong.
      return kind === undefined || vendorOf(kind).batches !== undefined;
    });
    if (able.length === 0) {
      this.#add(at, 'cannot be "native": Sluice uses the batches of providers of kind "anthropic" only');
    }
    const isPriced = ({ price = usual }: (typeof able)[number]) =>
      price !== undefined && priceList(price).every((each) => hasTier(each, batchTier));
    if (!able.every(isPriced))
      this.#add(at, `needs price.tiers.${batchTier}, which lines are charged by; add it`);
  }

  /** Lines that go up with a tier are charged by it, or by the price of batches. */
  #checkBatchTier(
    { batch_tier: tier, price: usual, provider, deployments }: ModelConfig,
    path: string,
  ): void {
    const at = `${path}.batch_tier`;
    if (tier === undefined || !this.#isValid(at)) return;
    const places = Array.isArray(deployments) ? deployments : [{ provider, price: usual }];
    for (const { provider: name = "", price = usual } of places) {
      const kind = this.#providers.usable.get(name)?.kind;
      if (kind !== undefined && vendorOf(kind).lacksFlex === true) {
        this.#add(at, `provider "${name}" does not have this tier; remove it`);
      }
      if (priceList(price).every((each) => hasTier(each, tier) || hasTier(each, batchTier))) continue;
      this.#add(at, `needs price.tiers.${tier}, which lines are charged by; add it`);
    }
  }

  /**
   * Values of `allow` must be known names, so that misspelled ones are found. Tools and Google's options can have any
   * name.
   */
  #checkAllowed({ allow }: ModelConfig, path: string): void {
    if (!Array.isArray(allow)) return;
    for (const [index, name] of allow.entries()) {
      const at = `${path}.allow[${index}]`;
      if (!this.#isValid(at) || allowable.has(name) || openNames.test(name)) continue;
      this.#add(at, `"${name}" is not a billable field${didYouMean(name, allowable)}`);
    }
  }

  /** A provider rejects such a request, and the hold for it is larger than any response can cost. */
  #warnOfOutputAboveWindow(model: ModelConfig, path: string): void {
    const { max_output_tokens: output, context_window: window } = model;
    if (output === undefined || window === undefined || !(output > window)) return;
    const at = this.#context.places.describe(`${path}.max_output_tokens`);
    this.#context.warnings.push(`${at} is ${output}, more than its context_window of ${window}; lower it`);
  }

  #checkId({ id }: ModelConfig, path: string): void {
    if (!this.#isValid(`${path}.id`)) return;
    if (/\s/.test(id))
      this.#add(`${path}.id`, "must not contain spaces: several clients cannot send such a model");
    const first = this.#firstAt.get(id);
    if (first === undefined) this.#firstAt.set(id, path);
    else {
      const line = this.#context.places.lineOf(first);
      this.#add(`${path}.id`, `is already the id of the model at line ${line}`);
    }
  }

  /** A name leads to one model, so an alias is neither an id nor another alias. */
  #checkAliases({ aliases }: ModelConfig, path: string): void {
    if (!Array.isArray(aliases)) return;
    for (const [index, alias] of aliases.entries()) {
      const at = `${path}.aliases[${index}]`;
      if (!this.#isValid(at)) continue;
      const earlier = this.#aliasedAt.get(alias);
      if (this.#ids.has(alias)) this.#add(at, `"${alias}" is already a model's id; choose another alias`);
      else if (earlier !== undefined)
        this.#add(at, `"${alias}" is already an alias: ${this.#context.places.describe(earlier)}`);
      else this.#aliasedAt.set(alias, at);
    }
  }

  /** A model names one provider or lists its deployments. Both at once would be ambiguous. */
  #checkProviderIsNamed(model: ModelConfig, path: string): void {
    if (typeof model !== "object") return;
    const at = `${path}.provider`;
    if (model.provider === undefined && model.deployments === undefined)
      this.#add(at, "missing; a model needs a provider, or [[models.deployments]]");
    else if (model.provider !== undefined && model.deployments !== undefined)
      this.#add(at, "cannot be combined with deployments; keep one of the two");
  }

  #checkProvider(name: string | undefined, path: string): void {
    const { named } = this.#providers;
    if (typeof name !== "string" || !this.#isValid(path) || named.has(name)) return;
    this.#add(
      path,
      `[providers.${name}] does not exist${didYouMean(name, named) || "; add it, or use another"}`,
    );
  }

  #checkDialect(dialect: ModelConfig["dialect"], provider: string | undefined, path: string): void {
    const providerDialects = this.#providers.usable.get(provider ?? "")?.dialects;
    if (dialect === undefined || providerDialects === undefined || !this.#isValid(path)) return;
    if (providerDialects.includes(dialect)) return;
    this.#add(
      path,
      `provider "${provider}" does not speak "${dialect}", only ${providerDialects.join(", ")}`,
    );
  }

  #checkFallbacks(model: ModelConfig, path: string): void {
    if (!Array.isArray(model.fallbacks) || !this.#isValid(`${path}.fallbacks`)) return;
    for (const [index, fallback] of model.fallbacks.entries()) {
      const at = `${path}.fallbacks[${index}]`;
      const other = this.#byId.get(fallback);
      const unserved = other === undefined ? [] : usesOf(model).filter((use) => !usesOf(other).includes(use));
      if (fallback === model.id) this.#add(at, "a model cannot be its own fallback");
      else if (other === undefined) {
        const suggestion = didYouMean(fallback, this.#ids);
        this.#add(at, `model "${fallback}" does not exist${suggestion}`);
      } else if (unserved.length > 0) this.#add(at, `"${fallback}" does not serve ${unserved.join(", ")}`);
    }
  }

  #checkDeployments(model: ModelConfig, path: string): void {
    if (!Array.isArray(model.deployments)) return;
    for (const [index, { provider, dialect = model.dialect, price }] of model.deployments.entries()) {
      const at = `${path}.deployments[${index}]`;
      this.#checkProvider(provider, `${at}.provider`);
      this.#checkDialect(dialect, provider, `${at}.dialect`);
      checkPrices(price, `${at}.price`, usesOf(model), this.#context.problems);
    }
  }
}

const allowable: ReadonlySet<string> = new Set([
  ...billedFields.map(({ name }) => name),
  ...["modalities", "memory_limit"],
]);
const openNames = /^(?:tools|google)\../;

function hasTier({ tiers }: PriceConfig, tier: string): boolean {
  return typeof tiers === "object" && Object.hasOwn(tiers, tier);
}

function usesOf({ serves }: ModelConfig): readonly ModelUse[] {
  return Array.isArray(serves) ? serves : usualUses;
}
