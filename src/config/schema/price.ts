import { Type } from "@sinclair/typebox";
import { meteredUnits } from "../../base/money/rates.ts";
import { forEachCallPrice } from "../../base/usage/hosted-tools.ts";
import { closed, day, table } from "./parts.ts";

const usdPerMillion = (description: string) => Type.Number({ description, minimum: 0, maximum: 1_000_000 });

const tokenRates = {
  input: usdPerMillion("USD per million input tokens."),
  output: usdPerMillion("USD per million output tokens."),
  cached_input: Type.Optional(usdPerMillion("USD per million tokens read from a cache; default: input.")),
  cache_write: Type.Optional(usdPerMillion("USD per million tokens written to a cache; default: input.")),
  cache_write_1h: Type.Optional(
    usdPerMillion("USD per million tokens written to a cache for an hour; default: cache_write."),
  ),
  cache_write_24h: Type.Optional(
    usdPerMillion("USD per million tokens written to a cache for 24 hours; default: cache_write."),
  ),
};

/** Prices of sound and images. A tier or a band without one has the usual one. */
const otherTokenRates = {
  audio_input: Type.Optional(usdPerMillion("USD per million tokens of audio input.")),
  audio_output: Type.Optional(usdPerMillion("USD per million tokens of audio output.")),
  image_input: Type.Optional(usdPerMillion("USD per million tokens of image input.")),
  image_output: Type.Optional(usdPerMillion("USD per million tokens of image output.")),
  cached_audio_input: Type.Optional(
    usdPerMillion("USD per million tokens of audio read from a cache; default: cached_input."),
  ),
  cached_image_input: Type.Optional(
    usdPerMillion("USD per million tokens of images read from a cache; default: cached_input."),
  ),
};

const band = table({
  above: Type.Integer({
    minimum: 1,
    description:
      "Input tokens, cached ones included. Calls with more cost these prices, for all of their tokens.",
  }),
  ...tokenRates,
  ...otherTokenRates,
});

const longContext = Type.Optional(
  Type.Union([band, Type.Array(band, { minItems: 1 })], {
    description: "Prices of calls with a longer input: a table, or a list of them by their limits.",
  }),
);

export const tokenPrices = { ...tokenRates, ...otherTokenRates, long_context: longContext };

const usdPerThousandCalls = Type.Optional(
  Type.Number({
    description:
      "USD per 1,000 calls of this hosted tool; without it, the tool is dropped from requests, or the request is rejected if the model must call it.",
    minimum: 0,
    maximum: 1_000_000,
  }),
);

const usdPer = (unit: keyof typeof meteredUnits) =>
  Type.Number({ description: meteredUnits[unit].description, minimum: 0, maximum: 1_000_000 });

/** By `quality/size`; `*` is for all others. */
const imagePrices = Type.Record(Type.String({ pattern: "^(?:\\*|[a-z0-9]+/[a-z0-9]+)$" }), usdPer("images"), {
  ...closed,
  description: 'USD per image by quality and size, such as `"high/1024x1024"`, and `"*"` for any other.',
});

/** By the size of a search that the provider makes for each request; low if the request names none. */
const requestPrices = table({
  low: usdPer("requests"),
  medium: usdPer("requests"),
  high: usdPer("requests"),
});

/** `input` and `output` are only required of models that generate (check-models.ts). */
const priceFields = {
  ...tokenPrices,
  input: Type.Optional(tokenRates.input),
  output: Type.Optional(tokenRates.output),
  images: Type.Optional(
    Type.Union([usdPer("images"), imagePrices], {
      description: "USD per image, or a table of them by quality and size.",
    }),
  ),
  characters: Type.Optional(usdPer("characters")),
  audio_minutes: Type.Optional(usdPer("audio_minutes")),
  speech_minutes: Type.Optional(usdPer("speech_minutes")),
  search_units: Type.Optional(usdPer("search_units")),
  requests: Type.Optional(
    Type.Union([usdPer("requests"), requestPrices], {
      description:
        "USD per 1,000 requests, in addition to their tokens; or a table by `search_context_size` (`low`, `medium`, `high`) for a model that searches in each request.",
    }),
  ),
  ...forEachCallPrice(usdPerThousandCalls),
  web_search_prompts: Type.Optional(
    Type.Number({
      description:
        "USD per 1,000 prompts for which the provider searched the web, regardless of the number of searches; in place of `web_search`.",
      minimum: 0,
      maximum: 1_000_000,
    }),
  ),
  tiers: Type.Optional(
    Type.Record(Type.String({ pattern: "^[a-z0-9][a-z0-9_.-]*$" }), table(tokenPrices), {
      ...closed,
      description:
        "Prices of other service tiers, such as `priority` and `flex`. `batch` is the price of lines of batches that name no tier.",
    }),
  ),
};

export const onePriceSchema = table(priceFields);

const datedPrices = Type.Array(
  table({
    from: day("The day on which the price begins, at midnight UTC. The first price of a list has none."),
    ...priceFields,
  }),
  { minItems: 1 },
);

/** One price, or a list of them in the order of their days. */
export const priceSchema = Type.Union([onePriceSchema, datedPrices], {
  description: "The price; or a list of prices, each from its day on.",
});

export type TokenRatesConfig = { readonly [Name in keyof typeof tokenRates]?: number } & {
  readonly input: number;
  readonly output: number;
};
