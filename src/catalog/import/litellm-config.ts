import { isObject, type JsonObject } from "../../base/json.ts";
import { positiveInteger } from "./imported.ts";
import { bedrockModel } from "./litellm-clouds.ts";
import { type CloudSettings, LiteLlmParameters } from "./litellm-parameters.ts";
import { familyOf, type KnownProvider, knownProviders } from "./litellm-providers.ts";
import { litellmRates } from "./litellm-rates.ts";
import {
  type ConvertedDeployment,
  type ConvertedModel,
  type ConvertedProvider,
  configToml,
} from "./litellm-toml.ts";
import { shippedPrice } from "./shipped-prices.ts";
import { providerName } from "./toml.ts";

export interface ImportedConfig {
  readonly toml: string;
  readonly models: number;
  readonly providers: number;
  /** What could not be converted, one sentence each. */
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
]);

/** Converts LiteLLM's `config.yaml` to our own format, and reports what was dropped. */
export function importLiteLlmConfig(
  yaml: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): ImportedConfig {
  const document: unknown = Bun.YAML.parse(yaml);
  const converter = new ConfigConverter(env);
  const root = isObject(document) ? document : {};
  for (const entry of Array.isArray(root["model_list"]) ? root["model_list"] : []) {
    if (isObject(entry)) converter.model(entry);
  }
  for (const section of ["litellm_settings", "router_settings"] as const)
    converter.settings(section, root[section]);
  converter.general(root["general_settings"]);
  if (isObject(root["environment_variables"])) {
    converter.dropped.push("environment_variables: set them in the environment of the gateway");
  }
  const { providers, models, dropped } = converter;
  const toml = configToml([...providers.values()], [...models.values()]);
  return { toml, models: models.size, providers: providers.size, dropped };
}

class ConfigConverter {
  readonly providers = new Map<string, ConvertedProvider>();
  readonly models = new Map<string, ConvertedModel>();
  readonly dropped: string[] = [];
  readonly #env: Readonly<Record<string, string | undefined>>;

  constructor(env: Readonly<Record<string, string | undefined>>) {
    this.#env = env;
  }

  model(entry: JsonObject): void {
    const id = textOf(entry["model_name"]);
    const parameters = isObject(entry["litellm_params"]) ? entry["litellm_params"] : {};
    const upstream = textOf(parameters["model"]);
    if (id === null || upstream === null) return;
    if (id.includes("*") || upstream.includes("*")) {
      this.dropped.push(`${id}: wildcards have no counterpart; name the models one by one`);
      return;
    }
    const other = otherPurpose(upstream, entry["model_info"]);
    if (other !== null) {
      this.dropped.push(`${id}: ${other}`);
      return;
    }
    const asked = new LiteLlmParameters(parameters, this.#env);
    asked.markRead(convertedParameters);
    const provider = this.#provider(id, upstream, asked);
    if (provider === null) return;
    this.#deployment(id, provider, upstream, entry, parameters);
    for (const note of asked.notes) this.dropped.push(`${id}: ${note}`);
    const unread = asked.unread();
    if (unread.length > 0) this.dropped.push(`${id}: ${unread.join(", ")} of its litellm_params`);
  }

  settings(section: string, value: unknown): void {
    if (!isObject(value)) return;
    const { fallbacks, model_group_alias: aliases, ...others } = value;
    for (const fallback of Array.isArray(fallbacks) ? fallbacks : []) {
      if (isObject(fallback)) this.#fallbacks(fallback);
    }
    if (isObject(aliases)) this.#aliases(aliases);
    for (const name of Object.keys(others)) {
      const instead = timeoutNames.has(name)
        ? "write it into [providers.NAME.timeouts], as total"
        : "has no counterpart";
      this.dropped.push(`${section}.${name}: ${instead}`);
    }
  }

  /** Names of models by the alias, or objects that have one. */
  #aliases(aliases: JsonObject): void {
    for (const [alias, target] of Object.entries(aliases)) {
      const id = textOf(isObject(target) ? target["model"] : target);
      const model = this.models.get(id ?? "");
      if (model !== undefined) model.aliases.push(alias);
      else this.dropped.push(`${alias}: an alias of ${id}, which is not here`);
    }
  }

  general(value: unknown): void {
    if (!isObject(value)) return;
    for (const name of Object.keys(value)) {
      this.dropped.push(
        name === "master_key"
          ? "general_settings.master_key: set SLUICE_ADMIN_TOKEN instead; clients get keys by `sluice keys create`"
          : `general_settings.${name}: has no counterpart`,
      );
    }
  }

  #fallbacks(fallback: JsonObject): void {
    for (const [id, targets] of Object.entries(fallback)) {
      const model = this.models.get(id);
      const known = (Array.isArray(targets) ? targets : []).filter((target) =>
        this.models.has(String(target)),
      );
      if (model === undefined || known.length === 0)
        this.dropped.push(`fallbacks of ${id}: its models are not here`);
      else model.fallbacks.push(...known.map(String));
    }
  }

  /** Deployments with the same settings share a provider. An unknown provider is reported, and gives null. */
  #provider(id: string, upstream: string, parameters: LiteLlmParameters): ConvertedProvider | null {
    const slash = upstream.indexOf("/");
    const prefix = slash === -1 ? familyOf(upstream) : upstream.slice(0, slash);
    const known = prefix === null ? undefined : knownProviders[prefix];
    if (prefix === null || known === undefined) {
      this.dropped.push(`${id}: ${upstream} is of a provider whose dialect is not spoken here`);
      return null;
    }
    const settings =
      known.convert?.(parameters, upstream.slice(slash + 1)) ?? serverSettings(prefix, known, parameters);
    if (settings["base_url"] === null && needsAddress.has(known.kind)) {
      this.dropped.push(`${id}: ${prefix} needs an api_base`);
      return null;
    }
    const isOwnServer = prefix === "openai" && settings["base_url"] !== null;
    const kind = isOwnServer ? "openai-compatible" : known.kind;
    const identity = JSON.stringify([kind, settings]);
    const same = this.providers.get(identity);
    if (same !== undefined) return same;
    const provider = { name: this.#freeName(providerName(prefix)), kind, settings };
    this.providers.set(identity, provider);
    return provider;
  }

  #freeName(wanted: string): string {
    const taken = new Set([...this.providers.values()].map((provider) => provider.name));
    let name = wanted;
    for (let number = 2; taken.has(name); number += 1) name = `${wanted}-${number}`;
    return name;
  }

  #deployment(
    id: string,
    provider: ConvertedProvider,
    upstream: string,
    entry: JsonObject,
    parameters: JsonObject,
  ): void {
    const info = isObject(entry["model_info"]) ? entry["model_info"] : {};
    const name = upstream.slice(upstream.indexOf("/") + 1);
    const upstreamModel = provider.kind === "bedrock" ? bedrockModel(name) : name;
    const base = baseModel(info, parameters);
    const stated = litellmRates({ ...info, ...parameters });
    const deployment: ConvertedDeployment = {
      provider: provider.name,
      upstreamModel,
      family: base === null || base === upstreamModel ? null : base,
      weight: positiveInteger(parameters["weight"]),
      priority: positiveInteger(parameters["order"]),
      maxConcurrent: positiveInteger(parameters["max_parallel_requests"]),
      price: stated ?? shippedPrice(base ?? upstreamModel),
    };
    if (stated === null && deployment.price !== null) {
      this.dropped.push(
        `${id}: no price in the file; the list price of ${base ?? upstreamModel} is taken, check it`,
      );
    }
    const known = this.models.get(id);
    if (known !== undefined) {
      known.deployments.push(deployment);
      return;
    }
    this.models.set(id, {
      id,
      contextWindow: positiveInteger(info["max_input_tokens"]),
      maxOutputTokens: positiveInteger(info["max_output_tokens"]) ?? positiveInteger(info["max_tokens"]),
      capabilities: capabilitiesOf(info),
      aliases: [],
      fallbacks: [],
      deployments: [deployment],
    });
    if (deployment.price === null) {
      this.dropped.push(`${id}: no price in the file; without one only token-budget keys may use it`);
    }
  }
}

const timeoutNames: ReadonlySet<string> = new Set(["request_timeout", "timeout", "stream_timeout"]);

const textModes: ReadonlySet<string | null> = new Set([null, "chat", "completion", "responses"]);
/** Models of the large vendors for other things than text, which most configurations give no mode. */
const otherNames =
  /(?:^|[-/.])(?:text-embedding|embed|embedding|dall-e|gpt-image|imagen|whisper|tts|transcribe|rerank|moderation)(?:[-./:\d]|$)/i;

/** Why a model of LiteLLM's has no place here, which is for the generation of text; null if it has. */
function otherPurpose(upstream: string, info: unknown): string | null {
  const mode = isObject(info) ? textOf(info["mode"]) : null;
  if (!textModes.has(mode)) return `its mode is ${mode}, which is not text generation`;
  const name = upstream.slice(upstream.indexOf("/") + 1);
  return mode === null && otherNames.test(name) ? `${name} does not generate text` : null;
}

/** Kinds without an address of their own. */
const needsAddress: ReadonlySet<string> = new Set(["openai-compatible", "azure"]);

/** An address and a key. OpenAI's own address is the default of its kind. */
function serverSettings(prefix: string, known: KnownProvider, parameters: LiteLlmParameters): CloudSettings {
  const given = parameters.plain("api_base") ?? parameters.plain("base_url");
  const base = given === null || given.includes("api.openai.com") ? null : given;
  const variable = known.keyVariable ?? `${prefix.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_")}_API_KEY`;
  const fallback = known.keyVariable === null ? null : `env:${known.keyVariable}`;
  return {
    base_url: base === null ? known.baseUrl : (known.addressOf?.(base) ?? base),
    api_key: parameters.secret("api_key", variable) ?? fallback,
  };
}

/** The model behind a deployment of one's own, as `azure/gpt-5.6`. */
function baseModel(info: JsonObject, parameters: JsonObject): string | null {
  const base = textOf(info["base_model"]) ?? textOf(parameters["base_model"]);
  return base === null ? null : base.slice(base.lastIndexOf("/") + 1);
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function capabilitiesOf(info: JsonObject): Record<string, boolean> {
  const names = {
    supports_function_calling: "tools",
    supports_vision: "vision",
    supports_reasoning: "reasoning",
    supports_response_schema: "structured_output",
  };
  return Object.fromEntries(
    Object.entries(names).flatMap(([theirs, ours]) => {
      const value = info[theirs];
      return typeof value === "boolean" ? [[ours, value]] : [];
    }),
  );
}
