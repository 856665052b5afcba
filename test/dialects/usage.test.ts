import { describe, expect, test } from "bun:test";
import type { Json, JsonObject } from "../../src/base/json.ts";
import { providerDialect } from "../../src/dialects/registry.ts";
import { mergeReported } from "../../src/dialects/usage/reported-usage.ts";
import type { BodyDialectName } from "../support/body-dialects.ts";

/** The figures of an answer with this usage. */
function usageIn(dialect: BodyDialectName, usage: Json | undefined) {
  return providerDialect(dialect).usageIn({ usage });
}

const none = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
};

describe("input is told apart from what came from a cache (C61)", () => {
  test("OpenAI's input includes it", () => {
    const chat = {
      prompt_tokens: 100,
      completion_tokens: 9,
      prompt_tokens_details: { cached_tokens: 75, cache_write_tokens: 5 },
      completion_tokens_details: { reasoning_tokens: 4 },
    };
    const usage = {
      inputTokens: 20,
      cachedInputTokens: 75,
      cacheWriteTokens: 5,
      outputTokens: 9,
      reasoningTokens: 4,
    };
    expect(usageIn("chat", chat)).toEqual(usage);
    const responses = {
      input_tokens: 100,
      output_tokens: 9,
      input_tokens_details: { cached_tokens: 75, cache_write_tokens: 5 },
      output_tokens_details: { reasoning_tokens: 4 },
    };
    expect(usageIn("responses", responses)).toEqual(usage);
  });

  test("Anthropic's does not", () => {
    const messages = {
      input_tokens: 7,
      cache_read_input_tokens: 10_000,
      cache_creation_input_tokens: 3,
      output_tokens: 9,
      output_tokens_details: { thinking_tokens: 4 },
    };
    expect(usageIn("messages", messages)).toEqual({
      inputTokens: 7,
      cachedInputTokens: 10_000,
      cacheWriteTokens: 3,
      outputTokens: 9,
      reasoningTokens: 4,
    });
  });

  test.each(["cached_tokens", "prompt_cache_hit_tokens", "num_cached_tokens"])(
    "some report their cache beside the details, as %s",
    (field) => {
      const chat = { prompt_tokens: 10, completion_tokens: 1, [field]: 8 };
      const usage = { ...none, inputTokens: 2, cachedInputTokens: 8, outputTokens: 1 };
      expect(usageIn("chat", chat)).toEqual(usage);
      expect(usageIn("chat", { ...chat, prompt_tokens_details: { cached_tokens: 0 } })).toEqual(usage);
      expect(usageIn("chat", { ...chat, prompt_tokens_details: { cached_tokens: 8 } })).toEqual(usage);
      const inChoice = { choices: [{ index: 0, delta: {}, usage: chat }] };
      expect(providerDialect("chat").usageIn(inChoice)).toEqual(usage);
    },
  );

  test("Anthropic sometimes reports what is written by its age", () => {
    const byAge = { ephemeral_5m_input_tokens: 2, ephemeral_1h_input_tokens: 3 };
    expect(usageIn("messages", { input_tokens: 1, output_tokens: 1, cache_creation: byAge })).toEqual({
      ...none,
      inputTokens: 1,
      cacheWriteTokens: 5,
      cacheWriteHourTokens: 3,
      outputTokens: 1,
    });
  });

  test("what later rounds of Anthropic write is for an hour where all of the first round's was", () => {
    const of = (shortTokens: number, hourTokens: number) =>
      usageIn("messages", {
        input_tokens: 1,
        output_tokens: 1,
        cache_creation_input_tokens: 3000,
        cache_creation: { ephemeral_5m_input_tokens: shortTokens, ephemeral_1h_input_tokens: hourTokens },
      });
    expect(of(0, 1000)).toMatchObject({ cacheWriteTokens: 3000, cacheWriteHourTokens: 3000 });
    expect(of(400, 600)).toMatchObject({ cacheWriteTokens: 3000, cacheWriteHourTokens: 600 });
    expect(of(1000, 0)).not.toHaveProperty("cacheWriteHourTokens");
  });
});

test("sound and images in the cache are not counted as read anew", () => {
  const input = {
    audio_tokens: 60,
    image_tokens: 9,
    cached_tokens_details: { audio_tokens: 50, image_tokens: 9 },
  };
  const parts = { audioInputTokens: 10, cachedAudioInputTokens: 50, imageInputTokens: 0 };
  const expected = { ...parts, cachedImageInputTokens: 9, audioOutputTokens: 4, imageOutputTokens: 7 };
  const output = { audio_tokens: 4, image_tokens: 7 };
  const chat = { prompt_tokens_details: input, completion_tokens_details: output };
  expect(providerDialect("chat").readExtras({ usage: chat })).toEqual(expected);
  const responses = { input_tokens_details: input, output_tokens_details: output };
  expect(providerDialect("responses").readExtras({ usage: responses })).toEqual(expected);
});

test("what is reported beside the tokens is read wherever the usage is", () => {
  const usage = { prompt_tokens: 10, completion_tokens: 1, num_search_queries: 3 };
  expect(providerDialect("chat").readExtras({ choices: [{ usage }] })).toEqual({ calls: { web_search: 3 } });
});

describe("only figures that can be believed count (C65)", () => {
  test("an explicit 0 is a figure, nothing is none", () => {
    expect(usageIn("chat", { prompt_tokens: 0, completion_tokens: 0 })).toEqual(none);
    expect(usageIn("messages", { input_tokens: 0, output_tokens: 0 })).toEqual(none);
    for (const nothing of [null, undefined, {}, [], "12", { prompt_tokens: "12" }, { prompt_tokens: true }]) {
      expect(usageIn("chat", nothing)).toBeNull();
    }
  });

  test("a detail that is left out or null is none", () => {
    const details = { cached_tokens: null, cache_write_tokens: null };
    const chat = { prompt_tokens: 3, completion_tokens: 2, prompt_tokens_details: details };
    expect(usageIn("chat", chat)).toEqual({ ...none, inputTokens: 3, outputTokens: 2 });
    const messages = {
      input_tokens: 3,
      output_tokens: 2,
      cache_read_input_tokens: null,
      cache_creation: null,
    };
    expect(usageIn("messages", messages)).toEqual({
      ...none,
      inputTokens: 3,
      outputTokens: 2,
    });
  });

  test("what is written to a cache and read from it is counted once", () => {
    const details = { cached_tokens: 8, cache_write_tokens: 5 };
    const usage = { prompt_tokens: 10, completion_tokens: 2, prompt_tokens_details: details };
    expect(usageIn("chat", usage)).toEqual({
      ...none,
      cachedInputTokens: 8,
      cacheWriteTokens: 2,
      outputTokens: 2,
    });
  });

  test("reasoning that the output leaves out is added to it, where the total says so", () => {
    const details = { completion_tokens_details: { reasoning_tokens: 94 } };
    const apart = { prompt_tokens: 32, completion_tokens: 9, total_tokens: 135, ...details };
    expect(usageIn("chat", apart)).toEqual({
      ...none,
      inputTokens: 32,
      outputTokens: 103,
      reasoningTokens: 94,
    });
    const within = { prompt_tokens: 32, completion_tokens: 103, total_tokens: 135, ...details };
    expect(usageIn("chat", within)).toEqual({
      ...none,
      inputTokens: 32,
      outputTokens: 103,
      reasoningTokens: 94,
    });
  });
});

/** Nothing of this is a count of tokens. */
const nonsense = ["12", true, [], {}, -1, 1.5, Number.NaN, Number.NEGATIVE_INFINITY];

/** Implausibly many tokens. */
const absurd = [1_000_000_001, 1e12, 1e300, 1_000_000_000.5, Number.POSITIVE_INFINITY];

interface Names {
  readonly dialect: BodyDialectName;
  readonly input: string;
  readonly output: string;
  readonly inputDetails: readonly (readonly string[])[];
  readonly reasoning: readonly [string, string];
}

const names: readonly Names[] = [
  {
    dialect: "chat",
    input: "prompt_tokens",
    output: "completion_tokens",
    inputDetails: [
      ["prompt_tokens_details", "cached_tokens"],
      ["prompt_tokens_details", "cache_write_tokens"],
      ["prompt_cache_hit_tokens"],
    ],
    reasoning: ["completion_tokens_details", "reasoning_tokens"],
  },
  {
    dialect: "responses",
    input: "input_tokens",
    output: "output_tokens",
    inputDetails: [
      ["input_tokens_details", "cached_tokens"],
      ["input_tokens_details", "cache_write_tokens"],
    ],
    reasoning: ["output_tokens_details", "reasoning_tokens"],
  },
  {
    dialect: "messages",
    input: "input_tokens",
    output: "output_tokens",
    inputDetails: [
      ["cache_read_input_tokens"],
      ["cache_creation_input_tokens"],
      ["cache_creation", "ephemeral_5m_input_tokens"],
      ["cache_creation", "ephemeral_1h_input_tokens"],
    ],
    reasoning: ["output_tokens_details", "thinking_tokens"],
  },
];

function nested(path: readonly string[], value: unknown): JsonObject {
  return path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as JsonObject;
}

describe.each(names)("half-believable usage of $dialect", (of) => {
  const read = (usage: object) => usageIn(of.dialect, usage as JsonObject);

  test("makes the side doubtful that lacks its figure, and keeps the other", () => {
    for (const wrong of [...nonsense, null, undefined]) {
      expect(read({ [of.input]: 100, [of.output]: wrong })).toEqual({
        ...none,
        inputTokens: 100,
        isOutputDoubtful: true,
      });
      expect(read({ [of.input]: wrong, [of.output]: 7 })).toEqual({
        ...none,
        outputTokens: 7,
        isInputDoubtful: true,
      });
      expect(read({ [of.input]: wrong, [of.output]: wrong })).toBeNull();
    }
  });

  test("above what anybody can have used is read as more than that", () => {
    const most = 1_000_000_000;
    expect(read({ [of.input]: most, [of.output]: most })).toEqual({
      ...none,
      inputTokens: most,
      outputTokens: most,
    });
    for (const figure of absurd) {
      expect(read({ [of.input]: figure, [of.output]: figure })).toEqual({
        ...none,
        inputTokens: most + 1,
        outputTokens: most + 1,
      });
    }
  });

  test("with a detail that is no count, or is larger than its whole, makes that side doubtful", () => {
    const sane = { [of.input]: 100, [of.output]: 7 };
    for (const wrong of nonsense) {
      for (const path of of.inputDetails) {
        expect(read({ ...sane, ...nested(path, wrong) })).toEqual({
          ...none,
          inputTokens: 100,
          outputTokens: 7,
          isInputDoubtful: true,
        });
      }
    }
    for (const wrong of nonsense) {
      expect(read({ ...sane, ...nested(of.reasoning, wrong) })).toEqual({
        ...none,
        inputTokens: 100,
        outputTokens: 7,
        isOutputDoubtful: true,
      });
    }
    // Reasoning is output, and what is hidden of it cannot be counted.
    expect(read({ ...sane, ...nested(of.reasoning, 8) })).toEqual({
      ...none,
      inputTokens: 100,
      outputTokens: 8,
      reasoningTokens: 8,
      isOutputDoubtful: true,
    });
    if (of.dialect === "messages") return;
    for (const path of of.inputDetails) {
      expect(read({ ...sane, ...nested(path, 101) })).toMatchObject({
        inputTokens: 100,
        isInputDoubtful: true,
      });
    }
  });
});

test("later figures replace earlier ones, and null leaves them (C62)", () => {
  const merged = { input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 1 };
  expect(mergeReported(merged, { input_tokens: null, output_tokens: 30 })).toBe(true);
  expect(mergeReported(merged, null)).toBe(false);
  expect(merged).toEqual({ input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 30 });
});
