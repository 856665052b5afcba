import { keySchemes } from "../credentials/static-header.ts";
import { HttpProvider } from "../http/http-provider.ts";
import { openAiBaseUrl } from "../openai/index.ts";
import type { Vendor } from "../vendor.ts";

/** Any server with OpenAI's API: vLLM, Ollama, OpenRouter, another Sluice. */
export const openAiCompatible: Vendor = {
  defaults: { dialects: ["chat"], maxTokensField: "max_tokens", countTokens: false },
  keys: "optional",
  options: ["auth"],
  strictDialects: [],
  capabilities: {},
  baseUrl: { default: null, example: "http://127.0.0.1:11434/v1", ...openAiBaseUrl },
  create: (settings, context) =>
    new HttpProvider(
      settings,
      { pathPrefix: "", credential: keySchemes[settings.options.auth ?? "bearer"] },
      context,
    ),
};
