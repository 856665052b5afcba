import type { Price, Settings } from "../config/settings.ts";
import { priceInUsd } from "./price-view.ts";

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

function differencesOf(before: Price | null, after: Price | null): string[] {
  const [old, next] = [ratesOf(before), ratesOf(after)];
  const names = new Set([...Object.keys(old), ...Object.keys(next)]);
  return [...names].flatMap((name) =>
    old[name] === next[name] ? [] : [`${name} ${old[name] ?? "none"} → ${next[name] ?? "none"}`],
  );
}

/** `{ input: 1, "tiers.flex.input": 0.5 }`. */
function ratesOf(price: Price | null): Record<string, number> {
  return price === null ? {} : Object.fromEntries(flattened(priceInUsd(price), ""));
}

function flattened(value: object, prefix: string): [string, number][] {
  return Object.entries(value).flatMap(([name, inner]): [string, number][] =>
    typeof inner === "number" ? [[`${prefix}${name}`, inner]] : flattened(inner, `${prefix}${name}.`),
  );
}
