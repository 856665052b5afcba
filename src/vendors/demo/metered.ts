import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { countPieces } from "./pieces.ts";
import { wholeNumberOf } from "./request.ts";

const defaultDimensions = 64;
const maxDimensions = 128;
/** OpenAI's. */
const categories = [
  ...["harassment", "harassment/threatening", "hate", "hate/threatening", "illicit", "illicit/violent"],
  ...["self-harm", "self-harm/instructions", "self-harm/intent", "sexual", "sexual/minors"],
  ...["violence", "violence/graphic"],
];

/** The demo's responses to requests other than generation, by their methods. */
const answers: Readonly<Record<string, (body: JsonObject) => Json>> = {
  embeddings: ({ model = "", input, dimensions }) => {
    const texts = textsOf(input);
    const requested = wholeNumberOf(dimensions) ?? defaultDimensions;
    const length = Math.min(maxDimensions, Math.max(1, requested));
    const data = texts.map((text, index) => ({
      object: "embedding",
      index,
      embedding: vectorOf(text, length),
    }));
    return { object: "list", model, data, usage: usageOf(texts) };
  },
  moderations: ({ model = "", input }) => ({
    id: "modr-demo",
    model,
    results: textsOf(input).map((text) => {
      const scores = categories.map(
        (name) => [name, text.toLowerCase().includes(name) ? 0.93 : 0.01] as const,
      );
      return {
        flagged: scores.some(([, score]) => score > 0.5),
        categories: Object.fromEntries(scores.map(([name, score]) => [name, score > 0.5])),
        category_scores: Object.fromEntries(scores),
        category_applied_input_types: Object.fromEntries(categories.map((name) => [name, ["text"]])),
      };
    }),
  }),
  rerank: ({ model = "", query, documents, top_n }) => {
    const [requested = ""] = textsOf(query);
    const texts = textsOf(documents);
    const queryVector = vectorOf(requested, defaultDimensions);
    const results = texts
      .map((text, index) => ({
        index,
        relevance_score: similarity(queryVector, vectorOf(text, defaultDimensions)),
      }))
      .toSorted((one, other) => other.relevance_score - one.relevance_score)
      .slice(0, wholeNumberOf(top_n) ?? texts.length);
    return { id: "rerank-demo", model, results, usage: usageOf([requested, ...texts]) };
  },
};

/** Null if the demo does not support the method. */
export function meteredResponse(method: string, body: JsonObject): Json | null {
  return answers[method]?.(body) ?? null;
}

/** Strings, objects with a text, and ids of tokens, one or a list of them. */
function textsOf(value: Json | undefined): string[] {
  const items = Array.isArray(value) && typeof value[0] !== "number" ? value : [value ?? ""];
  return items.map((item) => (isObject(item) ? String(item["text"] ?? "") : String(item)));
}

function usageOf(texts: readonly string[]): JsonObject {
  const tokens = texts.reduce((sum, text) => sum + countPieces(text), 0);
  return { prompt_tokens: tokens, total_tokens: tokens };
}

/** A vector of length 1, closer to another the more words their texts share. */
function vectorOf(text: string, length: number): number[] {
  const vector = Array.from({ length }, () => 0);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
    const place = Bun.hash.crc32(word) % length;
    vector[place] = (vector[place] ?? 0) + 1;
  }
  const size = Math.hypot(...vector) || 1;
  return vector.map((value) => Math.round((value / size) * 1e6) / 1e6);
}

function similarity(one: readonly number[], other: readonly number[]): number {
  const sum = one.reduce((all, value, place) => all + value * (other[place] ?? 0), 0);
  return Math.round(sum * 1e4) / 1e4;
}
