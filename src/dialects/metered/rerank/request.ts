import { Type } from "@sinclair/typebox";
import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { anyObject, modelName, optional } from "../../schema/fields.ts";

/** The shape that Cohere, Jina, Voyage and vLLM share. */
export const rerankRequest = Type.Object({
  model: modelName,
  query: Type.Union([Type.String(), anyObject]),
  documents: Type.Array(Type.Union([Type.String(), anyObject]), { minItems: 1 }),
  top_n: optional(
    Type.Integer({ minimum: 1, description: "How many of the best are returned; default: all." }),
  ),
  return_documents: optional(Type.Boolean()),
  max_tokens_per_doc: optional(Type.Integer({ minimum: 1 })),
});

export const rerankResponse = Type.Object({
  id: Type.Optional(Type.String()),
  results: Type.Array(Type.Object({ index: Type.Integer({ minimum: 0 }), relevance_score: Type.Number() }), {
    description: "Sorted by score.",
  }),
});

/** The texts of the documents of a valid request. */
export function documentsOf({ documents }: JsonObject): readonly string[] {
  return Array.isArray(documents) ? documents.map(textOf) : [];
}

export function queryOf({ query }: JsonObject): string {
  return textOf(query);
}

function textOf(document: Json | undefined): string {
  if (typeof document === "string") return document;
  const text = isObject(document) ? document["text"] : undefined;
  return typeof text === "string" ? text : JSON.stringify(document ?? "");
}
