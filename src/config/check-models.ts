import { type ModelUse, usualUses } from "../base/model-uses.ts";
import { picoUsdPerToken } from "../base/money.ts";
import { isUsualTier } from "../base/service-tiers.ts";
import { billedFields } from "../dialects/names/billed-fields.ts";
import type { LoadContext } from "./context.ts";
import type { Providers } from "./providers.ts";
import { capabilitiesSchema } from "./schema/model.ts";
import type { ConfigFile, ModelConfig, TokenPriceConfig } from "./schema.ts";
import { didYouMean } from "./suggest.ts";

/**
 * Checks that need the whole file: names refer to something, ids are unique, prices are whole pico-USD. Each check looks at
 * one field, and runs only if the schema accepts that field, so that one mistake never hides another.
 */
export function checkModels(config: ConfigFile, { named, usable }: Providers, context: LoadContext): void {
  if (!Array.isArray(config.models)) return;
  const models: readonly ModelConfig[] = config.models;
  const ids = new Set(models.map((model) => model.id));
  const firstAt = new Map<string, string>();
  const aliasedAt = new Map<string, string>();
  for (const [index, model] of models.entries()) {
    const path = `models[${index}]`;
    checkId(model, path, firstAt, context);
    checkAliases(model, path, ids, aliasedAt, context);
    checkProviderIsNamed(model, path, context);
    checkProvider(model.provider, `${path}.provider`, named, context);
    checkDialect(model.dialect, model.provider, `${path}.dialect`, usable, context);
    checkPrice(model.price, `${path}.price`, model, context);
    checkFallbacks(model, path, models, context);
    checkAllowed(model, path, context);
    warnOfMisspelledCapabilities(model, path, context);
    checkDeployments(model, path, { named, usable }, context);
  }
}

/** What may be allowed has a name, so that a misspelled one is found. Tools and Google's options have any name. */
function checkAllowed({ allow }: ModelConfig, path: string, { problems }: LoadContext): void {
  if (!Array.isArray(allow)) return;
  for (const [index, name] of allow.entries()) {
    const at = `${path}.allow[${index}]`;
    if (!problems.isValidAt(at) || allowable.has(name) || openNames.test(name)) continue;
    problems.add(at, `"${name}" is no field that costs extra${didYouMean(name, allowable)}`);
  }
}

const allowable: ReadonlySet<string> = new Set([...billedFields.map(({ name }) => name), "modalities"]);
const openNames = /^(?:tools|google)\../;

/** Clients may be shown any name, so one that is not known is no error; but it may be a misspelled one. */
function warnOfMisspelledCapabilities(
  { capabilities }: ModelConfig,
  path: string,
  { problems, places, warnings }: LoadContext,
): void {
  if (capabilities === undefined || !problems.isValidAt(`${path}.capabilities`)) return;
  const known = Object.keys(capabilitiesSchema.properties);
  for (const name of Object.keys(capabilities)) {
    const suggestion = known.includes(name) ? "" : didYouMean(name, known);
    if (suggestion !== "")
      warnings.push(
        `${places.describe(`${path}.capabilities.${name}`)} is only shown to clients${suggestion}`,
      );
  }
}

function checkId(
  model: ModelConfig,
  path: string,
  firstAt: Map<string, string>,
  { problems, places }: LoadContext,
): void {
  if (!problems.isValidAt(`${path}.id`)) return;
  const first = firstAt.get(model.id);
  if (first === undefined) firstAt.set(model.id, path);
  else problems.add(`${path}.id`, `is already the id of the model at line ${places.lineOf(first)}`);
}

/** A name leads to one model, so an alias is neither an id nor another alias. */
function checkAliases(
  model: ModelConfig,
  path: string,
  ids: ReadonlySet<string>,
  aliasedAt: Map<string, string>,
  { problems, places }: LoadContext,
): void {
  if (!Array.isArray(model.aliases)) return;
  for (const [index, alias] of model.aliases.entries()) {
    const at = `${path}.aliases[${index}]`;
    if (!problems.isValidAt(at)) continue;
    const earlier = aliasedAt.get(alias);
    if (ids.has(alias)) problems.add(at, `"${alias}" is the id of a model; an alias needs a name of its own`);
    else if (earlier !== undefined)
      problems.add(at, `"${alias}" is already an alias: ${places.describe(earlier)}`);
    else aliasedAt.set(alias, at);
  }
}

/** A model names one provider or lists its deployments. Both at once would be ambiguous. */
function checkProviderIsNamed(model: ModelConfig, path: string, { problems }: LoadContext): void {
  if (typeof model !== "object") return;
  if (model.provider === undefined && model.deployments === undefined) {
    problems.add(`${path}.provider`, "missing; a model needs a provider, or [[models.deployments]]");
  } else if (model.provider !== undefined && model.deployments !== undefined) {
    problems.add(`${path}.provider`, "stands beside deployments; keep one of the two");
  }
}

function checkProvider(
  name: string | undefined,
  path: string,
  providers: ReadonlySet<string>,
  { problems }: LoadContext,
): void {
  if (typeof name !== "string" || !problems.isValidAt(path) || providers.has(name)) return;
  const suggestion = didYouMean(name, providers);
  problems.add(
    path,
    `there is no [providers.${name}]${suggestion === "" ? "; add it, or name another" : suggestion}`,
  );
}

function checkDialect(
  dialect: ModelConfig["dialect"],
  provider: string | undefined,
  path: string,
  usable: Providers["usable"],
  { problems }: LoadContext,
): void {
  const spoken = usable.get(provider ?? "")?.dialects;
  if (dialect === undefined || spoken === undefined || !problems.isValidAt(path)) return;
  if (spoken.includes(dialect)) return;
  problems.add(path, `provider "${provider}" does not speak "${dialect}", only ${spoken.join(", ")}`);
}

function checkPrice(
  price: ModelConfig["price"],
  path: string,
  model: ModelConfig,
  context: LoadContext,
): void {
  if (price === undefined || typeof price !== "object") return;
  if (usesOf(model).some((use) => producesText.has(use))) requireTokenPrices(price, path, context);
  checkTokenPrice(price, path, context);
  if (typeof price.images === "object") checkDecimals(price.images, `${path}.images`, context);
  if (typeof price.tiers !== "object") return;
  for (const [tier, rates] of Object.entries(price.tiers)) {
    const at = `${path}.tiers.${tier}`;
    if (isUsualTier(tier)) {
      context.problems.add(
        at,
        "is the usual tier, whose price is the model's own; name another, or leave it out",
      );
    } else if (typeof rates === "object") checkTokenPrice(rates, at, context);
  }
}

/** Models that are charged for what they read and what they write. */
const producesText: ReadonlySet<ModelUse> = new Set<ModelUse>(["generation", "completions"]);

function usesOf({ serves }: ModelConfig): readonly ModelUse[] {
  return Array.isArray(serves) ? serves : usualUses;
}

function requireTokenPrices(price: object, path: string, { problems }: LoadContext): void {
  for (const name of ["input", "output"]) {
    if (!(name in price))
      problems.add(`${path}.${name}`, `missing; it must be a number, in USD per million tokens`);
  }
}

function checkTokenPrice(
  price: object & Pick<TokenPriceConfig, "long_context">,
  path: string,
  context: LoadContext,
): void {
  checkDecimals(price, path, context);
  const { long_context: long } = price;
  if (typeof long === "object") checkDecimals(long, `${path}.long_context`, context);
}

function checkDecimals(prices: object, path: string, { problems }: LoadContext): void {
  for (const [name, usd] of Object.entries(prices)) {
    if (typeof usd !== "number" || !problems.isValidAt(`${path}.${name}`)) continue;
    if (picoUsdPerToken(usd) !== null) continue;
    problems.add(
      `${path}.${name}`,
      "must have six decimals at most; prices are per million tokens, or per 1,000 calls",
    );
  }
}

function checkFallbacks(
  model: ModelConfig,
  path: string,
  models: readonly ModelConfig[],
  { problems }: LoadContext,
): void {
  if (!Array.isArray(model.fallbacks) || !problems.isValidAt(`${path}.fallbacks`)) return;
  for (const [index, fallback] of model.fallbacks.entries()) {
    const at = `${path}.fallbacks[${index}]`;
    const other = models.find(({ id }) => id === fallback);
    const unserved = other === undefined ? [] : usesOf(model).filter((use) => !usesOf(other).includes(use));
    if (fallback === model.id) problems.add(at, "a model cannot be its own fallback");
    else if (other === undefined) {
      const suggestion = didYouMean(fallback, new Set(models.map(({ id }) => id)));
      problems.add(at, `there is no model "${fallback}"${suggestion}`);
    } else if (unserved.length > 0) problems.add(at, `"${fallback}" does not serve ${unserved.join(", ")}`);
  }
}

function checkDeployments(
  model: ModelConfig,
  path: string,
  { named, usable }: Pick<Providers, "named" | "usable">,
  context: LoadContext,
): void {
  if (!Array.isArray(model.deployments)) return;
  for (const [index, deployment] of model.deployments.entries()) {
    const at = `${path}.deployments[${index}]`;
    checkProvider(deployment.provider, `${at}.provider`, named, context);
    const dialect = deployment.dialect ?? model.dialect;
    checkDialect(dialect, deployment.provider, `${at}.dialect`, usable, context);
    checkPrice(deployment.price, `${at}.price`, model, context);
  }
}
