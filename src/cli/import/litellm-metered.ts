import type { JsonObject } from "../../base/json.ts";
import type { ModelUse } from "../../base/model-uses.ts";
import { usdPerMillion } from "./imported.ts";
import { pixelsOf } from "./litellm-images.ts";

/** What a model of LiteLLM's price file serves beside generation, and its prices by the names of our own configuration. */
export interface MeteredPrices {
  readonly serves: ModelUse;
  readonly prices: Readonly<Record<string, number>>;
}

const uses: Readonly<Record<string, ModelUse>> = {
  embedding: "embeddings",
  rerank: "rerank",
  moderation: "moderations",
  image_generation: "images",
  image_edit: "images",
  audio_transcription: "transcriptions",
  audio_speech: "speech",
};

/** Null if a model of this mode is served by no route; without any price if the file has none that a route can count. */
export function meteredPrices(id: string, mode: string, entry: JsonObject): MeteredPrices | null {
  const serves = Object.hasOwn(uses, mode) ? uses[mode] : undefined;
  if (serves === undefined) return null;
  const found = Object.entries(pricesOf(id, serves, entry)).filter(
    (price): price is [string, number] => price[1] !== null,
  );
  // Entries are full of zeros for what a model is not charged by.
  const charged = found.filter(([, usd]) => usd > 0);
  return { serves, prices: Object.fromEntries(charged.length === 0 ? found : charged) };
}

function pricesOf(id: string, serves: ModelUse, entry: JsonObject): Readonly<Record<string, number | null>> {
  const perMillion = (name: string) => usdPerMillion(entry[name], true);
  const tokens = { input: perMillion("input_cost_per_token"), output: perMillion("output_cost_per_token") };
  switch (serves) {
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
        audio_minutes: times(entry["input_cost_per_second"] ?? entry["output_cost_per_second"], 60),
        audio_input: perMillion("input_cost_per_audio_token"),
        ...tokens,
      };
    case "speech":
      return {
        characters: perMillion("input_cost_per_character"),
        audio_output: perMillion("output_cost_per_audio_token"),
      };
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
