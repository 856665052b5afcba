import type { Quantities } from "../money/rates.ts";

interface MeteredUnit {
  /** How many of them a price in the configuration is for. */
  readonly per: number;
  /** What clients and reports call them. */
  readonly kind: string;
  readonly description: string;
}

/** What is priced by something else than tokens or calls of tools, by its name in a price. */
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

/** What was charged in addition to tokens and tool calls. */
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
