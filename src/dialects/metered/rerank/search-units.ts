import type { JsonObject } from "../../../base/json.ts";
import type { MeteredFormat } from "../route.ts";
import { documentsOf } from "./request.ts";

/** A search unit is one query over so many documents. */
const documentsPerUnit = 100;

/** A longer document, with the query beside it, counts as several. https://cohere.com/pricing */
const tokensPerChunk = 500;
const usualTokensPerDocument = 4096;

/** A byte is at most one token, which is held for. Four are one where that is charged. */
const chargedShare = 1 / 4;

/** What is charged where the provider does not report it, and the most that it may be. */
interface Bounds {
  readonly charged: number;
  readonly max: number;
}

/**
 * How many tokens of a document are read; longer ones are cut. A limit of the client's lowers the charge only where
 * every provider that may be asked is sent it, and never the hold: some providers ignore it, and report what they have read.
 */
export function maxDocumentTokens(
  { max_tokens_per_doc: limit }: JsonObject,
  formats: readonly MeteredFormat[],
): Bounds {
  const isSent = formats.every(({ write }) => write === undefined);
  if (typeof limit !== "number" || !isSent) {
    return { charged: usualTokensPerDocument, max: usualTokensPerDocument };
  }
  return { charged: limit, max: Math.max(limit, usualTokensPerDocument) };
}

function unitsOf(chunks: number): number {
  return Math.ceil(chunks / documentsPerUnit);
}

/** What a request is billed, with long documents in chunks. */
export function searchUnits(body: JsonObject, documentTokens: Bounds, queryBytes: number): Bounds {
  const chunksIn = (bytes: number, cutAt: number, share: number) =>
    Math.max(1, Math.ceil((Math.min(bytes * share, cutAt) + queryBytes * share) / tokensPerChunk));
  let charged = 0;
  let max = 0;
  for (const document of documentsOf(body)) {
    const bytes = Buffer.byteLength(document);
    charged += chunksIn(bytes, documentTokens.charged, chargedShare);
    max += chunksIn(bytes, documentTokens.max, 1);
  }
  return { charged: unitsOf(charged), max: unitsOf(max) };
}

/** Search units of documents that take too long to measure one by one; `bytes` is their total size. */
export function searchUnitsOfLarge(
  documentTokens: Bounds,
  queryBytes: number,
  documents: number,
  bytes: number,
): Bounds {
  const chunksIn = (cutAt: number, share: number) =>
    (Math.min(bytes * share, documents * cutAt) + documents * queryBytes * share) / tokensPerChunk;
  return {
    charged: unitsOf(Math.max(documents, chunksIn(documentTokens.charged, chargedShare))),
    max: unitsOf(documents + chunksIn(documentTokens.max, 1)),
  };
}
