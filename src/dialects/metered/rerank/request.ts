import { Type } from "@sinclair/typebox";
import { invalidRequest } from "../../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { cutText } from "../../json/parse-body.ts";
import { anyObject, modelName, optional } from "../../schema/fields.ts";
import type { RouteBody } from "../route.ts";

/** The shape that Cohere, Jina, Voyage and vLLM share. */
export const rerankRequest = Type.Object({
  model: modelName,
  query: Type.Union([Type.String(), anyObject]),
  documents: Type.Array(Type.Union([Type.String(), anyObject]), { minItems: 1 }),
  top_n: optional(
    Type.Integer({ minimum: 1, description: "Maximum number of results, best first; default: all." }),
  ),
  return_documents: optional(Type.Boolean()),
  max_tokens_per_doc: optional(Type.Integer({ minimum: 1 })),
});

const ranking = (description: string) =>
  Type.Optional(
    Type.Array(Type.Object({ index: Type.Integer({ minimum: 0 }), relevance_score: Type.Number() }), {
      description,
    }),
  );

/** A provider's own answer has one of the two lists, a translated one has both. */
export const rerankResponse = Type.Object({
  id: Type.Optional(Type.String()),
  results: ranking("Sorted by score."),
  data: ranking("Voyage's name for `results`."),
});

/** The texts of the documents of a valid request. */
export function documentsOf({ documents }: JsonObject): readonly string[] {
  return Array.isArray(documents) ? documents.map(textOf) : [];
}

export function queryOf({ query }: JsonObject): string {
  return textOf(query);
}

/** Below this size a request's query is never truncated. */
const smallBytes = 64 * 1024;

/** The query, which is read again with every document. Throws if it was truncated because the request is large. */
export function wholeQuery({ truncated, bytes }: RouteBody): string {
  if (bytes.length < smallBytes || !hasCut(truncated["query"])) return queryOf(truncated);
  throw invalidRequest(
    "`query` is too long for this many documents. Send a shorter query, or fewer documents.",
    "query",
  );
}

function textOf(document: Json | undefined): string {
  if (typeof document === "string") return document;
  return isObject(document) ? Object.values(document).map(textOf).join(" ") : JSON.stringify(document ?? "");
}

function hasCut(value: Json | undefined): boolean {
  return (
    value === cutText || (typeof value === "object" && value !== null && Object.values(value).some(hasCut))
  );
}
