import { isObject } from "../../base/json.ts";
import { safetyChanges } from "../google/pass-body.ts";
import { readGoogleError } from "../google/provider-error.ts";
import { safetyFields } from "../google/safety.ts";
import { overHttp } from "../http/http-provider.ts";
import { type ModelList, tokensIn, type VendorModel } from "../model-list.ts";
import type { ErrorResponse } from "../provider.ts";
import type { Vendor } from "../vendor.ts";

const defaultVersion = "v1beta";

const ownModels: ModelList = {
  url: ({ baseUrl, options }) => `${baseUrl}/${options.api_version ?? defaultVersion}/models`,
  query: "pageSize=1000",
  read: ({ models, nextPageToken: token }) =>
    Array.isArray(models)
      ? {
          models: models.flatMap(geminiModel),
          next: typeof token === "string" ? `pageSize=1000&pageToken=${encodeURIComponent(token)}` : null,
        }
      : null,
};

/** https://ai.google.dev/api: the address that its SDK takes is the bare origin. */
export const gemini: Vendor = {
  defaults: { dialects: ["gemini"], maxTokensField: "max_tokens", countTokens: true },
  keys: "required",
  genAiName: () => "gcp.gemini",
  options: ["api_version", "safety"],
  strictDialects: ["gemini"],
  sellsBatches: true,
  fieldsOf: ["Google"],
  meteredFormats: () => ["gemini"],
  bodyChanges: (dialect, { safety }) => (dialect === "gemini" && safety !== undefined ? safetyChanges : null),
  requestFields: safetyFields,
  baseUrl: {
    default: "https://generativelanguage.googleapis.com",
    example: "https://generativelanguage.googleapis.com",
    pathWarning: (path) => {
      if (/\/openai\/*$/.test(path)) return 'is a URL for kind "openai-compatible", not for "gemini"';
      return /\/v\d\w*\/*$/.test(path) ? 'ends in a version, which kind "gemini" adds by itself' : null;
    },
  },
  modelLists: () => [ownModels],
  create: overHttp(({ options }) => ({
    pathPrefix: `/${options.api_version ?? defaultVersion}`,
    credential: (apiKey) => ({ "x-goog-api-key": apiKey }),
    advise: adviseOnGemini,
    readProviderError: readGoogleError,
  })),
};

function geminiModel(listed: unknown): VendorModel[] {
  const name = isObject(listed) ? listed["name"] : null;
  if (!isObject(listed) || typeof name !== "string") return [];
  return [
    {
      id: name.replace(/^models\//, ""),
      contextWindow: tokensIn(listed["inputTokenLimit"]),
      maxOutputTokens: tokensIn(listed["outputTokenLimit"]),
      price: null,
    },
  ];
}

/** Advice for an operator if Google rejects a small request. */
export function adviseOnGemini(answer: ErrorResponse, model: string): string | null {
  const { about, quotaResetMs } = readGoogleError(answer);
  if (about === "credential") return "Google rejects the API key; check api_key";
  if (about === "account")
    return "Google does not serve this account: check its location and billing in AI Studio";
  if (quotaResetMs !== undefined) {
    return `the key's daily quota is used up; it resets in ${Math.ceil(quotaResetMs / 3_600_000)} h`;
  }
  switch (answer.head.status) {
    case 403:
      return "the key is not allowed to use this API; check its restrictions, and that the API is enabled in its project";
    case 404:
      return `model ${JSON.stringify(model)} does not exist for this key; check upstream_model`;
    default:
      return null;
  }
}
