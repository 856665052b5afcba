import { tableOf } from "../../base/collections/table.ts";
import type { VendorKind } from "../../vendors/registry.ts";
import { azureAiSettings, azureSettings, bedrockSettings, vertexSettings } from "./litellm-clouds.ts";
import type { CloudSettings, LiteLlmParameters } from "./litellm-parameters.ts";

export interface KnownProvider {
  readonly kind: VendorKind;
  readonly baseUrl: string | null;
  /** The variable that LiteLLM reads if the file names no key; null for self-hosted servers. */
  readonly keyVariable: string | null;
  /** Converts a cloud's settings; without it, a provider has an address and a key. */
  convert?(parameters: LiteLlmParameters, model: string): CloudSettings;
  /** The API's address, if it differs from what LiteLLM expects. */
  addressOf?(base: string): string;
}

const compatible = (baseUrl: string | null, keyVariable: string | null): KnownProvider => ({
  kind: "openai-compatible",
  baseUrl,
  keyVariable,
});

/** LiteLLM speaks Ollama's own API at the bare address; OpenAI's is below `/v1`. */
const ollama: KnownProvider = {
  ...compatible("http://127.0.0.1:11434/v1", null),
  addressOf: (base) => (/\/v1\/*$/.test(base) ? base : `${base.replace(/\/+$/, "")}/v1`),
};

/** Cohere's own API embeds and ranks; its OpenAI-compatible chat is at another address. */
const cohere: KnownProvider = {
  ...compatible(null, "COHERE_API_KEY"),
  convert: (parameters, model) => {
    const baseUrl = /embed|rerank/.test(model)
      ? "https://api.cohere.com/v2"
      : "https://api.cohere.ai/compatibility/v1";
    return serverSettings("cohere", compatible(baseUrl, "COHERE_API_KEY"), parameters);
  },
};

const cloud = (kind: VendorKind, convert: NonNullable<KnownProvider["convert"]>): KnownProvider => ({
  kind,
  baseUrl: null,
  keyVariable: null,
  convert,
});

/** Providers by the prefix in LiteLLM's `provider/model`. Only those whose dialect the gateway supports. */
export const knownProviders = tableOf<KnownProvider>({
  openai: { kind: "openai", baseUrl: null, keyVariable: "OPENAI_API_KEY" },
  anthropic: { kind: "anthropic", baseUrl: null, keyVariable: "ANTHROPIC_API_KEY" },
  gemini: { kind: "gemini", baseUrl: null, keyVariable: "GEMINI_API_KEY" },
  azure: cloud("azure", azureSettings),
  azure_ai: cloud("azure", azureAiSettings),
  vertex_ai: cloud("vertex", vertexSettings),
  bedrock: cloud("bedrock", bedrockSettings),
  bedrock_converse: cloud("bedrock", bedrockSettings),
  groq: compatible("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
  mistral: compatible("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
  deepseek: compatible("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
  xai: compatible("https://api.x.ai/v1", "XAI_API_KEY"),
  openrouter: compatible("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
  together_ai: compatible("https://api.together.xyz/v1", "TOGETHERAI_API_KEY"),
  fireworks_ai: compatible("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
  cerebras: compatible("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
  voyage: compatible("https://api.voyageai.com/v1", "VOYAGE_API_KEY"),
  jina_ai: compatible("https://api.jina.ai/v1", "JINA_AI_API_KEY"),
  cohere,
  ollama,
  ollama_chat: ollama,
  hosted_vllm: compatible(null, null),
  lm_studio: compatible(null, null),
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
