import { invalidRequest } from "../../../base/errors.ts";
import type { JsonObject } from "../../../base/json.ts";
import { type MeteredRoute, maxTokenIds } from "../route.ts";
import { countCharacters } from "../texts.ts";
import { bedrockCohereEmbeddings, cohereEmbeddings, titanEmbeddings } from "./cohere.ts";
import { geminiEmbeddings, vertexEmbeddings } from "./google.ts";
import { compatibleEmbeddings, openAiEmbeddings } from "./openai.ts";
import { embeddingRequest, embeddingResponse, inputsOf, textsOf, tokenIdsOf } from "./request.ts";
import { writeEnd } from "./vectors.ts";

/** Vectors for texts. */
export const embeddings: MeteredRoute = {
  paths: ["/v1/embeddings"],
  operation: {
    operationId: "createEmbedding",
    summary: "Create embeddings",
    request: "EmbeddingRequest",
    response: "EmbeddingResponse",
    schemas: { EmbeddingRequest: embeddingRequest, EmbeddingResponse: embeddingResponse },
  },
  switchedBy: "embeddings",
  use: "embeddings",
  tracedAs: "embeddings",
  requestSchema: embeddingRequest,
  maxTokenIds,
  prices: ["input", "characters", "requests"],
  formats: {
    openai: openAiEmbeddings,
    compatible: compatibleEmbeddings,
    gemini: geminiEmbeddings,
    vertex: vertexEmbeddings,
    titan: titanEmbeddings,
    bedrock_cohere: bedrockCohereEmbeddings,
    cohere: cohereEmbeddings,
  },
  check(body) {
    if (body["input"] == null && body["messages"] == null) {
      throw invalidRequest("`input` is missing. Send a text, a list of texts, or tokens.", "input");
    }
    if (body["input"] != null && body["messages"] != null) {
      throw invalidRequest("Send `input` or `messages`, not both.", "messages");
    }
  },
  foreignTokens(request, formats) {
    const ids = tokenIdsOf(request.truncated);
    if (ids.length === 0 || formats.every(({ takesTokenIds }) => takesTokenIds)) return null;
    return { ids, withTexts: (texts) => ({ ...request.body, input: [...texts] }) };
  },
  demand(request, { priced, estimatedInput }) {
    const ids = tokenIdsOf(request.truncated);
    const isInTexts = ids.length === 0 && request.truncated["messages"] == null;
    if (priced.has("characters") && !isInTexts) throw uncounted(ids.length === 0 ? "messages" : "input");
    const characters = priced.has("characters") ? countCharacters(request, () => textsOf(request.body)) : 0;
    const certain = { requests: 1, characters };
    return {
      input: ids.length === 0 ? estimatedInput : ids.reduce((sum, { length }) => sum + length, 0),
      output: 0,
      isInTokens: true,
      // Only the provider knows what it makes of messages.
      canBeCounted: isInTexts,
      maxExtras: { units: certain },
      certain,
    };
  },
  countInputs: (body) => (body["messages"] == null ? inputsOf(body).length : null),
  split: (body, max) => splitInputs(body, max),
  texts: textsOf,
  writeEnd,
};

function uncounted(field: string): Error {
  return invalidRequest(
    "This model is billed by characters (`price.characters`). Send text in `input`.",
    field,
  );
}

function splitInputs(body: JsonObject, max: number): readonly JsonObject[] {
  const inputs = inputsOf(body);
  if (inputs.length <= max) return [body];
  const parts: JsonObject[] = [];
  for (let from = 0; from < inputs.length; from += max) {
    parts.push({ ...body, input: inputs.slice(from, from + max) as string[] });
  }
  return parts;
}
