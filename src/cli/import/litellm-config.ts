import { isObject, type JsonObject } from "../../base/json.ts";
import { modelPatternForm } from "../../base/models/model-pattern.ts";
import type { ModelUse } from "../../base/models/model-uses.ts";
import { shippedCatalog } from "../../config/catalog/shipped.ts";
import { catalogAt } from "../../config/catalog/vendors.ts";
import { isFreeUse } from "../../config/models.ts";
import { positiveInteger } from "./imported.ts";
import { bedrockModel } from "./litellm-clouds.ts";
import { baseModel, capabilitiesOf, textOf, useOf, withoutZone } from "./litellm-model-info.ts";
import { LiteLlmParameters } from "./litellm-parameters.ts";
import { priceFor } from "./litellm-price.ts";
import { familyOf, knownProviders, serverSettings } from "./litellm-providers.ts";
import { droppedSetting } from "./litellm-settings.ts";
import {
  defaultTimeoutNames,
  defaultTimeouts,
  type LiteLlmTimeouts,
  timeoutsOf,
} from "./litellm-timeouts.ts";
import { type ConvertedModel, type ConvertedProvider, configToml } from "./litellm-toml.ts";
import type { PriceList } from "./price-list.ts";
import { providerName } from "./toml.ts";

export interface ImportedConfig {
  readonly toml: string;
  readonly models: number;
  readonly providers: number;
  /** One sentence for each thing that was assumed, or that the operator has to add. */
  readonly check: readonly string[];
  /** One sentence for each setting that could not be converted. */
  readonly dropped: readonly string[];
}

/** Parameters of a deployment that have a counterpart here. */
const convertedParameters = new Set([
  "model",
  "weight",
  "order",
  "max_parallel_requests",
  "input_cost_per_token",
  "output_cost_per_token",
  "cache_read_input_token_cost",
  "cache_creation_input_token_cost",
  "base_model",
  "timeout",
  "stream_timeout",
]);

export interface ImportOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Prices for models whose price the configuration does not state. */
  readonly prices?: PriceList;
}

/** Converts LiteLLM's `config.yaml` to our own format, and reports what was dropped. */
export function importLiteLlmConfig(yaml: string, options: ImportOptions = {}): ImportedConfig {
  const document: unknown = Bun.YAML.parse(yaml);
  const root = isObject(document) ? document : {};
  return new LiteLlmImport(root, options).convert();
}

class LiteLlmImport {
  readonly #root: JsonObject;
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #prices: PriceList | undefined;
  readonly #timeouts: LiteLlmTimeouts;
  readonly #providers = new Map<string, ConvertedProvider>();
  readonly #models = new Map<string, ConvertedModel>();
  readonly #dropped: string[] = [];
  readonly #check: string[] = [];
  /** Models whose price is in the catalog under the very id. */
  readonly #listed = new Set<string>();

  constructor(root: JsonObject, { env = process.env, prices }: ImportOptions) {
    this.#root = root;
    this.#env = env;
    this.#prices = prices;
    this.#timeouts = defaultTimeouts(root);
  }

  convert(): ImportedConfig {
    const root = this.#root;
    for (const entry of Array.isArray(root["model_list"]) ? root["model_list"] : []) {
      if (isObject(entry)) this.#convertModel(entry);
    }
    for (const section of ["litellm_settings", "router_settings"] as const)
      this.#convertSettings(section, root[section]);
    this.#convertGeneral(root["general_settings"]);
    if (isObject(root["environment_variables"]))
      this.#check.push("environment_variables: set them in the environment of the gateway");
    const [providers, models] = [[...this.#providers.values()], [...this.#models.values()]];
    const toml = configToml(this.#longestExchange(), providers, models);
    if (this.#listed.size > 0) {
      const ids = [...this.#listed].join(", ");
      this.#check.push(`${ids}: no price in the file; using the list prices of the built-in catalog`);
    }
    const { length } = models;
    return { toml, models: length, providers: providers.length, check: this.#check, dropped: this.#dropped };
  }

  #convertModel(entry: JsonObject): void {
    const id = textOf(entry["model_name"]);
    const parameters = isObject(entry["litellm_params"]) ? entry["litellm_params"] : {};
    const upstream = textOf(parameters["model"]);
    if (id === null || upstream === null) return;
    if (id.includes("*") || upstream.includes("*")) {
      this.#convertWildcard(id, upstream, parameters);
      return;
    }
    const info = isObject(entry["model_info"]) ? entry["model_info"] : {};
    const use = useOf(upstream, info);
    if (use === null) {
      this.#dropped.push(`${id}: Sluice has no route for mode ${info["mode"]}`);
      return;
    }
    const reader = new LiteLlmParameters(parameters, this.#env);
    reader.markRead(convertedParameters);
    if (use !== "generation") reader.markRead(Object.keys(parameters).filter((name) => unitCost.test(name)));
    const provider = this.#providerOf(id, upstream, reader, timeoutsOf(parameters, this.#timeouts));
    if (provider === null) return;
    this.#addDeployment(id, use, provider, upstream, info, parameters);
    for (const note of reader.notes) this.#check.push(`${id}: ${note}`);
    const unread = reader.unread();
    if (unread.length > 0) this.#dropped.push(`${id}: ${unread.join(", ")} of its litellm_params`);
  }

  /** Converts `openai/*` to the catalog's models, if the provider has a catalog. */
  #convertWildcard(id: string, upstream: string, parameters: JsonObject): void {
    const catalog = knownProviders[prefixOf(upstream) ?? ""]?.catalog ?? "";
    const pattern = upstream.slice(upstream.indexOf("/") + 1);
    const isSame = id === "*" || id === upstream || id === pattern;
    const hasCatalog = shippedCatalog(catalog) !== null && pattern.includes("*");
    if (!isSame || !hasCatalog || !modelPatternForm.test(pattern)) {
      this.#dropped.push(`${id}: no built-in catalog for this wildcard; list the models one by one`);
      return;
    }
    const reader = new LiteLlmParameters(parameters, this.#env);
    reader.markRead(convertedParameters);
    const provider = this.#providerOf(id, upstream, reader, timeoutsOf(parameters, this.#timeouts));
    if (provider === null) return;
    provider.patterns.push(pattern);
    this.#check.push(`${id}: serves the models of the built-in catalog at list price, and no others`);
  }

  #convertSettings(section: string, value: unknown): void {
    if (!isObject(value)) return;
    const { fallbacks, model_group_alias: aliases, ...others } = value;
    for (const fallback of Array.isArray(fallbacks) ? fallbacks : []) {
      if (isObject(fallback)) this.#addFallbacks(fallback);
    }
    if (isObject(aliases)) this.#addAliases(aliases);
    for (const name of Object.keys(others)) {
      if (defaultTimeoutNames.has(`${section}.${name}`)) continue;
      this.#dropped.push(droppedSetting(`${section}.${name}`));
    }
  }

  /** The longest timeout in seconds, if it exceeds our default; else null. */
  #longestExchange(): number | null {
    const totals = [...this.#providers.values()].map(({ timeouts }) => timeouts.total ?? 0);
    const longest = Math.max(0, ...totals);
    if (longest > maxExchangeSeconds) {
      this.#check.push(`a timeout of ${longest} s: reduced to the maximum of one hour`);
    }
    return longest > defaultRequestSeconds ? Math.min(longest, maxExchangeSeconds) : null;
  }

  /** Aliases with the names of models, or objects that contain one. */
  #addAliases(aliases: JsonObject): void {
    for (const [alias, target] of Object.entries(aliases)) {
      const id = textOf(isObject(target) ? target["model"] : target);
      const model = this.#models.get(id ?? "");
      if (model !== undefined) model.aliases.push(alias);
      else this.#dropped.push(`${alias}: an alias of ${id}, which was not converted`);
    }
  }

  #convertGeneral(value: unknown): void {
    if (!isObject(value)) return;
    for (const name of Object.keys(value)) this.#dropped.push(droppedSetting(`general_settings.${name}`));
  }

  #addFallbacks(fallback: JsonObject): void {
    for (const [id, targets] of Object.entries(fallback)) {
      const model = this.#models.get(id);
      const known = (Array.isArray(targets) ? targets : []).filter((target) =>
        this.#models.has(String(target)),
      );
      if (model === undefined || known.length === 0)
        this.#dropped.push(`fallbacks of ${id}: its models were not converted`);
      else model.fallbacks.push(...known.map(String));
    }
  }

  /** Deployments with the same settings share a provider. An unknown provider is reported and skipped (null). */
  #providerOf(
    id: string,
    upstream: string,
    parameters: LiteLlmParameters,
    timeouts: LiteLlmTimeouts,
  ): ConvertedProvider | null {
    const prefix = prefixOf(upstream);
    const known = prefix === null ? undefined : knownProviders[prefix];
    if (prefix === null || known === undefined) {
      this.#dropped.push(
        `${id}: the provider of ${upstream} is unknown; if it has OpenAI's API, add it with kind = "openai-compatible"`,
      );
      return null;
    }
    const settings =
      known.convert?.(parameters, upstream.slice(upstream.indexOf("/") + 1)) ??
      serverSettings(prefix, known, parameters);
    if (settings["base_url"] === null && needsAddress.has(known.kind)) {
      this.#dropped.push(`${id}: ${prefix} needs an api_base; add it, and import again`);
      return null;
    }
    const isOwnServer = prefix === "openai" && settings["base_url"] !== null;
    const kind = isOwnServer ? "openai-compatible" : known.kind;
    const identity = JSON.stringify([kind, settings, timeouts]);
    const same = this.#providers.get(identity);
    if (same !== undefined) return same;
    const provider = {
      name: this.#freeName(providerName(known.name)),
      kind,
      settings,
      timeouts,
      patterns: [],
      catalog: (isOwnServer ? catalogAt(settings["base_url"] ?? "") : null) ?? known.catalog,
    };
    this.#providers.set(identity, provider);
    return provider;
  }

  #freeName(base: string): string {
    const usedNames = new Set([...this.#providers.values()].map((provider) => provider.name));
    let name = base;
    for (let number = 2; usedNames.has(name); number += 1) name = `${base}-${number}`;
    return name;
  }

  #addDeployment(
    id: string,
    use: ModelUse,
    provider: ConvertedProvider,
    upstream: string,
    info: JsonObject,
    parameters: JsonObject,
  ): void {
    const name = upstream.slice(upstream.indexOf("/") + 1);
    const upstreamModel = provider.kind === "bedrock" ? bedrockModel(name) : name;
    const base = baseModel(info, parameters);
    const isGenerating = use === "generation";
    const prefix = prefixOf(upstream) ?? "";
    const price = priceFor(
      { prefix, upstream, upstreamModel, base, use, provider, costs: { ...info, ...parameters } },
      this.#prices,
    );
    const isFree = price.source === null && knownProviders[prefix]?.isSelfHosted === true;
    const family = base === null ? null : withoutZone(base);
    const deployment = {
      provider: provider.name,
      upstream_model: upstreamModel,
      family: family === upstreamModel ? null : family,
      priority: positiveInteger(parameters["order"]),
      weight: positiveInteger(parameters["weight"]),
      max_concurrent: positiveInteger(parameters["max_parallel_requests"]),
      price: price.price,
      isFree,
    };
    if (price.source === "catalog") this.#listed.add(id);
    else if (price.note !== null)
      this.#check.push(`${id}: no price in the file; using ${price.note}; check it`);
    const known = this.#models.get(id);
    if (deployment.price === null && !isFree && !isFreeUse(use)) {
      const who = isGenerating ? "only token-budget keys can use it" : "credit keys cannot use it";
      this.#check.push(`${id}: no price of ${upstreamModel} is known, so ${who}; ${priceFix(provider)}`);
    }
    if (known !== undefined) {
      known.deployments.push(deployment);
      return;
    }
    this.#models.set(id, {
      id,
      serves: isGenerating ? [] : [use],
      context_window: positiveInteger(info["max_input_tokens"]) ?? price.limits.contextWindow,
      max_output_tokens:
        positiveInteger(info["max_output_tokens"]) ??
        (isGenerating ? positiveInteger(info["max_tokens"]) : null) ??
        price.limits.maxOutputTokens,
      capabilities: { ...price.limits.capabilities, ...capabilitiesOf(info) },
      aliases: [],
      fallbacks: [],
      deployments: [deployment],
    });
  }
}

/** How a model gets a price. */
function priceFix({ name, kind, catalog }: ConvertedProvider): string {
  if (kind === "azure") return "add base_model to its model_info, and import again";
  if (catalog !== "openrouter") return "add a price or free = true to its entry, or pass --prices FILE";
  return `copy OpenRouter's own price from \`sluice models discover ${name} --json\``;
}

/** Unit costs that do not apply to text generation. */
const unitCost = /^(?:in|out)put_cost_per_(?:second|character|query|pixel|image|image_token|audio_token)$/;

/** In seconds: the default and the maximum duration of an exchange. */
const defaultRequestSeconds = 300;
const maxExchangeSeconds = 3600;

/** The provider in `provider/model`, or inferred from the model's name; null if unknown. */
function prefixOf(upstream: string): string | null {
  const slash = upstream.indexOf("/");
  return slash === -1 ? familyOf(upstream) : upstream.slice(0, slash);
}

/** Kinds without a default address. */
const needsAddress: ReadonlySet<string> = new Set(["openai-compatible", "azure"]);
