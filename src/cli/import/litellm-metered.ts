import type { JsonObject } from "../../base/json.ts";
import type { ModelUse } from "../../base/models/model-uses.ts";
import type { PriceConfig } from "../../config/schema.ts";
import { usdPerMillion } from "./imported.ts";
import { pixelsOf } from "./litellm-images.ts";

const uses: Readonly<Record<string, ModelUse>> = {
  chat: "generation",
  responses: "generation",
  completion: "completions",
  embedding: "embeddings",
  rerank: "rerank",
  moderation: "moderations",
  image_generation: "images",
  image_edit: "images",
  audio_transcription: "transcriptions",
  audio_speech: "speech",
};

/** The use that a model of this mode serves; null if there is no route for it. */
export function useOfMode(mode: string): ModelUse | null {
  return Object.hasOwn(uses, mode) ? (uses[mode] ?? null) : null;
}

/** The price of a model that is not an LLM, in its own units; null if the entry has none. */
export function meteredPrice(id: string, serves: ModelUse, entry: JsonObject): PriceConfig | null {
  const found = Object.entries(pricesOf(id, serves, entry)).filter(
    (price): price is [string, number] => price[1] !== null,
  );
  if (found.length === 0) return null;
  // Entries have zeros for units that a model is not charged by.
  const charged = found.filter(([, usd]) => usd > 0);
  const price: PriceConfig = Object.fromEntries(charged.length === 0 ? found : charged);
  return { ...price, ...batchOf(serves, price, entry) };
}

/** Lines of batches, for routes that are charged by the token alone. */
function batchOf(
  serves: ModelUse,
  { input = 0 }: PriceConfig,
  entry: JsonObject,
): Pick<PriceConfig, "tiers"> {
  const batch = usdPerMillion(entry["input_cost_per_token_batches"], true);
  if (serves !== "embeddings" || batch === null || input === 0) return {};
  return { tiers: { batch: { input: batch, output: 0 } } };
}

function pricesOf(id: string, serves: ModelUse, entry: JsonObject): Readonly<Record<string, number | null>> {
  const perMillion = (name: string) => usdPerMillion(entry[name], true);
  const tokens = { input: perMillion("input_cost_per_token"), output: perMillion("output_cost_per_token") };
  switch (serves) {
    case "completions":
      return tokens;
    case "embeddings":
      return { input: tokens.input, characters: perMillion("input_cost_per_character") };
    case "rerank":
      return { search_units: times(entry["input_cost_per_query"], 1000), input: tokens.input };
    case "images":
      return {
        images:
          times(entry["output_cost_per_image"] ?? entry["input_cost_per_image"], 1) ?? perPixel(entry, id),
        input: tokens.input,
        image_input: perMillion("input_cost_per_image_token"),
        image_output: perMillion("output_cost_per_image_token"),
      };
    case "transcriptions":
      // The file has the same price for a second of input and of output; it is charged once.
      return {
        // Entries have both; the provider reports one of them.
        audio_minutes: perMillion("input_cost_per_audio_token")
          ? null
          : times(entry["input_cost_per_second"] ?? entry["output_cost_per_second"], 60),
        audio_input: perMillion("input_cost_per_audio_token"),
        ...tokens,
      };
    case "speech": {
      const characters = perMillion("input_cost_per_character");
      const sound = perMillion("output_cost_per_audio_token");
      // Speech is charged by the character or by the token; by the token only if audio output has a price.
      return { characters, input: characters || !sound ? null : tokens.input, audio_output: sound };
    }
    default:
      return {};
  }
}

/** A second at 0.0001 is 0.006 a minute, not 0.0060000000000000001. */
function times(usd: unknown, factor: number): number | null {
  return typeof usd === "number" ? usdPerMillion(usd * factor, false) : null;
}

function perPixel(entry: JsonObject, id: string): number | null {
  const usd = [entry["output_cost_per_pixel"], entry["input_cost_per_pixel"]].find((price) => price !== 0);
  return times(usd, pixelsOf(id));
}
