import { factorParts } from "../base/money/money.ts";
import { costNano, makeRates, owedNanoUsd, type Quantities, type Rates } from "../base/money/rates.ts";
import { otherTokens, type TokenRates } from "../base/money/token-price.ts";
import { answerOf, type ExtraUsage, totalInput, type Usage } from "../base/usage/usage.ts";
import type { Price } from "../config/settings.ts";
import { bandAt, ownTierPrice, pricedCalls, tierPrice } from "./price.ts";

/** The cost of a call, and the rates and quantities it was computed from. */
export interface PricedUsage {
  readonly rates: Rates;
  readonly quantities: Quantities;
  readonly costNano: number;
  /** The amount owed to the provider, independent of the charge. */
  readonly owedNanoUsd: number;
}

/** An additional model that ran for the response. */
export interface RoundModel {
  readonly id: string;
  readonly price: Price | null;
}

const noTiers: readonly string[] = [];
const noOtherModel = () => null;

/** `findOtherModel` finds a model by the name that the provider reports; null prices it as the call's own model. */
export function priced(
  usage: Usage,
  price: Price | null,
  microUsdPerCredit: number,
  extra: ExtraUsage | null = null,
  findOtherModel: (model: string) => RoundModel | null = noOtherModel,
): PricedUsage {
  const { rounds } = usage;
  const answer = answerOf(usage);
  const tiers = extra?.tiers ?? noTiers;
  const rates = ratesFor(price, tiers, totalInput(answer), microUsdPerCredit);
  const quantities = quantitiesOf(answer, extra, rates);
  if (rounds === undefined) return costed(rates, quantities);
  const sums: Record<string, number> = { ...quantities };
  const picoUsd: Record<string, number> = { ...rates.picoUsd };
  const owedPicoUsd: Record<string, number> = { ...owedRates(rates) };
  let isAtCost = rates.owedPicoUsd === null;
  for (const { model, usage: used } of rounds) {
    const other = model === null ? null : findOtherModel(model);
    const roundPrice = other === null ? price : other.price;
    // Each round is a separate call: whether its context is long depends on its own input.
    const roundRates = ratesFor(roundPrice, tiers, totalInput(used), microUsdPerCredit);
    const owedByRound = owedRates(roundRates);
    isAtCost &&= roundRates.owedPicoUsd === null;
    const prefix = prefixOf(other, roundRates, rates);
    for (const [name, count] of Object.entries(quantitiesOf(used, null, roundRates))) {
      sums[prefix + name] = (sums[prefix + name] ?? 0) + count;
      const rate = roundRates.picoUsd[name];
      if (rate === undefined) continue;
      picoUsd[prefix + name] = rate;
      owedPicoUsd[prefix + name] = owedByRound[name] ?? 0;
    }
  }
  const all = makeRates({ ...rates, picoUsd, owedPicoUsd: isAtCost ? null : owedPicoUsd });
  return costed(all, sums);
}

function costed(rates: Rates, quantities: Quantities): PricedUsage {
  const cost = costNano(rates, quantities);
  return { rates, quantities, costNano: cost, owedNanoUsd: owedNanoUsd(rates, quantities, cost) };
}

const owedRates = ({ owedPicoUsd, picoUsd }: Rates) => owedPicoUsd ?? picoUsd;

/** The prefix of a round's quantities, if its rates differ from the response's: `claude-5/input`. */
function prefixOf(other: RoundModel | null, { inputAbove }: Rates, answer: Rates): string {
  if (other === null && inputAbove === answer.inputAbove) return "";
  const name = other?.id ?? "compaction";
  return inputAbove === null ? `${name}/` : `${name} above ${inputAbove}/`;
}

/** Cached per price, tiers and side of the long-context limit. A reload creates new prices. */
const ratesCache = new WeakMap<Price, Map<string | number | null, Rates>>();
const newMap = () => new Map<string | number | null, Rates>();
let free: Rates | null = null;

/** The rates of a call with this much input. */
export function ratesFor(
  price: Price | null,
  requested: readonly string[],
  inputTokens: number,
  microUsdPerCredit: number,
): Rates {
  if (price === null) return freeRates(microUsdPerCredit);
  const tiers =
    requested.length === 0 ? requested : requested.filter((tier) => ownTierPrice(price, tier) !== undefined);
  const tokenPrice = tierPrice(price, tiers);
  const band = bandAt(tokenPrice, inputTokens);
  const inputAbove = band?.above ?? null;
  const ratesByName = ratesCache.getOrInsertComputed(price, newMap);
  const name = tiers.length === 0 ? inputAbove : `${inputAbove ?? ""} ${tiers.join(" ")}`;
  const cached = ratesByName.get(name);
  if (cached?.microUsdPerCredit === microUsdPerCredit) return cached;
  const picoUsd = picoUsdOf(price, band ?? tokenPrice);
  const owedPicoUsd = price.markupParts === undefined ? null : withoutMarkup(picoUsd, price.markupParts);
  const rates = makeRates({ microUsdPerCredit, picoUsd, owedPicoUsd, tiers, inputAbove });
  ratesByName.set(name, rates);
  return rates;
}

function freeRates(microUsdPerCredit: number): Rates {
  if (free?.microUsdPerCredit === microUsdPerCredit) return free;
  free = makeRates({ microUsdPerCredit, picoUsd: {}, tiers: [], inputAbove: null });
  return free;
}

/** A marked up rate is rounded up, so its list price is found again by rounding down. */
function withoutMarkup(picoUsd: Rates["picoUsd"], markupParts: number): Rates["picoUsd"] {
  const owed = (rate: number) => Number((BigInt(rate) * BigInt(factorParts)) / BigInt(markupParts));
  return Object.fromEntries(Object.entries(picoUsd).map(([name, rate]) => [name, owed(rate)]));
}

/** The rates in the configuration's names. A rate that equals the rate it is part of is omitted. */
function picoUsdOf({ extras }: Price, tokenRates: TokenRates): Record<string, number> {
  const { input, cached_input, cache_write, cache_write_1h, cache_write_24h, output } = tokenRates;
  const rates: Record<string, number> = {
    input,
    cached_input,
    cache_write,
    output,
    ...(cache_write_1h === undefined ? {} : { cache_write_1h }),
    ...(cache_write_24h === undefined ? {} : { cache_write_24h }),
    ...extras,
  };
  // A tier or a band can have its own prices of sound and images.
  for (const name of otherTokens) {
    const own = tokenRates[name];
    if (own !== undefined) rates[name] = own;
  }
  return rates;
}

/**
 * The quantities of a call, named like their rates. Audio and hour-long cache writes are part of the tokens in `usage`,
 * and are listed separately if they have their own rate. Zero quantities are omitted.
 */
export function quantitiesOf(usage: Usage, extra: ExtraUsage | null, { picoUsd }: Rates): Quantities {
  const quantities: Record<string, number> = {};
  const { inputTokens, cachedInputTokens, cacheWriteTokens, cacheWriteHourTokens, outputTokens } = usage;
  const plainInput = takePart(quantities, picoUsd, inputTokens, extra?.imageInputTokens, "image_input");
  split(quantities, picoUsd, plainInput, "input", extra?.audioInputTokens, "audio_input");
  const { cachedAudioInputTokens, cachedImageInputTokens } = extra ?? {};
  const plainCached = takePart(
    quantities,
    picoUsd,
    cachedInputTokens,
    cachedImageInputTokens,
    "cached_image_input",
  );
  split(quantities, picoUsd, plainCached, "cached_input", cachedAudioInputTokens, "cached_audio_input");
  const { cacheWriteDayTokens } = extra ?? {};
  const shorter = takePart(quantities, picoUsd, cacheWriteTokens, cacheWriteDayTokens, "cache_write_24h");
  split(quantities, picoUsd, shorter, "cache_write", cacheWriteHourTokens, "cache_write_1h");
  const plainOutput = takePart(quantities, picoUsd, outputTokens, extra?.imageOutputTokens, "image_output");
  split(quantities, picoUsd, plainOutput, "output", extra?.audioOutputTokens, "audio_output");
  if (extra === null) return quantities;
  for (const name in extra.units) {
    const amount = extra.units[name] ?? 0;
    if (amount > 0 && picoUsd[name] !== undefined) quantities[name] = amount;
  }
  const calls = pricedCalls(extra.calls, picoUsd);
  for (const name in calls) if ((calls[name] ?? 0) > 0) quantities[name] = calls[name] ?? 0;
  return quantities;
}

/** Counts a part of the tokens separately if it has its own rate, and returns the other tokens. */
function takePart(
  quantities: Record<string, number>,
  picoUsd: Rates["picoUsd"],
  count: number,
  partCount: number | undefined,
  name: string,
): number {
  const part = partCount === undefined || picoUsd[name] === undefined ? 0 : Math.min(partCount, count);
  if (part > 0) quantities[name] = part;
  return count - part;
}

/** Splits a count into the part that has its own rate, and the rest. */
function split(
  quantities: Record<string, number>,
  picoUsd: Rates["picoUsd"],
  count: number,
  name: string,
  partCount: number | undefined,
  partName: string,
): void {
  const part = partCount === undefined || picoUsd[partName] === undefined ? 0 : Math.min(partCount, count);
  if (count > part) quantities[name] = count - part;
  if (part > 0) quantities[partName] = part;
}
