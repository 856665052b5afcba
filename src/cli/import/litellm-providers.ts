import { tableOf } from "../../base/collections/table.ts";
import { catalogVendors } from "../../config/catalog/vendors.ts";
import type { VendorKind } from "../../vendors/registry.ts";
import { azureAiSettings, azureSettings, bedrockSettings, vertexSettings } from "./litellm-clouds.ts";
import type { CloudSettings, LiteLlmParameters } from "./litellm-parameters.ts";

export interface KnownProvider {
  readonly kind: VendorKind;
  /** The name that its prefixes share. */
  readonly name: string;
  readonly baseUrl: string | null;
  /** The variable that LiteLLM reads if the file names no key; null if it needs none. */
  readonly keyVariable: string | null;
  /** The built-in catalog with its prices; null if there is none. */
  readonly catalog: string | null;
  /** Runs on the operator's own machines, so its models cost nothing. */
  readonly isSelfHosted?: true;
  /** Converts a cloud's settings; without it, a provider has an address and a key. */
  convert?(parameters: LiteLlmParameters, model: string): CloudSettings;
  /** The API's address, if it differs from what LiteLLM expects. */
  addressOf?(base: string): string;
}

const own = (kind: VendorKind, keyVariable: string): KnownProvider => ({
  kind,
  name: kind,
  baseUrl: null,
  keyVariable,
  catalog: kind,
});

/** A vendor with OpenAI's API, whose address is known with its catalog. */
const vendor = (catalog: string, name = catalog, keyVariable?: string): KnownProvider => ({
  ...compatible(
    name,
    catalogVendors[catalog]?.baseUrl ?? null,
    keyVariable ?? catalogVendors[catalog]?.keys[0] ?? null,
  ),
  catalog,
});

function compatible(name: string, baseUrl: string | null, keyVariable: string | null): KnownProvider {
  return { kind: "openai-compatible", name, baseUrl, keyVariable, catalog: null };
}

const selfHosted = (name: string): KnownProvider => ({ ...compatible(name, null, null), isSelfHosted: true });

/** LiteLLM speaks Ollama's own API at the bare address; OpenAI's is below `/v1`. */
const ollama: KnownProvider = {
  ...selfHosted("ollama"),
  baseUrl: "http://127.0.0.1:11434/v1",
  addressOf: (base) => (/\/v1\/*$/.test(base) ? base : `${base.replace(/\/+$/, "")}/v1`),
};

const cloud = (
  kind: VendorKind,
  convert: NonNullable<KnownProvider["convert"]>,
  name: string = kind,
): KnownProvider => ({ kind, name, baseUrl: null, keyVariable: null, catalog: kind, convert });

const cohere = vendor("cohere");
const bedrock = cloud("bedrock", bedrockSettings);

/** Providers by the prefix in LiteLLM's `provider/model`. Only those whose dialect the gateway supports. */
export const knownProviders = tableOf<KnownProvider>({
  openai: own("openai", "OPENAI_API_KEY"),
  anthropic: own("anthropic", "ANTHROPIC_API_KEY"),
  gemini: own("gemini", "GEMINI_API_KEY"),
  azure: cloud("azure", azureSettings),
  azure_ai: cloud("azure", azureAiSettings, "azure_ai"),
  vertex_ai: cloud("vertex", vertexSettings, "vertex_ai"),
  bedrock,
  bedrock_converse: bedrock,
  groq: vendor("groq"),
  mistral: vendor("mistral"),
  deepseek: vendor("deepseek"),
  xai: vendor("xai"),
  openrouter: {
    ...compatible("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    catalog: "openrouter",
  },
  together_ai: vendor("together", "together_ai", "TOGETHERAI_API_KEY"),
  fireworks_ai: vendor("fireworks", "fireworks_ai"),
  cerebras: vendor("cerebras"),
  moonshot: vendor("moonshot"),
  zai: vendor("zai"),
  perplexity: vendor("perplexity", "perplexity", "PERPLEXITYAI_API_KEY"),
  dashscope: vendor("alibaba", "dashscope"),
  deepinfra: vendor("deepinfra"),
  nebius: vendor("nebius"),
  minimax: vendor("minimax"),
  voyage: vendor("voyage"),
  jina_ai: compatible("jina_ai", "https://api.jina.ai/v1", "JINA_AI_API_KEY"),
  cohere,
  cohere_chat: cohere,
  ollama,
  ollama_chat: ollama,
  hosted_vllm: selfHosted("hosted_vllm"),
  lm_studio: selfHosted("lm_studio"),
});

/** The provider of a model without a prefix, by the model's name. */
export function familyOf(model: string): string | null {
  if (/^(gpt-|o\d|chatgpt-|text-embedding-|dall-e-|whisper-|tts-|omni-moderation-)/.test(model))
    return "openai";
  return model.startsWith("claude-") ? "anthropic" : null;
}

/** An address and a key. OpenAI's own address is the default of its kind. */
export function serverSettings(
  prefix: string,
  known: KnownProvider,
  parameters: LiteLlmParameters,
): CloudSettings {
  const apiBase = parameters.plain("api_base") ?? parameters.plain("base_url");
  const base = apiBase === null || apiBase.includes("api.openai.com") ? null : apiBase;
  const variable = known.keyVariable ?? `${prefix.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_")}_API_KEY`;
  const fallback = known.keyVariable === null ? null : `env:${known.keyVariable}`;
  return {
    base_url: base === null ? known.baseUrl : (known.addressOf?.(base) ?? base),
    api_key: parameters.secret("api_key", variable) ?? fallback,
  };
}
