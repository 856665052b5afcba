import { invalidRequest } from "../../base/errors.ts";
import { priceAt, pricedNames } from "../../catalog/price.ts";
import type { ModelSettings, Price } from "../../config/settings.ts";
import { isCharged } from "../../dialects/metered/registry.ts";
import type { MeteredRoute, RouteBody } from "../../dialects/metered/route.ts";
import { type ChosenFormat, formatFor } from "../../vendors/registry.ts";
import type { ActiveConfig } from "../active-config.ts";

/** The possible destinations of a metered request. */
export interface MeteredDestination {
  readonly route: MeteredRoute;
  readonly configured: ActiveConfig;
  /** The moment whose prices apply. */
  readonly pricedAtMs: number;
  readonly model: ModelSettings;
  readonly scope: string;
}

/** Parsing and rewriting a larger body would delay other requests for too long. */
export const maxWrittenBytes = 4 * 1024 * 1024;

/**
 * How to call each deployment that may serve the request. Throws if a vendor does not support the route, or needs a
 * rewritten body and this one is too large.
 */
export function formatsToward(
  { route, configured, model, scope }: MeteredDestination,
  bytes: number,
): readonly ChosenFormat[] {
  return configured.catalog.reached(model, scope).map((deployment) => {
    const settings = configured.settings.providers.get(deployment.provider);
    const chosen = settings === undefined ? null : formatFor(route, deployment, settings);
    if (chosen?.format.write !== undefined) rejectOverWritten(bytes);
    if (chosen !== null) return chosen;
    throw invalidRequest(
      `Model "${model.id}" cannot serve ${route.use}: provider "${deployment.provider}" does not support it.`,
      "model",
    );
  });
}

/** Whether a request has more inputs than one call takes, so that it becomes several. */
export function isAboveInputs(
  { countInputs }: MeteredRoute,
  { truncated }: Pick<RouteBody, "truncated">,
  most: number,
): boolean {
  return (countInputs?.(truncated) ?? 0) > most;
}

/** Rejects a request that is too large to be rewritten. */
export function rejectOverWritten(bytes: number): void {
  if (bytes <= maxWrittenBytes) return;
  throw invalidRequest("The request is too large for this model's provider. Send fewer inputs per request.");
}

/**
 * The prices that deployments of the destination charge by: one set of names for each kind of price. Throws if a
 * deployment has a price but none that the route can count: the request would be free by mistake.
 */
export function pricesToward({
  route,
  configured,
  model,
  scope,
  pricedAtMs,
}: MeteredDestination): readonly ReadonlySet<string>[] {
  const kinds = new Map<string, ReadonlySet<string>>();
  for (const deployment of configured.catalog.reached(model, scope)) {
    const price = priceAt(deployment.price, pricedAtMs);
    const counted = countedNames(route, price);
    const suffices = route.prices.some((name) => counted.has(name));
    if (price !== null && !suffices && isCharged(route)) {
      throw unpriced(route, model, pricedNames(price));
    }
    kinds.set([...counted].join(" "), counted);
  }
  return [...kinds.values()];
}

/** The names of a price that the route is charged by; none without a price. */
export function countedNames(
  { prices, sidePrices = [] }: MeteredRoute,
  price: Price | null,
): ReadonlySet<string> {
  const names = price === null ? [] : [...pricedNames(price)];
  const charged = [...prices, ...sidePrices];
  return new Set(names.filter((name) => charged.includes(name.split(".", 1)[0] ?? name)));
}

function unpriced({ prices, use }: MeteredRoute, { id }: ModelSettings, names: ReadonlySet<string>): Error {
  const has = [...names]
    .filter((name) => !name.includes("."))
    .map((name) => `\`price.${name}\``)
    .join(", ");
  const needs = prices.map((name) => `\`price.${name}\``).join(", ");
  return invalidRequest(
    `Model "${id}" has no price for ${use}: it has ${has}, but needs ${needs}. Ask the operator to set one.`,
    "model",
  );
}
