import type { ModelUse } from "../../base/model-uses.ts";

/** A model of a foreign price file, with the names of our own configuration. Prices are USD per million tokens. */
export interface ImportedModel {
  readonly id: string;
  /** As the file names it. */
  readonly vendor: string;
  readonly displayName: string | null;
  readonly contextWindow: number | null;
  readonly maxOutputTokens: number | null;
  /** Missing for a model that generates. */
  readonly serves?: ModelUse;
  readonly price: ImportedPrice;
  readonly capabilities: Readonly<Record<string, boolean>>;
}

export interface ImportedRates {
  /** Null for a model that is charged by something else. */
  readonly input: number | null;
  readonly output: number | null;
  readonly cachedInput: number | null;
  readonly cacheWrite: number | null;
  /** For what stays in a cache for an hour. */
  readonly cacheWriteHour?: number | null;
}

export interface ImportedPrice extends ImportedRates {
  /** For calls with more input than this. */
  readonly longContext?: ImportedRates & { readonly above: number };
  /** Tools per thousand calls, audio per million tokens, by the names of our own configuration. */
  readonly extras?: Readonly<Record<string, number>>;
  readonly tiers?: Readonly<Record<string, ImportedTier>>;
}

export type ImportedTier = Pick<ImportedRates, "input" | "output" | "cachedInput">;

/** The extras that the file has a price for. */
export function knownExtras(prices: Readonly<Record<string, number | null>>): Pick<ImportedPrice, "extras"> {
  const known: Record<string, number> = {};
  for (const [name, usd] of Object.entries(prices)) if (usd !== null) known[name] = usd;
  return Object.keys(known).length === 0 ? {} : { extras: known };
}

export interface ImportedPrices {
  readonly source: "LiteLLM" | "models.dev";
  readonly models: readonly ImportedModel[];
  /** Counts of entries that are not text-generation models with a price, by what they are. */
  readonly leftOut: Readonly<Record<string, number>>;
}

/** Rounded to six decimals, which is what our prices allow. Foreign files are full of 1.2500000000000001e-06. */
export function usdPerMillion(value: unknown, timesMillion: boolean): number | null {
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) return null;
  return Math.round(value * (timesMillion ? 1e12 : 1e6)) / 1e6;
}

export function positiveInteger(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : null;
}

/** A capability, if the file mentions it. If not, it is left open, and the gateway goes by the model's name. */
export function statedCapability(capability: string, value: unknown): Record<string, boolean> {
  return typeof value === "boolean" ? { [capability]: value } : {};
}
