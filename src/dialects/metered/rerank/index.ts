import type { Json, JsonObject } from "../../../base/json.ts";
import { noUsage, type ReportedUsage } from "../../../base/usage/usage.ts";
import { malformedResponse } from "../../errors/failure.ts";
import { objectOf } from "../../json/json-fields.ts";
import { parseResponse, readOutline } from "../../provider-response/outline.ts";
import { inputUsage, isTokenCount } from "../../usage/reported-usage.ts";
import {
  type MeteredFormat,
  type MeteredReading,
  type MeteredResponse,
  type MeteredRoute,
  openAiFormat,
  type RequestedForm,
} from "../route.ts";
import { documentsOf, queryOf, rerankRequest, rerankResponse, wholeQuery } from "./request.ts";

/** A search unit is one query over this many documents. */
const documentsPerUnit = 100;

/** A longer document (together with the query) counts as several. https://cohere.com/pricing */
const tokensPerChunk = 500;

const usualTokensPerDocument = 4096;

/** A byte is at most one token, which is held for. Four are one where that is charged. */
const chargedShare = 1 / 4;

/** Parsing more would delay other requests. */
const maxParsedBytes = 1024 * 1024;

/** Ranks documents by relevance to a query. */
export const rerank: MeteredRoute = {
  paths: ["/v1/rerank", "/rerank", "/v2/rerank"],
  operation: {
    operationId: "rerank",
    summary: "Rank documents by relevance to a query",
    request: "RerankRequest",
    response: "RerankResponse",
    schemas: { RerankRequest: rerankRequest, RerankResponse: rerankResponse },
  },
  switchedBy: "rerank",
  use: "rerank",
  tracedAs: "rerank",
  requestSchema: rerankRequest,
  prices: ["search_units", "input", "requests"],
  formats: {
    openai: {
      ...openAiFormat("rerank", passRanking),
      changes: ({ top_n: topN }, { quirks }) =>
        quirks.includes("top_k") && topN != null ? { top_n: undefined, top_k: topN } : undefined,
    },
    bedrock: {
      dialect: "converse",
      method: () => "invoke",
      write: ({ model: _, query, documents, top_n: topN, ...others }, { name }, dropped) => {
        for (const field of Object.keys(others)) dropped.add(field);
        return {
          query,
          documents,
          ...(topN == null ? {} : { top_n: topN }),
          ...(/cohere\./.test(name) ? { api_version: 2 } : {}),
        };
      },
      read: ([answer], requested) => writeRanking(answer, requested),
    },
  },
  demand(request, { priced, estimatedInput, estimateText, formats }) {
    const { truncated } = request;
    const count = Array.isArray(truncated["documents"]) ? truncated["documents"].length : 0;
    const isBySearch = priced.has("search_units");
    const query = wholeQuery(request);
    const queryBytes = Buffer.byteLength(query);
    const documentTokens = maxDocumentTokens(truncated, formats);
    const units = () =>
      request.bytes.length > maxParsedBytes
        ? searchUnitsOfLarge(documentTokens, queryBytes, count, request.bytes.length)
        : searchUnits(request.body, documentTokens, queryBytes);
    const { charged, max } = isBySearch ? units() : { charged: 0, max: 0 };
    // A model that reads the query again with every document may be billed for that.
    return {
      input: estimatedInput + estimateText(query) * Math.max(0, count - 1),
      output: 0,
      isInTokens: priced.has("input") || !(isBySearch || priced.has("requests")),
      canBeCounted: true,
      maxExtras: { units: { requests: 1, search_units: max } },
      certain: { requests: 1, search_units: charged },
      // Providers that count otherwise take a unit for each document at most.
      bounds: { search_units: Math.max(count, max) },
    };
  },
  texts: (body) => documentsOf(body).flatMap((document) => [queryOf(body), document]),
  writeEnd: () => "}",
};

/** `results`, or `data` as Voyage has it. */
function passRanking({ bytes }: MeteredResponse, requested: RequestedForm): MeteredReading {
  const { results, data, usage, meta } = readOutline(bytes, "results");
  if (!Array.isArray(results) && !Array.isArray(data)) throw malformedResponse("it has no results");
  const billed = objectOf(objectOf(meta)?.["billed_units"]);
  const units = billed?.["search_units"];
  const tokens = tokensIn(usage) ?? tokensIn(billed) ?? tokensIn(objectOf(meta)?.["tokens"]);
  if (isTokenCount(units))
    return { written: null, usage: tokens, extras: { units: { search_units: units } } };
  return { written: null, usage: unreported(requested, tokens), extras: {} };
}

/** Unreported units are an estimate even if tokens are reported: units are the output of a ranking. */
function unreported({ priced }: RequestedForm, tokens: ReportedUsage | null): ReportedUsage | null {
  if (!priced.includes("search_units")) return tokens;
  return { ...(tokens ?? { ...noUsage, isInputDoubtful: true }), isOutputDoubtful: true };
}

function tokensIn(figures: Json | undefined): ReportedUsage | null {
  const {
    total_tokens: total,
    prompt_tokens: prompt,
    input_tokens: input,
  }: JsonObject = objectOf(figures) ?? {};
  return inputUsage([total, prompt, input].find(isTokenCount));
}

/** Written under both names: Continue reads `data`, all other clients `results`. */
function writeRanking(answer: MeteredResponse | undefined, requested: RequestedForm): MeteredReading {
  const { results } = answer === undefined ? {} : parseResponse(answer);
  if (!Array.isArray(results)) throw malformedResponse("it has no results");
  const list = JSON.stringify(results);
  return { written: `{"results":${list},"data":${list}`, usage: unreported(requested, null), extras: {} };
}

/** The charge if the provider reports none, and the maximum. */
interface Bounds {
  readonly charged: number;
  readonly max: number;
}

/**
 * Number of tokens of a document that are read; longer ones are cut. A client's limit lowers the charge only if every
 * possible provider gets it, and never the hold: some providers ignore it, and report what they have read.
 */
function maxDocumentTokens(
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

/** The search units of a request, with long documents split into chunks. */
function searchUnits(body: JsonObject, documentTokens: Bounds, queryBytes: number): Bounds {
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
function searchUnitsOfLarge(
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
