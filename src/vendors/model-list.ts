import { isObject, type JsonObject } from "../base/json.ts";
import type { ModelUse } from "../base/models/model-uses.ts";
import type { ProviderSettings } from "./provider.ts";

/** A model as its provider lists it. */
export interface VendorModel {
  /** The model's name in requests. */
  readonly id: string;
  /** In tokens; null if the provider does not report it. */
  readonly contextWindow: number | null;
  readonly maxOutputTokens: number | null;
  /** In USD per million tokens; null if the provider does not list prices. */
  readonly price: VendorPrice | null;
  /** Absent for models that write text. */
  readonly serves?: readonly ModelUse[];
  /** Capabilities that the server reports. */
  readonly capabilities?: Readonly<Record<string, boolean>>;
  /** The program that serves it, where a list shows that. */
  readonly server?: "llamacpp" | "ollama";
}

export interface VendorPrice {
  readonly input: number;
  readonly output: number;
  readonly cached_input?: number;
  readonly cache_write?: number;
  /** Per 1,000 requests. */
  readonly requests?: number;
}

export interface ModelListPage {
  readonly models: readonly VendorModel[];
  /** The query of the next page; null after the last one. */
  readonly next: string | null;
}

/** How to request a vendor's list of models. */
export interface ModelList {
  /** The address without a query. */
  url(settings: ProviderSettings): string;
  /** The query of the first page; empty if there is none. */
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Null if the body is not a list of models. */
  read(body: JsonObject): ModelListPage | null;
  /** Other lists of the same server, which describe models that this one only names. */
  readonly details?: readonly ModelDetails[];
  /** Requests that describe models which the lists only name, one after the other. */
  readonly describe?: readonly ModelDescription[];
}

export interface ModelDetails {
  /** Null if the server of these models cannot have the list. */
  url(settings: ProviderSettings, models: readonly VendorModel[]): string | null;
  /** By the model's id. */
  read(body: JsonObject): ReadonlyMap<string, Partial<VendorModel>>;
}

/** How to request one model's description from a server. */
export interface ModelDescription {
  /** Null if there is none of this model. */
  url(settings: ProviderSettings, model: VendorModel): string | null;
  /** The body of a POST; absent for a GET. */
  body?(model: string): JsonObject;
  read(body: JsonObject, model: VendorModel): Partial<VendorModel>;
}

/** OpenAI's form, which most servers have; some add a window or prices, each under a different name. */
export const openAiModelList: ModelList = {
  url: ({ baseUrl }) => `${baseUrl}/models`,
  read: ({ data }) => (Array.isArray(data) ? { models: data.flatMap(openAiModel), next: null } : null),
};

/** vLLM, OpenRouter, Groq and LM Studio. */
const windowNames = ["max_model_len", "context_length", "context_window", "max_context_length"];

function openAiModel(listed: unknown): VendorModel[] {
  const id = isObject(listed) ? listed["id"] : null;
  if (!isObject(listed) || typeof id !== "string" || id === "") return [];
  const windows = windowNames.map((name) => tokensIn(listed[name]));
  const isLlamaCpp = listed["owned_by"] === "llamacpp";
  return [
    {
      id,
      contextWindow: isLlamaCpp ? slotWindow(listed) : (windows.find((each) => each !== null) ?? null),
      maxOutputTokens: tokensIn(listed["max_completion_tokens"]),
      price: null,
      ...(isLlamaCpp ? { server: "llamacpp", capabilities: llamaCapabilities(listed) } : {}),
      ...(isObject(listed["pricing"]) ? openRouterModel(listed, listed["pricing"]) : {}),
    },
  ];
}

/**
 * OpenRouter's additional facts about a model. A model that also writes images or audio has no price here, because text
 * is half of it.
 */
function openRouterModel(listed: JsonObject, pricing: JsonObject): Partial<VendorModel> {
  const { architecture, top_provider: top, supported_parameters: parameters } = listed;
  const [reads, writes] = ["input_modalities", "output_modalities"].map((name) =>
    isObject(architecture) && Array.isArray(architecture[name]) ? architecture[name] : null,
  );
  const isText = writes == null || writes.every((modality) => modality === "text");
  // Some models have a fee for each image, which is not charged here, so they get none.
  const isImageFree = Number(pricing["image"] ?? 0) === 0;
  const capabilities = {
    ...(reads == null ? {} : { vision: reads.includes("image") && isImageFree }),
    ...(Array.isArray(parameters) ? { tools: parameters.includes("tools") } : {}),
  };
  const output = isObject(top) ? tokensIn(top["max_completion_tokens"]) : null;
  return {
    price: isText ? openRouterPrice(pricing) : null,
    ...(output === null ? {} : { maxOutputTokens: output }),
    ...(Object.keys(capabilities).length === 0 ? {} : { capabilities }),
  };
}

/**
 * The context window of one slot. Any other number in llama.cpp's list is the sum of all slots, or the model's training
 * length.
 */
function slotWindow({ meta }: JsonObject): number | null {
  return isObject(meta) ? tokensIn(meta["n_ctx"]) : null;
}

/** llama.cpp turns thinking off for every model if the effort is `none`. */
function llamaCapabilities({ architecture }: JsonObject): Record<string, boolean> {
  const modalities = isObject(architecture) ? architecture["input_modalities"] : null;
  const vision = Array.isArray(modalities) ? { vision: modalities.includes("image") } : {};
  return { ...vision, effort_none: true };
}

/**
 * USD per token and per request, as text. Null if it is unknown, below zero (a router that picks the model), or in another unit: no
 * model costs more than 2,000 USD per million tokens, or less than a hundredth of a cent.
 */
function openRouterPrice(pricing: JsonObject): VendorPrice | null {
  const rate = (name: string, times: number) => {
    const text = pricing[name] ?? "0";
    const usd = typeof text === "string" && text !== "" ? Number(text) * times : Number.NaN;
    const isAmount = usd === 0 || (usd >= minListedUsd && usd <= maxListedUsd);
    return isAmount ? Math.round(usd * 1e6) / 1e6 : null;
  };
  const [input, output] = ["prompt", "completion"].map((name) => (name in pricing ? rate(name, 1e6) : null));
  const [cached_input, cache_write] = ["input_cache_read", "input_cache_write"].map((name) =>
    rate(name, 1e6),
  );
  const [reasoning, requests] = [rate("internal_reasoning", 1e6), rate("request", 1000)];
  if (input == null || output == null || cached_input == null || cache_write == null) return null;
  // Reasoning is part of the output, so it has no rate of its own here.
  if (reasoning === null || reasoning > output || requests === null) return null;
  return {
    input,
    output,
    ...(cached_input === 0 ? {} : { cached_input }),
    ...(cache_write === 0 ? {} : { cache_write }),
    ...(requests === 0 ? {} : { requests }),
  };
}

const minListedUsd = 0.0001;
const maxListedUsd = 2000;

export function tokensIn(value: unknown): number | null {
  return Number.isSafeInteger(value) && Number(value) > 0 ? Number(value) : null;
}
