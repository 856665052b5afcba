import { nanoFromPicoUsd } from "./money.ts";

/**
 * The quantities of a call, by their names in a configured price: `input`, `web_search`. All are whole numbers; minutes
 * are counted in whole microseconds.
 */
export type Quantities = Readonly<Record<string, number>>;

/** The stored form of rates, shared by all charges with the same rates. */
export interface StoredRates {
  /** A digest of the text, so that every store gives the same rates the same id. */
  readonly id: number;
  readonly text: string;
}

/** Everything that determines a price except the quantities. Immutable. */
export interface Rates extends StoredRates {
  readonly microUsdPerCredit: number;
  /** Whole pico-USD for one of each thing; what is not named costs nothing. */
  readonly picoUsd: Readonly<Record<string, number>>;
  /** Rates at the provider's own price; null if that is what is charged. */
  readonly owedPicoUsd: Readonly<Record<string, number>> | null;
  /** The service tiers that they are for; none for the usual one. */
  readonly tiers: readonly string[];
  /** These rates are for calls with more input than this; null: for any call. */
  readonly inputAbove: number | null;
}

/** The text form of rates, which is stored forever: names can be added here, but none may change its meaning. */
interface RatesText {
  readonly micro_usd_per_credit: number;
  readonly pico_usd: Readonly<Record<string, number>>;
  readonly owed_pico_usd?: Readonly<Record<string, number>>;
  readonly tiers?: readonly string[];
  readonly input_above?: number;
}

export function makeRates({
  microUsdPerCredit,
  picoUsd,
  owedPicoUsd = null,
  tiers,
  inputAbove,
}: Omit<Rates, keyof StoredRates | "owedPicoUsd"> & Partial<Pick<Rates, "owedPicoUsd">>): Rates {
  const kept: RatesText = {
    micro_usd_per_credit: microUsdPerCredit,
    pico_usd: picoUsd,
    ...(owedPicoUsd === null ? {} : { owed_pico_usd: owedPicoUsd }),
    ...(tiers.length === 0 ? {} : { tiers }),
    ...(inputAbove === null ? {} : { input_above: inputAbove }),
  };
  const text = JSON.stringify(kept);
  return { id: digestOf(text), text, microUsdPerCredit, picoUsd, owedPicoUsd, tiers, inputAbove };
}

/** Reads what `makeRates` wrote. */
export function readRates(text: string): Rates {
  const kept = JSON.parse(text) as RatesText;
  const { micro_usd_per_credit, pico_usd, owed_pico_usd = null, tiers = [], input_above = null } = kept;
  return {
    id: digestOf(text),
    text,
    microUsdPerCredit: micro_usd_per_credit,
    picoUsd: pico_usd,
    owedPicoUsd: owed_pico_usd,
    tiers,
    inputAbove: input_above,
  };
}

/** 52 bits, which a double and every database hold exactly. Two of a million rates collide once in ten thousand times. */
function digestOf(text: string): number {
  return Number.parseInt(new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 13), 16);
}

/**
 * The cost of a call in nano-credits: exact, and rounded up once at the end. Charging, explaining and auditing all use
 * this one function.
 */
export function costNano(
  { picoUsd, microUsdPerCredit }: Pick<Rates, "picoUsd" | "microUsdPerCredit">,
  quantities: Quantities,
): number {
  let sum = 0;
  for (const name in quantities) sum += (quantities[name] ?? 0) * (picoUsd[name] ?? 0);
  // No term is negative, so if the sum is a safe integer, every step was exact.
  if (Number.isSafeInteger(sum)) return nanoFromPicoUsd(sum, microUsdPerCredit);
  let exact = 0n;
  for (const [name, count] of Object.entries(quantities))
    exact += inParts(count) * BigInt(picoUsd[name] ?? 0);
  return nanoFromPicoUsd(exact, microUsdPerCredit, microsecondsPerMinute);
}

const microUsdPerUsd = 1_000_000;

/**
 * The amount owed to the provider for a call, in billionths of a USD: at the provider's own price, independent of the
 * value of a credit. `cost` is the call's `costNano`, which nearly always is the same number.
 */
export function owedNanoUsd(
  { picoUsd, owedPicoUsd, microUsdPerCredit }: Pick<Rates, "picoUsd" | "owedPicoUsd" | "microUsdPerCredit">,
  quantities: Quantities,
  cost: number,
): number {
  if (owedPicoUsd === null && microUsdPerCredit === microUsdPerUsd) return cost;
  return costNano({ picoUsd: owedPicoUsd ?? picoUsd, microUsdPerCredit: microUsdPerUsd }, quantities);
}

const microsecondsPerMinute = 60_000_000;

/** A third of a minute is not a decimal fraction, but a whole number of microseconds. */
function inParts(count: number): bigint {
  return Number.isSafeInteger(count)
    ? BigInt(count) * BigInt(microsecondsPerMinute)
    : BigInt(Math.round(count * microsecondsPerMinute));
}

/** Names of what is counted in tokens, in the order in which sums show them. Everything else is counted in calls. */
const tokenNames: ReadonlySet<string> = new Set([
  "input",
  "audio_input",
  "image_input",
  "cached_input",
  "cached_audio_input",
  "cached_image_input",
  "cache_write",
  "cache_write_1h",
  "cache_write_24h",
  "output",
  "audio_output",
  "image_output",
]);

/** Whether a quantity is counted in tokens. If a second model used them, its id is the prefix: `claude-5/input`. */
export function isToken(name: string): boolean {
  return tokenNames.has(name.slice(name.lastIndexOf("/") + 1));
}

/** The tokens that a call costs a token budget. */
export function tokensOf(quantities: Quantities): number {
  let sum = 0;
  for (const name in quantities) if (isToken(name)) sum += quantities[name] ?? 0;
  return sum;
}

/** The part of these tokens that is output. */
export function outputTokensOf(quantities: Quantities): number {
  let sum = 0;
  for (const name in quantities) if (isToken(name) && name.endsWith("output")) sum += quantities[name] ?? 0;
  return sum;
}

const cacheNames = /(^|\/)(?:cached_input|cache_write(?:_(?:1h|24h))?)$/;

/** The additional cost if no input had been read from a cache or written to one; below 0 if it would have been cheaper. */
export function cacheSavingsNano(
  rates: Pick<Rates, "picoUsd" | "microUsdPerCredit">,
  quantities: Quantities,
): number {
  const uncached: Record<string, number> = {};
  for (const [name, count] of Object.entries(quantities)) {
    const plain = name.replace(cacheNames, "$1input");
    uncached[plain] = (uncached[plain] ?? 0) + count;
  }
  return costNano(rates, uncached) - costNano(rates, quantities);
}

interface MeteredUnit {
  /** Number of units that a configured price is for. */
  readonly per: number;
  /** Name of the kind for clients and in reports. */
  readonly kind: string;
  readonly description: string;
}

/** Units that have a price and are neither tokens nor tool calls, by their names in a price. */
export const meteredUnits = {
  images: { per: 1, kind: "images", description: "USD per image, or by quality and size." },
  characters: { per: 1_000_000, kind: "characters", description: "USD per million characters." },
  audio_minutes: { per: 1, kind: "minutes", description: "USD per minute of audio in." },
  speech_minutes: { per: 1, kind: "minutes", description: "USD per minute of audio out." },
  search_units: { per: 1000, kind: "search_units", description: "USD per 1,000 search units." },
  requests: { per: 1000, kind: "requests", description: "USD per 1,000 requests." },
} as const satisfies Readonly<Record<string, MeteredUnit>>;

export type UnitName = keyof typeof meteredUnits;

// The cast holds because the type is computed from the same object.
export const unitNames = Object.keys(meteredUnits) as readonly UnitName[];

/** Charged units in addition to tokens and tool calls. */
export interface ChargedUnits {
  readonly kind: string;
  readonly amount: number;
}

/** The unit that a quantity or a rate is of: `images` for `images.high/1024x1024`. Undefined for tokens and calls of tools. */
export function unitOf(name: string): UnitName | undefined {
  const dot = name.indexOf(".");
  const unit = dot === -1 ? name : name.slice(0, dot);
  // The cast holds because the object has it.
  return Object.hasOwn(meteredUnits, unit) ? (unit as UnitName) : undefined;
}

const isCounted = (name: string) => unitOf(name) !== undefined;

/** Null where only tokens and calls of tools were charged. Of several kinds the first in the table. */
export function unitsOf(quantities: Quantities): ChargedUnits | null {
  // Nearly all charges are of tokens alone.
  if (!Object.keys(quantities).some(isCounted)) return null;
  for (const unit of unitNames) {
    let amount = 0;
    for (const name in quantities) if (unitOf(name) === unit) amount += quantities[name] ?? 0;
    if (amount > 0) return { kind: meteredUnits[unit].kind, amount };
  }
  return null;
}
