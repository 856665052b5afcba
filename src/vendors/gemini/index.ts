import { readGoogleRefusal } from "../google/refusal.ts";
import { safetyFields } from "../google/safety.ts";
import { overHttp } from "../http/http-provider.ts";
import type { Vendor } from "../vendor.ts";
import { adviseOnGemini } from "./advice.ts";

const defaultVersion = "v1beta";

/** https://ai.google.dev/api: the address that its SDK takes is the bare origin. */
export const gemini: Vendor = {
  defaults: { dialects: ["gemini"], maxTokensField: "max_tokens", countTokens: true },
  keys: "required",
  options: ["api_version", "safety"],
  strictDialects: ["gemini"],
  meteredFormats: () => ["gemini"],
  requestFields: safetyFields,
  baseUrl: {
    default: "https://generativelanguage.googleapis.com",
    example: "https://generativelanguage.googleapis.com",
    pathWarning: (path) => {
      if (/\/openai\/*$/.test(path)) return 'is an address for kind "openai-compatible", not for "gemini"';
      return /\/v\d\w*\/*$/.test(path) ? 'ends in a version, which kind "gemini" adds by itself' : null;
    },
  },
  create: overHttp(({ options }) => ({
    pathPrefix: `/${options.api_version ?? defaultVersion}`,
    credential: (apiKey) => ({ "x-goog-api-key": apiKey }),
    advise: adviseOnGemini,
    readRefusal: readGoogleRefusal,
  })),
};
