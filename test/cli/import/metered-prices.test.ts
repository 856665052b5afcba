import { expect, test } from "bun:test";
import { readPrices } from "../../../src/cli/import/prices.ts";
import { modelsToml } from "../../../src/cli/import/toml.ts";

test("LiteLLM's models that do not generate have what they serve, and prices by their own units", () => {
  const entry = (mode: string, prices: object) => ({ litellm_provider: "openai", mode, ...prices });
  const file = {
    small: entry("embedding", { input_cost_per_token: 2e-8, output_cost_per_token: 0 }),
    rank: entry("rerank", { input_cost_per_query: 0.002, input_cost_per_token: 0 }),
    whisper: entry("audio_transcription", {
      input_cost_per_second: 0.0001,
      output_cost_per_second: 0.0001,
    }),
    "tts-1": entry("audio_speech", { input_cost_per_character: 1.5e-5 }),
    "mini-tts": entry("audio_speech", { input_cost_per_token: 6e-7, output_cost_per_audio_token: 1.2e-5 }),
    "dall-e": entry("image_generation", { input_cost_per_pixel: 1.9e-8, output_cost_per_pixel: 0 }),
    flux: entry("image_generation", { output_cost_per_image: 0.04 }),
    instruct: entry("completion", { input_cost_per_token: 1.5e-6, output_cost_per_token: 2e-6 }),
    guard: entry("moderation", { input_cost_per_token: 0, output_cost_per_token: 0 }),
  };
  const read = readPrices(JSON.stringify(file)).models;
  expect(read.map(({ id, serves }) => [id, serves])).toEqual([
    ["small", "embeddings"],
    ["rank", "rerank"],
    ["whisper", "transcriptions"],
    ["tts-1", "speech"],
    ["mini-tts", "speech"],
    ["dall-e", "images"],
    ["flux", "images"],
    ["instruct", "completions"],
    ["guard", "moderations"],
  ]);
  const toml = modelsToml(read, "LiteLLM", "today");
  for (const price of [
    "price = { input = 0.02 }",
    "price = { search_units = 2.0 }",
    "price = { audio_minutes = 0.006 }",
    "price = { characters = 15.0 }",
    "price = { input = 0.6, audio_output = 12.0 }",
    "price = { images = 0.019923 }",
    "price = { images = 0.04 }",
    "price = { input = 1.5, output = 2.0 }",
  ]) {
    expect(toml).toContain(price);
  }
  expect(toml).toContain('serves = ["transcriptions"]');
});

test("the qualities and sizes of LiteLLM's images are prices of one model, and no models", () => {
  const entry = (litellm_provider: string, prices: object) => {
    return { litellm_provider, mode: "image_generation", ...prices };
  };
  const perPixel = (usd: number) => entry("openai", { input_cost_per_pixel: usd, output_cost_per_pixel: 0 });
  const file = {
    "dall-e-3": entry("openai", { input_cost_per_image: 0.04 }),
    "standard/1024-x-1024/dall-e-3": perPixel(3.81469e-8),
    "standard/1024-x-1792/dall-e-3": perPixel(4.359654e-8),
    "hd/1024-x-1792/dall-e-3": perPixel(6.539481e-8),
    "azure/256-x-256/dall-e-2": entry("azure", { input_cost_per_image: 0.016 }),
    "gpt-image-1": entry("openai", { input_cost_per_token: 5e-6, output_cost_per_image_token: 4e-5 }),
    "low/1024-x-1024/gpt-image-1": entry("openai", { input_cost_per_image: 0.011 }),
    "low/1024-x-1024/by-token": entry("openai", {
      input_cost_per_token: 5e-6,
      output_cost_per_image_token: 4e-5,
    }),
  };
  const { models } = readPrices(JSON.stringify(file));
  expect(models.map(({ id, vendor, price }) => [id, vendor, price])).toEqual([
    [
      "dall-e-3",
      "openai",
      {
        images: {
          "auto/auto": 0.04,
          "standard/1024x1024": 0.04,
          "auto/1024x1024": 0.04,
          "standard/1024x1792": 0.08,
          "auto/1024x1792": 0.08,
          "hd/1024x1792": 0.12,
          "*": 0.12,
        },
      },
    ],
    ["dall-e-2", "azure", { images: { "standard/256x256": 0.016, "auto/256x256": 0.016, "*": 0.016 } }],
    ["gpt-image-1", "openai", { input: 5, image_output: 40 }],
    ["by-token", "openai", { input: 5, image_output: 40 }],
  ]);
  expect(modelsToml(models, "LiteLLM", "today")).toContain('"hd/1024x1792" = 0.12, "*" = 0.12');
});

test("a model of models.dev that embeds serves that, and what is not charged by tokens is left out", () => {
  const costs = { input: 0.02, output: 0 };
  const models = { "text-embedding-3-small": { cost: costs }, "whisper-large-v3": { cost: costs } };
  const file = readPrices(JSON.stringify({ openai: { models } }));
  expect(file.models).toMatchObject([
    { id: "text-embedding-3-small", serves: "embeddings", price: { input: 0.02 }, maxOutputTokens: null },
  ]);
  expect(Object.keys(file.models[0]?.price ?? {})).toEqual(["input"]);
  expect(file.leftOut).toEqual({ transcriptions: 1 });
});
