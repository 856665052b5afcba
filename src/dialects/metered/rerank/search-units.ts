import type { JsonObject } from "../../../base/json.ts";
import { estimatedTokens } from "../texts.ts";
import { documentsOf } from "./request.ts";

/** A search unit is one query over so many documents. */
const documentsPerUnit = 100;

/** A longer document, with the query beside it, counts as several. https://cohere.com/pricing */
const tokensPerChunk = 500;
const usualTokensPerDocument = 4096;

/** Estimates of tokens are high, so that they can be held for. Four bytes are a token where that is charged. */
const chargedShare = 2.5 / 4;

/** What a request is billed, with long documents in chunks. */
export interface SearchUnits {
  /** Where the provider does not report it. */
  readonly charged: number;
  readonly most: number;
}

function mostTokensPerDocument({ max_tokens_per_doc: most }: JsonObject): number {
  return typeof most === "number" ? most : usualTokensPerDocument;
}

function unitsOf(chunks: number): number {
  return Math.ceil(chunks / documentsPerUnit);
}

export function searchUnits(body: JsonObject, queryTokens: number): SearchUnits {
  const longest = mostTokensPerDocument(body);
  const chunksIn = (tokens: number, share: number) =>
    Math.max(1, Math.ceil((Math.min(tokens * share, longest) + queryTokens * share) / tokensPerChunk));
  let charged = 0;
  let most = 0;
  for (const document of documentsOf(body)) {
    const tokens = estimatedTokens(document);
    charged += chunksIn(tokens, chargedShare);
    most += chunksIn(tokens, 1);
  }
  return { charged: unitsOf(charged), most: unitsOf(most) };
}

/** The same for documents that take long to be looked at one by one; `tokens` is an estimate of all of them. */
export function searchUnitsOfLarge(
  body: JsonObject,
  queryTokens: number,
  documents: number,
  tokens: number,
): SearchUnits {
  const read = Math.min(tokens, documents * mostTokensPerDocument(body)) + documents * queryTokens;
  const chunks = read / tokensPerChunk;
  return {
    charged: unitsOf(Math.max(documents, chunks * chargedShare)),
    most: unitsOf(documents + chunks),
  };
}
