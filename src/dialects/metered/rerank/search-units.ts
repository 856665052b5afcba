import type { JsonObject } from "../../../base/json.ts";
import { estimatedTokens } from "../texts.ts";
import { documentsOf } from "./request.ts";

/** A search unit is one query over so many documents. */
const documentsPerUnit = 100;

/** A longer document, with the query beside it, counts as several. https://cohere.com/pricing */
const tokensPerChunk = 500;
const usualTokensPerDocument = 4096;

function mostTokensPerDocument({ max_tokens_per_doc: most }: JsonObject): number {
  return typeof most === "number" ? most : usualTokensPerDocument;
}

/** Where no document is long. */
export function searchUnits(documents: number): number {
  return Math.ceil(documents / documentsPerUnit);
}

/** The most that a request may be billed, with long documents in chunks. */
export function mostSearchUnits(body: JsonObject, queryTokens: number): number {
  let chunks = 0;
  for (const document of documentsOf(body)) {
    const tokens = Math.min(estimatedTokens(document), mostTokensPerDocument(body)) + queryTokens;
    chunks += Math.max(1, Math.ceil(tokens / tokensPerChunk));
  }
  return searchUnits(chunks);
}

/** The same for documents that take long to be looked at one by one; `tokens` is an estimate of all of them. */
export function mostSearchUnitsOf(
  body: JsonObject,
  queryTokens: number,
  documents: number,
  tokens: number,
): number {
  const read = Math.min(tokens, documents * mostTokensPerDocument(body)) + documents * queryTokens;
  return searchUnits(documents + Math.ceil(read / tokensPerChunk));
}
