import type { PriceView } from "../../admin/models/schema.ts";
import { showsTokenPrice } from "../../base/models/model-uses.ts";
import { bandsOf } from "../../base/money/token-price.ts";
import { count, price, shortCount } from "./format.ts";

/** A price with what it is for. */
export type PriceLine = readonly [name: string, price: string, unit: string];

const million = "per million tokens";

const tokenNames = {
  input: "Input",
  cached_input: "Cached input",
  cache_write: "Cache write, 5 minutes",
  cache_write_1h: "Cache write, 1 hour",
  cache_write_24h: "Cache write, 24 hours",
  output: "Output",
  audio_input: "Audio input",
  cached_audio_input: "Cached audio input",
  audio_output: "Audio output",
  image_input: "Image input",
  cached_image_input: "Cached image input",
  image_output: "Image output",
} as const;

const unitNames: Readonly<Record<string, readonly [name: string, unit: string]>> = {
  images: ["Images", "per image"],
  characters: ["Characters", "per million characters"],
  audio_minutes: ["Audio", "per minute"],
  speech_minutes: ["Speech", "per minute"],
  search_units: ["Search units", "per thousand"],
  requests: ["Requests", "per thousand"],
};

type TokenPrices = Pick<PriceView, "input" | "output" | "cached_input" | "cache_write">;

function tokenLines(
  prices: TokenPrices & Partial<Pick<PriceView, keyof typeof tokenNames>>,
  serves: readonly string[],
  about = "",
): PriceLine[] {
  return Object.entries(tokenNames).flatMap(([field, name]) => {
    const usd = prices[field as keyof typeof tokenNames];
    if (usd === undefined || !showsTokenPrice(serves, usd)) return [];
    return [[`${name}${about}`, price(usd), million] as const];
  });
}

/** Every price of a deployment: tokens, long inputs, tiers, units and hosted tools. */
export function priceLines(
  { later: _, ...prices }: PriceView,
  serves: readonly string[],
): readonly PriceLine[] {
  const { long_context: long, tiers = {}, ...rest } = prices;
  const others = Object.entries(rest).flatMap(([name, usd]): PriceLine[] => {
    if (name in tokenNames || usd === undefined) return [];
    const [title, unit] = unitNames[name] ?? [name.replaceAll("_", " "), "per thousand calls"];
    if (typeof usd === "number") return [[title, price(usd), unit]];
    return Object.entries(usd).map(([size, each]) => [
      `${title}, ${size === "*" ? "other sizes" : size}`,
      price(each),
      unit,
    ]);
  });
  return [
    ...tokenLines(rest, serves),
    ...bandsOf(long).flatMap((band) => tokenLines(band, serves, `, above ${count(band.above)} tokens`)),
    ...Object.entries(tiers).flatMap(([tier, tierPrices]) => [
      ...tokenLines(tierPrices, serves, `, ${tier} tier`),
      ...bandsOf(tierPrices.long_context).flatMap((band) =>
        tokenLines(band, serves, `, ${tier} tier above ${shortCount(band.above)}`),
      ),
    ]),
    ...others,
  ];
}

/** `$1.25` for a side that has a price, and a unit's price in place of the input's. */
export function briefPrices(prices: Readonly<Record<string, number>> | null): readonly [string, string] {
  if (prices === null) return ["no price", ""];
  const { input, output, ...units } = prices;
  if (input !== undefined || output !== undefined) {
    return [input === undefined ? "–" : price(input), output === undefined ? "–" : price(output)];
  }
  const [unit] = Object.entries(units);
  if (unit === undefined) return ["free", ""];
  return [`${price(unit[1])} ${unitNames[unit[0]]?.[1] ?? unit[0].replaceAll("_", " ")}`, ""];
}
