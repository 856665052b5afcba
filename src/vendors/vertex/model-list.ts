import { isObject, type JsonObject } from "../../base/json.ts";
import type { ModelList, ModelListPage } from "../model-list.ts";
import type { ProviderSettings } from "../provider.ts";
import { projectOf } from "./address.ts";

/** Publishers whose models are called by their plain names. */
const publishers = ["google", "anthropic"];
const pageSize = "pageSize=300";

/** The Model Garden's lists. The project pays for what a person's own credential asks. */
export function vertexModelLists(settings: Pick<ProviderSettings, "options">): readonly ModelList[] {
  const project = projectOf(settings);
  const headers = project === null ? {} : { "x-goog-user-project": project };
  return publishers.map((publisher) => ({
    url: ({ baseUrl }) => `${baseUrl}/v1beta1/publishers/${publisher}/models`,
    query: pageSize,
    headers,
    read: readPage,
  }));
}

/** An empty page has no list. */
function readPage({ publisherModels: listed = [], nextPageToken: token }: JsonObject): ModelListPage | null {
  if (!Array.isArray(listed)) return null;
  const models = listed.flatMap((each) => {
    const name = isObject(each) ? each["name"] : null;
    const id = typeof name === "string" ? (name.split("/").at(-1) ?? "") : "";
    return id === "" ? [] : [{ id, contextWindow: null, maxOutputTokens: null, price: null }];
  });
  const hasMore = typeof token === "string" && token !== "";
  return { models, next: hasMore ? `${pageSize}&pageToken=${encodeURIComponent(token)}` : null };
}
