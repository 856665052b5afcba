import { describe, expect, test } from "bun:test";
import { mergeUsage, readUsage } from "../../src/dialects/usage.ts";

const none = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
};

describe("C61 input is told apart from what came from a cache", () => {
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
    expect(readUsage("chat", chat)).toEqual(usage);
    const responses = {
      input_tokens: 100,
      output_tokens: 9,
      input_tokens_details: { cached_tokens: 75, cache_write_tokens: 5 },
      output_tokens_details: { reasoning_tokens: 4 },
    };
    expect(readUsage("responses", responses)).toEqual(usage);
  });

  test("Anthropic's does not", () => {
    const messages = {
      input_tokens: 7,
      cache_read_input_tokens: 10_000,
      cache_creation_input_tokens: 3,
      output_tokens: 9,
      output_tokens_details: { thinking_tokens: 4 },
    };
    expect(readUsage("messages", messages)).toEqual({
      inputTokens: 7,
      cachedInputTokens: 10_000,
      cacheWriteTokens: 3,
      outputTokens: 9,
      reasoningTokens: 4,
    });
  });

  test("DeepSeek tells its cache elsewhere, Anthropic sometimes by age", () => {
    expect(
      readUsage("chat", { prompt_tokens: 10, completion_tokens: 1, prompt_cache_hit_tokens: 8 }),
    ).toEqual({
      ...none,
      inputTokens: 2,
      cachedInputTokens: 8,
      outputTokens: 1,
    });
    const byAge = { ephemeral_5m_input_tokens: 2, ephemeral_1h_input_tokens: 3 };
    expect(readUsage("messages", { input_tokens: 1, output_tokens: 1, cache_creation: byAge })).toEqual({
      ...none,
      inputTokens: 1,
      cacheWriteTokens: 5,
      outputTokens: 1,
    });
  });
});

describe("C65 only figures that can be believed count", () => {
  test("an explicit 0 is a figure, nothing is none", () => {
    expect(readUsage("chat", { prompt_tokens: 0, completion_tokens: 0 })).toEqual(none);
    expect(readUsage("messages", { output_tokens: 0 })).toEqual(none);
    for (const nothing of [null, undefined, {}, [], "12", { prompt_tokens: "12" }, { prompt_tokens: true }]) {
      expect(readUsage("chat", nothing)).toBeNull();
    }
  });

  test("fractions are rounded up, absurdities and negatives are missing", () => {
    expect(readUsage("chat", { prompt_tokens: 1.2, completion_tokens: -3 })).toEqual({
      ...none,
      inputTokens: 2,
    });
    expect(readUsage("chat", { prompt_tokens: 1e300, completion_tokens: Number.NaN })).toBeNull();
  });

  test("parts never exceed the whole", () => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 2,
      prompt_tokens_details: { cached_tokens: 50, cache_write_tokens: 50 },
      completion_tokens_details: { reasoning_tokens: 9 },
    };
    expect(readUsage("chat", usage)).toEqual({
      ...none,
      cachedInputTokens: 10,
      outputTokens: 2,
      reasoningTokens: 2,
    });
  });
});

test("C62 later figures replace earlier ones, and null leaves them", () => {
  const start = { input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 1 };
  const merged = mergeUsage(start, { input_tokens: null, output_tokens: 30 });
  expect(merged).toEqual({ input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 30 });
});
