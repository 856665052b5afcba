import { isObject, type JsonObject } from "../../base/json.ts";
import { positiveInteger } from "./imported.ts";
import { familyOf, knownProviders } from "./litellm-providers.ts";
import { litellmRates } from "./litellm-rates.ts";
import {
  type ConvertedDeployment,
  type ConvertedModel,
  type ConvertedProvider,
  configToml,
} from "./litellm-toml.ts";
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
  "api_key",
  "api_base",
  "base_url",
  "weight",
  "order",
  "max_parallel_requests",
  "input_cost_per_token",
  "output_cost_per_token",
  "cache_read_input_token_cost",
  "cache_creation_input_token_cost",
]);

/** Converts LiteLLM's `config.yaml` to our own format, and reports what was dropped. */
export function importLiteLlmConfig(yaml: string): ImportedConfig {
  const document: unknown = Bun.YAML.parse(yaml);
  const converter = new ConfigConverter();
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

  model(entry: JsonObject): void {
    const id = textOf(entry["model_name"]);
    const parameters = isObject(entry["litellm_params"]) ? entry["litellm_params"] : {};
    const upstream = textOf(parameters["model"]);
    if (id === null || upstream === null) return;
    if (id.includes("*") || upstream.includes("*")) {
      this.dropped.push(`${id}: wildcards have no counterpart; name the models one by one`);
      return;
    }
    const provider = this.#provider(id, upstream, parameters);
    if (provider === null) return;
    this.#deployment(id, provider, upstream, entry, parameters);
    this.#dropParameters(id, parameters);
  }

  settings(section: string, value: unknown): void {
    if (!isObject(value)) return;
    const { fallbacks, ...others } = value;
    for (const fallback of Array.isArray(fallbacks) ? fallbacks : []) {
      if (isObject(fallback)) this.#fallbacks(fallback);
    }
    for (const name of Object.keys(others)) this.dropped.push(`${section}.${name}: has no counterpart`);
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

  /** Deployments with the same address and key share a provider. An unknown provider is reported, and gives null. */
  #provider(id: string, upstream: string, parameters: JsonObject): ConvertedProvider | null {
    const slash = upstream.indexOf("/");
    const prefix = slash === -1 ? familyOf(upstream) : upstream.slice(0, slash);
    const known = prefix === null ? undefined : knownProviders[prefix];
    const base = textOf(parameters["api_base"]) ?? textOf(parameters["base_url"]);
    if (prefix === null || known === undefined) {
      this.dropped.push(`${id}: ${upstream} is of a provider whose dialect is not spoken here`);
      return null;
    }
    const baseUrl = base ?? known.baseUrl;
    const isOwnServer = prefix === "openai" && base !== null && !base.includes("api.openai.com");
    const kind = isOwnServer ? "openai-compatible" : known.kind;
    if (kind === "openai-compatible" && baseUrl === null) {
      this.dropped.push(`${id}: ${prefix} needs an api_base`);
      return null;
    }
    const key = this.#key(id, prefix, parameters["api_key"], known.keyVariable);
    const identity = JSON.stringify([kind, baseUrl, key]);
    const same = this.providers.get(identity);
    if (same !== undefined) return same;
    const provider = { name: this.#freeName(providerName(prefix)), kind, baseUrl, key };
    this.providers.set(identity, provider);
    return provider;
  }

  /** Returns a variable's name. A secret in the file is not copied into the new one: the operator is told to set it. */
  #key(id: string, prefix: string, value: unknown, fallback: string | null): string | null {
    const text = textOf(value);
    if (text === null) return fallback;
    if (text.startsWith("os.environ/")) return text.slice("os.environ/".length);
    const variable = `${prefix.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_")}_API_KEY`;
    this.dropped.push(`${id}: its api_key stands in the file; put it into ${variable}`);
    return variable;
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
    const deployment: ConvertedDeployment = {
      provider: provider.name,
      upstreamModel: upstream.slice(upstream.indexOf("/") + 1),
      weight: positiveInteger(parameters["weight"]),
      priority: positiveInteger(parameters["order"]),
      maxConcurrent: positiveInteger(parameters["max_parallel_requests"]),
      price: litellmRates({ ...info, ...parameters }),
    };
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
      fallbacks: [],
      deployments: [deployment],
    });
    if (deployment.price === null) {
      this.dropped.push(`${id}: no price in the file; without one only token-budget keys may use it`);
    }
  }

  #dropParameters(id: string, parameters: JsonObject): void {
    const names = Object.keys(parameters).filter((name) => !convertedParameters.has(name));
    if (names.length > 0) this.dropped.push(`${id}: ${names.join(", ")} of its litellm_params`);
  }
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
