import { keySchemes } from "../credentials/credential.ts";
import { overHttp } from "../http/http-provider.ts";
import { openAiModelList } from "../model-list.ts";
import type { BaseUrlRules, Vendor } from "../vendor.ts";
import { openAiReports } from "./usage-report.ts";

/** The base URL of OpenAI's SDK ends in `/v1`, and compatible servers follow that. */
export const openAiBaseUrl: Pick<BaseUrlRules, "pathWarning"> = {
  pathWarning: (path) => (path === "/" ? "has no path; OpenAI kinds usually end in /v1" : null),
};

/** https://platform.openai.com/docs/api-reference */
export const openAi: Vendor = {
  defaults: {
    dialects: ["chat", "responses"],
    maxTokensField: "max_completion_tokens",
    countTokens: false,
  },
  keys: "required",
  genAiName: () => "openai",
  options: ["auth"],
  strictDialects: ["chat", "responses"],
  sellsBatches: true,
  fieldsOf: ["OpenAI"],
  searchesIn: ["responses"],
  compactsResponses: true,
  meteredFormats: () => ["openai"],
  baseUrl: {
    default: "https://api.openai.com/v1",
    example: "https://api.openai.com/v1",
    ...openAiBaseUrl,
  },
  modelLists: () => [openAiModelList],
  usageReports: openAiReports,
  create: overHttp(({ options }) => ({ credential: keySchemes[options.auth ?? "bearer"] })),
};
