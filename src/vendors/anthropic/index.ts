import { keySchemes } from "../credentials/credential.ts";
import { overHttp } from "../http/http-provider.ts";
import { type ModelList, openAiModelList } from "../model-list.ts";
import type { Vendor } from "../vendor.ts";
import { messageBatches } from "./message-batches.ts";
import { anthropicReports } from "./usage-report.ts";

const ownModels: ModelList = {
  url: ({ baseUrl }) => `${baseUrl}${pathPrefix}/models`,
  query: "limit=1000",
  headers: { "anthropic-version": "2023-06-01" },
  read: (body) => {
    const page = openAiModelList.read(body);
    const last = body["last_id"];
    const hasMore = body["has_more"] === true && typeof last === "string";
    return page && { ...page, next: hasMore ? `limit=1000&after_id=${encodeURIComponent(last)}` : null };
  },
};

/** https://docs.claude.com/en/api/overview: the address that its SDK takes is the bare origin. */
const pathPrefix = "/v1";

export const anthropic: Vendor = {
  defaults: { dialects: ["messages"], maxTokensField: "max_tokens", countTokens: true },
  keys: "required",
  genAiName: () => "anthropic",
  options: ["auth"],
  strictDialects: ["messages"],
  sellsBatches: true,
  lacksFlex: true,
  fieldsOf: ["Anthropic"],
  searchesIn: ["messages"],
  baseUrl: {
    default: "https://api.anthropic.com",
    example: "https://api.anthropic.com",
    pathWarning: (path) =>
      /\/v1\/*$/.test(path) ? 'ends in /v1, which kind "anthropic" adds by itself' : null,
  },
  modelLists: () => [ownModels],
  batches: messageBatches,
  usageReports: anthropicReports,
  create: overHttp(({ options }) => ({ pathPrefix, credential: keySchemes[options.auth ?? "x-api-key"] })),
};
