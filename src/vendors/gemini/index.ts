import { readGoogleRefusal } from "../google/refusal.ts";
import { HttpProvider } from "../http/http-provider.ts";
import type { Vendor } from "../vendor.ts";

/** https://ai.google.dev/api: the address that its SDK takes is the bare origin. */
const pathPrefix = "/v1beta";

export const gemini: Vendor = {
  defaults: { dialects: ["gemini"], maxTokensField: "max_tokens", countTokens: true },
  keys: "required",
  strictDialects: ["gemini"],
  capabilities: {},
  baseUrl: {
    default: "https://generativelanguage.googleapis.com",
    example: "https://generativelanguage.googleapis.com",
    pathWarning: (path) =>
      /\/v\d\w*\/*$/.test(path) ? 'ends in a version, which kind "gemini" adds by itself' : null,
  },
  create: (settings, context) =>
    new HttpProvider(
      settings,
      {
        pathPrefix,
        credential: (apiKey) => ({ "x-goog-api-key": apiKey }),
        readRefusal: readGoogleRefusal,
      },
      context,
    ),
};
