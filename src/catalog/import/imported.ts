/** A model as a foreign file describes it, in the words of our own configuration. Prices are USD per million. */
export interface ImportedModel {
  readonly id: string;
  /** Who sells it, as the file names them. */
  readonly vendor: string;
  readonly displayName: string | null;
  readonly contextWindow: number | null;
  readonly maxOutputTokens: number | null;
  readonly price: ImportedPrice;
  readonly capabilities: Readonly<Record<string, boolean>>;
  /** What the file says that one price cannot, such as a dearer one for long inputs. */
  readonly remark: string | null;
}

export interface ImportedPrice {
  readonly input: number;
  readonly output: number;
  readonly cachedInput: number | null;
  readonly cacheWrite: number | null;
  /** Tools by the thousand calls, audio by the million tokens, under the names of our own configuration. */
  readonly extras?: Readonly<Record<string, number>>;
  readonly tiers?: Readonly<Record<string, ImportedTier>>;
}

export interface ImportedTier {
  readonly input: number;
  readonly output: number;
  readonly cachedInput: number | null;
}

/** Those of the extras that the file has a price for; nothing when it has none. */
export function knownExtras(prices: Readonly<Record<string, number | null>>): Pick<ImportedPrice, "extras"> {
  const known: Record<string, number> = {};
  for (const [name, usd] of Object.entries(prices)) if (usd !== null) known[name] = usd;
  return Object.keys(known).length === 0 ? {} : { extras: known };
}

export interface ImportedPrices {
  readonly source: "LiteLLM" | "models.dev";
  readonly models: readonly ImportedModel[];
  /** Entries that are no text-generation models with a price, by what they are. */
  readonly leftOut: Readonly<Record<string, number>>;
}

/** Six decimals, which is what our prices can hold; foreign files are full of 1.2500000000000001e-06. */
export function usdPerMillion(value: unknown, timesMillion: boolean): number | null {
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) return null;
  return Math.round(value * (timesMillion ? 1e12 : 1e6)) / 1e6;
}

export function wholeNumber(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : null;
}

/** A capability that the file speaks of. Silence is no denial: the gateway then goes by the model's name. */
export function stated(capability: string, value: unknown): Record<string, boolean> {
  return typeof value === "boolean" ? { [capability]: value } : {};
}
