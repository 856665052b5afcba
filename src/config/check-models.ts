import { type ModelUse, usualUses } from "../base/models/model-uses.ts";
import { picoUsdPerToken } from "../base/money/money.ts";
import { isUsualTier } from "../base/usage/usage.ts";
import { billedFields } from "../dialects/names/billed-fields.ts";
import type { LoadContext } from "./problems.ts";
import type { Providers } from "./providers.ts";
import type { ConfigFile, ModelConfig, TokenPriceConfig } from "./schema.ts";
import { didYouMean } from "./suggest.ts";

/**
 * Checks that need the whole file: names refer to something, ids are unique, prices are whole pico-USD. Each check looks at
 * one field, and runs only if the schema accepts that field, so that one mistake never hides another.
 */
export function checkModels(config: ConfigFile, providers: Providers, context: LoadContext): void {
  const models: readonly ModelConfig[] = Array.isArray(config.models) ? config.models : [];
  const ids = new Set(models.map(({ id }) => id));
  // If two models have one id, which is a problem of its own, the first counts.
  const byId = new Map(models.toReversed().map((model) => [model.id, model]));
  const firstAt = new Map<string, string>();
  const aliasedAt = new Map<string, string>();
  const isValid = (path: string) => context.problems.isValidAt(path);
  const add = (path: string, message: string) => context.problems.add(path, message);

  for (const [index, model] of models.entries()) {
    const path = `models[${index}]`;
    checkId(model, path);
    checkAliases(model, path);
    checkProviderIsNamed(model, path);
    checkProvider(model.provider, `${path}.provider`);
    checkDialect(model.dialect, model.provider, `${path}.dialect`);
    checkPrice(model.price, `${path}.price`, model);
    checkFallbacks(model, path);
    checkAllowed(model, path);
    warnOfOutputAboveWindow(model, path);
    checkDeployments(model, path);
    checkContent(model, path);
  }

  function checkContent({ content }: ModelConfig, path: string): void {
    const at = `${path}.content`;
    if (content === undefined || !isValid(at)) return;
    if (config.content !== undefined || config.tracing?.content === true) return;
    add(at, "nothing is recorded without [content]; add that section, or remove this line");
  }

  /** What may be allowed has a name, so that a misspelled one is found. Tools and Google's options have any name. */
  function checkAllowed({ allow }: ModelConfig, path: string): void {
    if (!Array.isArray(allow)) return;
    for (const [index, name] of allow.entries()) {
      const at = `${path}.allow[${index}]`;
      if (!isValid(at) || allowable.has(name) || openNames.test(name)) continue;
      add(at, `"${name}" is no field that costs extra${didYouMean(name, allowable)}`);
    }
  }

  /** A provider rejects such a request, and the hold for it is larger than any response can cost. */
  function warnOfOutputAboveWindow(model: ModelConfig, path: string): void {
    const { max_output_tokens: output, context_window: window } = model;
    if (output === undefined || window === undefined || !(output > window)) return;
    const at = context.places.describe(`${path}.max_output_tokens`);
    context.warnings.push(`${at} is ${output}, more than its context_window of ${window}; lower it`);
  }

  function checkId({ id }: ModelConfig, path: string): void {
    if (!isValid(`${path}.id`)) return;
    if (/\s/.test(id)) add(`${path}.id`, "must not contain spaces: several clients cannot send such a model");
    const first = firstAt.get(id);
    if (first === undefined) firstAt.set(id, path);
    else {
      const line = context.places.lineOf(first);
      add(`${path}.id`, `is already the id of the model at line ${line}`);
    }
  }

  /** A name leads to one model, so an alias is neither an id nor another alias. */
  function checkAliases({ aliases }: ModelConfig, path: string): void {
    if (!Array.isArray(aliases)) return;
    for (const [index, alias] of aliases.entries()) {
      const at = `${path}.aliases[${index}]`;
      if (!isValid(at)) continue;
      const earlier = aliasedAt.get(alias);
      if (ids.has(alias)) add(at, `"${alias}" is the id of a model; an alias needs a name of its own`);
      else if (earlier !== undefined)
        add(at, `"${alias}" is already an alias: ${context.places.describe(earlier)}`);
      else aliasedAt.set(alias, at);
    }
  }

  /** A model names one provider or lists its deployments. Both at once would be ambiguous. */
  function checkProviderIsNamed(model: ModelConfig, path: string): void {
    if (typeof model !== "object") return;
    const at = `${path}.provider`;
    if (model.provider === undefined && model.deployments === undefined)
      add(at, "missing; a model needs a provider, or [[models.deployments]]");
    else if (model.provider !== undefined && model.deployments !== undefined)
      add(at, "cannot be combined with deployments; keep one of the two");
  }

  function checkProvider(name: string | undefined, path: string): void {
    const { named } = providers;
    if (typeof name !== "string" || !isValid(path) || named.has(name)) return;
    add(path, `there is no [providers.${name}]${didYouMean(name, named) || "; add it, or name another"}`);
  }

  function checkDialect(dialect: ModelConfig["dialect"], provider: string | undefined, path: string): void {
    const providerDialects = providers.usable.get(provider ?? "")?.dialects;
    if (dialect === undefined || providerDialects === undefined || !isValid(path)) return;
    if (providerDialects.includes(dialect)) return;
    add(path, `provider "${provider}" does not speak "${dialect}", only ${providerDialects.join(", ")}`);
  }

  function checkPrice(price: ModelConfig["price"], path: string, model: ModelConfig): void {
    if (price === undefined || typeof price !== "object") return;
    if (usesOf(model).some((use) => producesText.has(use))) requireTokenPrices(price, path);
    checkTokenPrice(price, path);
    if (typeof price.images === "object") checkDecimals(price.images, `${path}.images`);
    if (typeof price.requests === "object") checkRequestFees(price.requests, `${path}.requests`, model);
    if (typeof price.tiers !== "object") return;
    for (const [tier, rates] of Object.entries(price.tiers)) {
      const at = `${path}.tiers.${tier}`;
      if (isUsualTier(tier))
        add(at, "is the usual tier, whose price is the model's own; name another, or leave it out");
      else if (typeof rates === "object") checkTokenPrice(rates, at);
    }
  }

  function checkRequestFees(fees: object, path: string, model: ModelConfig): void {
    checkDecimals(fees, path);
    if (usesOf(model).some((use) => use !== "generation"))
      add(path, "must be a number: only generation requests name a size");
  }

  function requireTokenPrices(price: object, path: string): void {
    for (const name of ["input", "output"]) {
      if (name in price) continue;
      add(`${path}.${name}`, "missing; it must be a number, in USD per million tokens");
    }
  }

  function checkTokenPrice(price: object & Pick<TokenPriceConfig, "long_context">, path: string): void {
    checkDecimals(price, path);
    const { long_context: long } = price;
    if (typeof long === "object") checkDecimals(long, `${path}.long_context`);
  }

  function checkDecimals(prices: object, path: string): void {
    for (const [name, usd] of Object.entries(prices)) {
      const at = `${path}.${name}`;
      if (typeof usd !== "number" || !isValid(at) || picoUsdPerToken(usd) !== null) continue;
      add(at, "must have six decimals at most; prices are per million tokens, or per 1,000 calls");
    }
  }

  function checkFallbacks(model: ModelConfig, path: string): void {
    if (!Array.isArray(model.fallbacks) || !isValid(`${path}.fallbacks`)) return;
    for (const [index, fallback] of model.fallbacks.entries()) {
      const at = `${path}.fallbacks[${index}]`;
      const other = byId.get(fallback);
      const unserved = other === undefined ? [] : usesOf(model).filter((use) => !usesOf(other).includes(use));
      if (fallback === model.id) add(at, "a model cannot be its own fallback");
      else if (other === undefined) {
        const suggestion = didYouMean(fallback, ids);
        add(at, `there is no model "${fallback}"${suggestion}`);
      } else if (unserved.length > 0) add(at, `"${fallback}" does not serve ${unserved.join(", ")}`);
    }
  }

  function checkDeployments(model: ModelConfig, path: string): void {
    if (!Array.isArray(model.deployments)) return;
    for (const [index, { provider, dialect = model.dialect, price }] of model.deployments.entries()) {
      const at = `${path}.deployments[${index}]`;
      checkProvider(provider, `${at}.provider`);
      checkDialect(dialect, provider, `${at}.dialect`);
      checkPrice(price, `${at}.price`, model);
    }
  }
}

const allowable: ReadonlySet<string> = new Set([
  ...billedFields.map(({ name }) => name),
  ...["modalities", "memory_limit"],
]);
const openNames = /^(?:tools|google)\../;

/** Models that are charged for what they read and what they write. */
const producesText: ReadonlySet<ModelUse> = new Set<ModelUse>(["generation", "completions"]);

function usesOf({ serves }: ModelConfig): readonly ModelUse[] {
  return Array.isArray(serves) ? serves : usualUses;
}
