import type { JsonObject } from "../../../src/base/json.ts";
import { type Answer, json, text } from "../../support/answers.ts";

/** One request of a metered route, and all that its money follows from. */
export interface MeteredCase {
  readonly path: string;
  readonly body: JsonObject;
  readonly answer: Answer;
  /** In credits. */
  readonly cost: number;
  readonly hold: number;
  /** What is held where that is much of what there is, because the input is counted; missing if it is the same. */
  readonly countedHold?: number;
  /** What a key with a token budget pays; null if it cannot be used with one. */
  readonly tokens: number | null;
  /** What `x-sluice-units` says; null for nothing. */
  readonly units: string | null;
  /** TOML of the model's price. */
  readonly price: string;
  /** What the model serves, if that has another name than the case. */
  readonly use?: string;
  /** A client that leaves a whole answer ends it, as it does a generation. */
  readonly isCancelled?: true;
}

/** A new route adds a line here, and everything that holds for all of them is tested for it. */
export const meteredCases: Readonly<Record<string, MeteredCase>> = {
  embeddings: {
    path: "/v1/embeddings",
    body: { input: ["one", "two words"] },
    answer: json({
      object: "list",
      data: [
        { object: "embedding", index: 0, embedding: [0.1, 0.2] },
        { object: "embedding", index: 1, embedding: [0.3, 0.4] },
      ],
      model: "upstream",
      usage: { prompt_tokens: 3, total_tokens: 3 },
    }),
    cost: 0.000003,
    hold: 0.00006,
    countedHold: 0.000003,
    tokens: 3,
    units: null,
    price: "{ input = 1.0 }",
  },
  rerank: {
    path: "/v1/rerank",
    body: {
      query: "which one?",
      documents: Array.from({ length: 250 }, (_, index) => `document ${index}`),
      top_n: 2,
    },
    answer: json({
      id: "1",
      results: [
        { index: 7, relevance_score: 0.9 },
        { index: 3, relevance_score: 0.2 },
      ],
      meta: { billed_units: { search_units: 3 } },
    }),
    cost: 0.006,
    hold: 0.006,
    tokens: null,
    units: "search_units=3",
    price: "{ search_units = 2.0 }",
  },
  completions: {
    path: "/v1/completions",
    body: { prompt: [[1, 2, 3]], max_tokens: 10 },
    answer: json({
      id: "cmpl-1",
      object: "text_completion",
      created: 1794700000,
      model: "upstream",
      choices: [{ index: 0, text: "go on", finish_reason: "stop", logprobs: null }],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    }),
    cost: 0.000007,
    hold: 0.000023,
    tokens: 5,
    units: null,
    price: "{ input = 1.0, output = 2.0 }",
    isCancelled: true,
  },
  images: {
    path: "/v1/images/generations",
    body: { prompt: "a lock on a canal", n: 2 },
    answer: json({ created: 1, data: [{ b64_json: "AAAA" }, { b64_json: "BBBB" }] }),
    cost: 0.08,
    hold: 0.08,
    tokens: null,
    units: "images=2",
    price: "{ images = 0.04 }",
  },
  speech: {
    path: "/v1/audio/speech",
    body: { input: "hello", voice: "alloy" },
    answer: text("mp3", "audio/mpeg"),
    cost: 0.000075,
    hold: 0.000075,
    tokens: null,
    units: "characters=5",
    price: "{ characters = 15.0 }",
  },
  transcriptions: {
    path: "/v1/audio/transcriptions",
    body: { input_audio: { data: "A".repeat(4000), format: "mp3" } },
    answer: json({ text: "hello", usage: { type: "duration", seconds: 3 } }),
    cost: 0.0003,
    hold: 0.0003,
    tokens: null,
    units: "minutes=0.05",
    price: "{ audio_minutes = 0.006 }",
  },
  moderations: {
    path: "/v1/moderations",
    body: { input: "is this harmful?" },
    answer: json({ id: "modr-1", model: "upstream", results: [{ flagged: false }] }),
    cost: 0,
    hold: 0,
    tokens: 0,
    units: null,
    price: "{ input = 1.0 }",
  },
};

/** A model for each, of its own name and use, with a second provider behind the first one. */
export function meteredModels(): string {
  return Object.entries(meteredCases)
    .map(
      ([name, { price, use = name }]) => `
[[models]]
id = "${name}-model"
aliases = ["${name}-alias"]
serves = ["${use}"]
price = ${price}
deployments = [
  { provider = "openai", upstream_model = "first-${name}", priority = 1 },
  { provider = "local", upstream_model = "second-${name}", priority = 2 },
]
`,
    )
    .join("\n");
}
