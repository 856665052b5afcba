import type { ModelUse } from "../../base/models/model-uses.ts";
import type { TokenRatesConfig } from "../../config/schema/price.ts";
import type { PriceConfig } from "../../config/schema.ts";

/** A model in a foreign price file, with its price in our format. */
export interface ImportedModel {
  readonly id: string;
  /** The vendor's name in the file. */
  readonly vendor: string;
  readonly displayName: string | null;
  readonly contextWindow: number | null;
  readonly maxOutputTokens: number | null;
  /** Absent for an LLM. */
  readonly serves?: ModelUse;
  readonly price: PriceConfig;
  readonly capabilities: Readonly<Record<string, boolean>>;
  /** The day on which its provider stops serving it, if the file has one. */
  readonly ends?: string;
}

/** The prices that a file states, without those that are null. */
export function definedPrices<Name extends string>(
  prices: Readonly<Record<Name, number | null>>,
): { readonly [Stated in Name]?: number } {
  const known = Object.entries(prices).filter(([, usd]) => usd !== null);
  // Only names were left out.
  return Object.fromEntries(known) as { [Stated in Name]?: number };
}

/** The token rates; null unless both input and output have one. */
export function tokenRates(rates: Readonly<Record<RateName, number | null>>): TokenRatesConfig | null {
  const { input, output, ...cache } = rates;
  return input === null || output === null ? null : { input, output, ...definedPrices(cache) };
}

type RateName = "input" | "output" | "cached_input" | "cache_write";

export interface ImportedPrices {
  readonly source: "LiteLLM" | "models.dev";
  readonly models: readonly ImportedModel[];
  /** Counts of skipped entries, by the reason. */
  readonly leftOut: Readonly<Record<string, number>>;
  /** Entries with an invalid price, such as a negative one. They are skipped too. */
  readonly invalid: readonly InvalidEntry[];
}

export interface InvalidEntry extends Pick<ImportedModel, "id" | "vendor"> {
  readonly problem: string;
}

/** A price in the file is invalid. */
class InvalidPrice extends Error {
  override readonly name = "InvalidPrice";
}

/** Null for an invalid price. */
export function ifAmounts<Price>(read: () => Price | null): Price | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof InvalidPrice) return null;
    throw error;
  }
}

/** Collects what becomes of a file's entries. */
export class EntryReader {
  readonly models: ImportedModel[] = [];
  readonly leftOut: Record<string, number> = {};
  readonly invalid: InvalidEntry[] = [];

  /** `read` returns the model, or why it is skipped. */
  add(entry: Pick<ImportedModel, "id" | "vendor">, read: () => ImportedModel | string): void {
    try {
      const model = read();
      if (typeof model === "string") this.#skip(model);
      else this.models.push(model);
    } catch (error) {
      if (!(error instanceof InvalidPrice)) throw error;
      this.#skip("with an invalid price");
      this.invalid.push({ id: entry.id, vendor: entry.vendor, problem: error.message });
    }
  }

  #skip(reason: string): void {
    this.leftOut[reason] = (this.leftOut[reason] ?? 0) + 1;
  }
}

/**
 * Rounded to six decimals, the most that our prices allow: other programs' files are full of 1.2500000000000001e-06.
 * Null for a missing price; throws an InvalidPrice for an invalid one.
 */
export function usdPerMillion(value: unknown, timesMillion: boolean): number | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0)
    throw new InvalidPrice(`a price is ${shown(value)}, but must be a number, 0 or more`);
  return Math.round(value * (timesMillion ? 1e12 : 1e6)) / 1e6;
}

export function positiveInteger(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : null;
}

/** A capability, if the file mentions it. Otherwise it is left open, and the gateway decides by the model's name. */
export function statedCapability(capability: string, value: unknown): Record<string, boolean> {
  return typeof value === "boolean" ? { [capability]: value } : {};
}

function shown(value: unknown): string {
  return typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value)).slice(0, 40);
}
