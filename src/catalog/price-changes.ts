import type { Price, Settings } from "../config/settings.ts";
import { startsOf } from "./price.ts";
import { priceDifferences, priceInUsd } from "./price-view.ts";

export interface PriceChange {
  /** The model's id; null for what applies to all. */
  readonly model: string | null;
  /** `openai/gpt-5.6: output 10 → 12`. */
  readonly detail: string;
}

type PricedSettings = Pick<Settings, "models" | "microUsdPerCredit">;

/** The price differences between two configurations, in the names and units of the file. */
export function priceChanges(before: PricedSettings, after: PricedSettings): readonly PriceChange[] {
  const changes: PriceChange[] = [];
  if (before.microUsdPerCredit !== after.microUsdPerCredit) {
    const usd = (micro: number) => micro / 1_000_000;
    const detail = `usd_per_credit ${usd(before.microUsdPerCredit)} → ${usd(after.microUsdPerCredit)}`;
    changes.push({ model: null, detail });
  }
  const known = pricesOf(before);
  for (const [name, { model, deployment, price }] of pricesOf(after)) {
    const differences = differencesOf(known.get(name)?.price ?? null, price);
    if (differences.length > 0) changes.push({ model, detail: `${deployment}: ${differences.join(", ")}` });
  }
  return changes;
}

function pricesOf({ models }: PricedSettings) {
  const prices = new Map<string, { model: string; deployment: string; price: Price | null }>();
  for (const { id: model, deployments } of models) {
    for (const { provider, upstreamModel, price } of deployments) {
      const deployment = `${provider}/${upstreamModel}`;
      prices.set(`${model} ${deployment}`, { model, deployment, price });
    }
  }
  return prices;
}

/** The differences of the first price, and of each that replaces it later. */
function differencesOf(before: Price | null, after: Price | null): string[] {
  const first = priceDifferences(before && priceInUsd(before), after && priceInUsd(after));
  const later = startsOf([before, after]).flatMap((fromMs) => {
    const [old, next] = [startingAt(before, fromMs), startingAt(after, fromMs)];
    const differences = priceDifferences(old && priceInUsd(old), next && priceInUsd(next));
    const day = new Date(fromMs).toISOString().slice(0, 10);
    if (differences.length === 0) return [];
    return next === null ? [`no longer a price from ${day}`] : [`from ${day}: ${differences.join(", ")}`];
  });
  return [...first, ...later];
}

function startingAt(price: Price | null, fromMs: number): Price | null {
  return price?.later?.find((each) => each.fromMs === fromMs)?.price ?? null;
}
