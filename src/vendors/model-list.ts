import { isObject, type JsonObject } from "../base/json.ts";
import type { ModelUse } from "../base/models/model-uses.ts";
import type { ProviderSettings } from "./provider.ts";

/** A model as its provider lists it. */
export interface VendorModel {
  /** As requests name it. */
  readonly id: string;
  /** Tokens; null if the provider does not say. */
  readonly contextWindow: number | null;
  readonly maxOutputTokens: number | null;
  /** In USD per million tokens; null if the provider does not list prices. */
  readonly price: { readonly input: number; readonly output: number } | null;
  /** Absent for models that write text. */
  readonly serves?: readonly ModelUse[];
  /** What the server says that the model can do. */
  readonly capabilities?: Readonly<Record<string, boolean>>;
  /** The program that serves it, where a list shows that. */
  readonly server?: "llamacpp" | "ollama";
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
  /** Where models are described that the lists only name, one after the other. */
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

/** OpenAI's form, which most servers have; some add a window or prices, each under a name of its own. */
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
      price: openRouterPrice(listed["pricing"]),
      ...(isLlamaCpp ? { server: "llamacpp", capabilities: llamaCapabilities(listed) } : {}),
    },
  ];
}

/** What one slot takes. Any other number in llama.cpp's list is the sum of all slots, or what the model was trained for. */
function slotWindow({ meta }: JsonObject): number | null {
  return isObject(meta) ? tokensIn(meta["n_ctx"]) : null;
}

/** llama.cpp turns thinking off for every model that is asked with the effort `none`. */
function llamaCapabilities({ architecture }: JsonObject): Record<string, boolean> {
  const modalities = isObject(architecture) ? architecture["input_modalities"] : null;
  const vision = Array.isArray(modalities) ? { vision: modalities.includes("image") } : {};
  return { ...vision, effort_none: true };
}

/** USD per token, as text. Null for a price in any other form, or below zero (a router that picks the model). */
function openRouterPrice(pricing: unknown): VendorModel["price"] {
  if (!isObject(pricing)) return null;
  const usd = (name: string) => {
    const text = pricing[name];
    const perMillion = typeof text === "string" ? Math.round(Number(text) * 1e12) / 1e6 : Number.NaN;
    return perMillion >= 0 && perMillion < 1e6 ? perMillion : null;
  };
  const [input, output] = [usd("prompt"), usd("completion")];
  return input === null || output === null ? null : { input, output };
}

export function tokensIn(value: unknown): number | null {
  return Number.isSafeInteger(value) && Number(value) > 0 ? Number(value) : null;
}
