import { isObject, type JsonObject } from "../../base/json.ts";
import { type ModelList, type ModelListPage, openAiModelList } from "../model-list.ts";
import type { ProviderSettings } from "../provider.ts";

/** Bedrock's lists are at another host than its models; another address of the models has both. */
const modelHost = /^(https:\/\/bedrock)-runtime((?:-fips)?\.)/;

/** Models that are called by their own names, and then inference profiles, which most new models need. */
export function bedrockModelLists({ options }: Pick<ProviderSettings, "options">): readonly ModelList[] {
  if (options.endpoint === "mantle")
    return [{ ...openAiModelList, url: ({ baseUrl }) => `${baseUrl}/v1/models` }];
  return [foundationModels, inferenceProfiles];
}

/** https://docs.aws.amazon.com/bedrock/latest/APIReference/API_ListFoundationModels.html */
const foundationModels: ModelList = {
  url: (settings) => `${controlAddress(settings)}/foundation-models`,
  query: "byInferenceType=ON_DEMAND",
  read: (body) => pageOf(body, "modelSummaries", "modelId"),
};

const profileQuery = "maxResults=1000&type=SYSTEM_DEFINED";

/** https://docs.aws.amazon.com/bedrock/latest/APIReference/API_ListInferenceProfiles.html */
const inferenceProfiles: ModelList = {
  url: (settings) => `${controlAddress(settings)}/inference-profiles`,
  query: profileQuery,
  read: (body) => pageOf(body, "inferenceProfileSummaries", "inferenceProfileId"),
};

function controlAddress({ baseUrl }: Pick<ProviderSettings, "baseUrl">): string {
  return baseUrl.replace(modelHost, "$1$2");
}

function pageOf(body: JsonObject, list: string, name: string): ModelListPage | null {
  const { [list]: listed, nextToken: token } = body;
  if (!Array.isArray(listed)) return null;
  const models = listed.flatMap((each) => {
    const id = isObject(each) ? each[name] : null;
    if (typeof id !== "string" || id === "") return [];
    return [{ id, contextWindow: null, maxOutputTokens: null, price: null }];
  });
  const next = typeof token === "string" ? `${profileQuery}&nextToken=${encodeURIComponent(token)}` : null;
  return { models, next };
}
