import { errorIn } from "../../dialects/errors/bare-error.ts";
import { durationMs } from "../../dialects/errors/rate-limits.ts";
import { objectOf } from "../../dialects/json/json-fields.ts";
import { keySchemes } from "../credentials/credential.ts";
import { readDefaultError } from "../http/default-error.ts";
import { dialectPath, type HttpVendorOptions, overHttp } from "../http/http-provider.ts";
import { openAiModelList } from "../model-list.ts";
import { openAiBaseUrl } from "../openai/index.ts";
import type {
  ErrorResponse,
  PreparedRequest,
  ProviderError,
  ProviderErrorSubject,
  ProviderSettings,
} from "../provider.ts";
import type { Vendor, VendorDefaults } from "../vendor.ts";
import { genAiNameAt, quirksOf } from "./known-servers.ts";
import { localDescriptions, localLists } from "./local-descriptions.ts";

/** Formats of a server with OpenAI's API, which may implement only a part of them. */
export const compatibleFormats: readonly string[] = ["compatible", "openai"];

/** Any server with OpenAI's API: vLLM, Ollama, OpenRouter, another Sluice. */
export const openAiCompatible: Vendor = {
  defaults: { dialects: ["chat"], maxTokensField: "max_tokens", countTokens: false },
  defaultsFor({ baseUrl, options }): Partial<VendorDefaults> {
    const quirks = options.quirks ?? quirksOf(baseUrl);
    return { quirks, streamUsage: !quirks.includes("no_stream_options") };
  },
  keys: "optional",
  genAiName: ({ baseUrl }) => genAiNameAt(baseUrl),
  options: ["auth", "quirks"],
  strictDialects: [],
  meteredFormats: (_, { quirks }) => [
    ...(quirks.includes("cohere_embed") ? ["cohere"] : []),
    ...compatibleFormats,
  ],
  baseUrl: { default: null, example: "http://127.0.0.1:11434/v1", ...openAiBaseUrl },
  modelLists: () => [{ ...openAiModelList, details: localLists, describe: localDescriptions }],
  create: overHttp((settings) => ({
    credential: keySchemes[settings.options.auth ?? "bearer"],
    readProviderError: readCompatibleError,
    ...cohereAddress(settings),
  })),
};

/**
 * Cohere has its own API under `/v2`, and OpenAI's chat at a separate path:
 * https://docs.cohere.com/docs/compatibility-api
 */
function cohereAddress({ baseUrl, quirks }: ProviderSettings): Partial<HttpVendorOptions> {
  const root = baseUrl.endsWith("/v2") ? baseUrl.slice(0, -3) : null;
  if (root === null || !quirks.includes("cohere_embed")) return {};
  const prefixOf = ({ purpose }: PreparedRequest) => (purpose === "metered" ? "/v2" : "/compatibility/v1");
  return { baseUrl: root, target: (prepared) => prefixOf(prepared) + dialectPath(prepared) };
}

/** Errors of OpenAI-compatible servers whose status has an unusual meaning. */
function readCompatibleError(answer: ErrorResponse): ProviderError {
  const error = readDefaultError(answer);
  const about = subjectOf(answer, error);
  const retryAfterMs = error.retryAfterMs ?? limitResetMs(answer);
  return about === null ? { ...error, retryAfterMs } : { ...error, retryAfterMs, about };
}

function subjectOf(
  { head, text }: ErrorResponse,
  { code, type, message }: ProviderError,
): ProviderErrorSubject | null {
  switch (head.status) {
    case 400:
      // Groq: the model wrote an unreadable call; a retry may succeed.
      if (code === "tool_use_failed") return "generation";
      // vLLM was started without its options for tools.
      return /--enable-auto-tool-choice|--tool-call-parser/.test(message) ? "account" : null;
    case 413:
      // Groq: more tokens than the account may use in a minute.
      return type === "tokens" || code === "rate_limit_exceeded" ? "busy" : null;
    case 403:
      // OpenRouter: the prompt was flagged.
      return isFlagged(text) ? "request" : null;
    case 500:
    case 501:
      // llama-server, and Ollama, which passes its errors on.
      return cannot.test(message) ? "request" : null;
    case 498:
      // Groq: no capacity for the flexible tier.
      return "overloaded";
    default:
      return null;
  }
}

/** The model or its server lacks what the request needs. No retry changes that. */
const cannot =
  /^(?:image|audio|video|multimodal) input is not supported|^multimodal data provided, but model does not support|^(?:this|the)(?: current)? (?:server|model) does not support (?:embeddings|reranking|audio|images|multimodal|tools)\b/i;

function isFlagged(text: string): boolean {
  const error = objectOf(errorIn(text)?.["error"]);
  return Array.isArray(objectOf(error?.["metadata"])?.["reasons"]);
}

/** Groq and OpenAI report when the limit resets, e.g. `7.66s` or `2m59.56s`. Only for the limit that is used up. */
function limitResetMs({ head }: ErrorResponse): number | null {
  if (head.status !== 429 && head.status !== 413) return null;
  for (const what of ["tokens", "requests"]) {
    if (head.get(`x-ratelimit-remaining-${what}`) !== "0") continue;
    const resetMs = durationMs(head.get(`x-ratelimit-reset-${what}`) ?? "");
    if (resetMs !== null) return resetMs;
  }
  return null;
}
