import { unitNames } from "../base/metered-units.ts";
import { type ModelUse, usualUses } from "../base/model-uses.ts";
import { meteredRoute, meteredRouteNames } from "../dialects/metered/registry.ts";
import { extraTokens } from "./models.ts";
import type { Places } from "./places.ts";
import type { ConfigFile, ModelConfig, PriceConfig } from "./schema.ts";

/** Warns of what a model serves that none of its prices is for, and of prices that nothing it serves is charged by. */
export function warnOfPrices({ models = [] }: ConfigFile, places: Places): string[] {
  return models.flatMap((model) => {
    const uses: readonly ModelUse[] = model.serves ?? usualUses;
    return pricesOf(model, places.pathOfModel(model.id)).flatMap(([price, path]) => [
      ...unpriced(price, uses).map((words) => `${places.describe(path)} ${words}`),
      ...unused(price, uses).map(
        (name) => `${places.describe(`${path}.${name}`)} is for nothing that it serves (${uses.join(", ")})`,
      ),
    ]);
  });
}

function pricesOf({ price, deployments = [] }: ModelConfig, path: string): [PriceConfig, string][] {
  const own = deployments.map((deployment, place) => [
    deployment.price,
    `${path}.deployments[${place}].price`,
  ]);
  return [[price, `${path}.price`], ...own].filter((each): each is [PriceConfig, string] => each[0] != null);
}

/** Requests for these are refused: they would be free by mistake. */
function unpriced(price: PriceConfig, uses: readonly ModelUse[]): string[] {
  const lacking = routesOf(uses).filter(
    ({ prices }) => prices.length > 0 && !prices.some((name) => name in price),
  );
  const words = lacking.map(
    ({ use, prices }) => `has none of ${prices.join(", ")}, so requests for ${use} are refused`,
  );
  return [...new Set(words)];
}

const countedNames = ["input", "output", ...extraTokens] as const;

/** Generation is charged by all kinds of tokens. Importers write prices of 0 where there is none. */
function unused(price: PriceConfig, uses: readonly ModelUse[]): string[] {
  const counted = new Set(
    routesOf(uses).flatMap(({ prices, sidePrices = [] }) => [...prices, ...sidePrices]),
  );
  const names = uses.includes("generation") ? unitNames : [...unitNames, ...countedNames];
  return names.filter((name) => (price[name] ?? 0) !== 0 && !counted.has(name));
}

function routesOf(uses: readonly ModelUse[]) {
  return meteredRouteNames.map(meteredRoute).filter(({ use }) => uses.includes(use));
}
