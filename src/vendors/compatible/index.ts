import { keySchemes } from "../credentials/static-header.ts";
import { overHttp } from "../http/http-provider.ts";
import { openAiModelList } from "../model-list.ts";
import { openAiBaseUrl } from "../openai/index.ts";
import type { Vendor, VendorDefaults } from "../vendor.ts";
import { quirksOf } from "./known-servers.ts";
import { ollamaModel } from "./ollama-model.ts";
import { readCompatibleRefusal } from "./refusal.ts";

/** Of a server that has OpenAI's API, and perhaps not all of it. */
export const compatibleFormats: readonly string[] = ["compatible", "openai"];

/** Any server with OpenAI's API: vLLM, Ollama, OpenRouter, another Sluice. */
export const openAiCompatible: Vendor = {
  defaults: { dialects: ["chat"], maxTokensField: "max_tokens", countTokens: false },
  defaultsFor({ baseUrl, options }): Partial<VendorDefaults> {
    const quirks = options.quirks ?? quirksOf(baseUrl);
    return { quirks, streamUsage: !quirks.includes("no_stream_options") };
  },
  keys: "optional",
  options: ["auth", "quirks"],
  strictDialects: [],
  meteredFormats: (_, { quirks }) => [
    ...(quirks.includes("cohere_embed") ? ["cohere"] : []),
    ...compatibleFormats,
  ],
  baseUrl: { default: null, example: "http://127.0.0.1:11434/v1", ...openAiBaseUrl },
  modelLists: () => [{ ...openAiModelList, describe: ollamaModel }],
  create: overHttp(({ options }) => ({
    credential: keySchemes[options.auth ?? "bearer"],
    readRefusal: readCompatibleRefusal,
  })),
};
