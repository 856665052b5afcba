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
  readonly most: number;
}

/**
 * How many tokens of a document are read; longer ones are cut. A limit of the client's lowers the charge only where
 * every provider that may be asked is sent it, and never the hold: some providers ignore it, and report what they have read.
 */
export function longestDocument(
  { max_tokens_per_doc: limit }: JsonObject,
  formats: readonly MeteredFormat[],
): Bounds {
  const isSent = formats.every(({ write }) => write === undefined);
  if (typeof limit !== "number" || !isSent) {
    return { charged: usualTokensPerDocument, most: usualTokensPerDocument };
  }
  return { charged: limit, most: Math.max(limit, usualTokensPerDocument) };
}

function unitsOf(chunks: number): number {
  return Math.ceil(chunks / documentsPerUnit);
}

/** What a request is billed, with long documents in chunks. */
export function searchUnits(body: JsonObject, longest: Bounds, queryBytes: number): Bounds {
  const chunksIn = (bytes: number, cutAt: number, share: number) =>
    Math.max(1, Math.ceil((Math.min(bytes * share, cutAt) + queryBytes * share) / tokensPerChunk));
  let charged = 0;
  let most = 0;
  for (const document of documentsOf(body)) {
    const bytes = Buffer.byteLength(document);
    charged += chunksIn(bytes, longest.charged, chargedShare);
    most += chunksIn(bytes, longest.most, 1);
  }
  return { charged: unitsOf(charged), most: unitsOf(most) };
}

/** Search units of documents that take too long to measure one by one; `bytes` is their total size. */
export function searchUnitsOfLarge(
  longest: Bounds,
  queryBytes: number,
  documents: number,
  bytes: number,
): Bounds {
  const chunksIn = (cutAt: number, share: number) =>
    (Math.min(bytes * share, documents * cutAt) + documents * queryBytes * share) / tokensPerChunk;
  return {
    charged: unitsOf(Math.max(documents, chunksIn(longest.charged, chargedShare))),
    most: unitsOf(documents + chunksIn(longest.most, 1)),
  };
}
