import { priced } from "../../src/catalog/priced-usage.ts";
import type { DeploymentSettings, ModelSettings, Price } from "../../src/config/settings.ts";
import type { Timeouts } from "../../src/vendors/provider.ts";

const timeouts: Timeouts = {
  connectMs: 1000,
  firstByteMs: 1000,
  streamFirstByteMs: 1000,
  idleMs: 1000,
  totalMs: 1000,
};

/** Prices in USD per million tokens, as an operator writes them. */
export function price(input: number, output: number, cached_input = input, cache_write = input): Price {
  return {
    input: input * 1_000_000,
    output: output * 1_000_000,
    cached_input: cached_input * 1_000_000,
    cache_write: cache_write * 1_000_000,
  };
}

export function deployment(provider: string, changes: Partial<DeploymentSettings> = {}): DeploymentSettings {
  return {
    provider,
    upstreamModel: "m",
    family: null,
    dialects: ["chat"],
    maxTokensField: "max_tokens",
    priority: 1,
    weight: 1,
    maxConcurrent: null,
    price: null,
    timeouts,
    ...changes,
  };
}

export function model(id: string, changes: Partial<ModelSettings> = {}): ModelSettings {
  return {
    id,
    aliases: [],
    listAliases: true,
    displayName: null,
    tagline: null,
    serves: ["generation"],
    imageTokensMax: null,
    priceSource: null,
    priceChecked: null,
    listed: true,
    ends: null,
    ownedBy: "openai",
    created: 1_700_000_000,
    public: true,
    free: true,
    contextWindow: null,
    maxOutputTokens: null,
    price: null,
    allow: [],
    capabilities: {},
    deployments: [deployment("openai")],
    cache: "auto",
    affinity: "conversation",
    batch: "gateway",
    batchTier: null,
    content: null,
    requestTimeoutMs: 300_000,
    fallbacks: [],
    ...changes,
  };
}

/** What a call costs, in nano-credits. */
export function cost(...call: Parameters<typeof priced>): number {
  return priced(...call).costNano;
}
