import type { Rates } from "../../base/money/rates.ts";
import { nearestNames } from "../../base/text/nearest.ts";
import { priceAt, publishedPrice } from "../../catalog/price.ts";
import { ratesFor } from "../../catalog/priced-usage.ts";
import type { ModelSettings, Price, Settings } from "../../config/settings.ts";
import type { ComparedCosts, ComparedPrices, ComparedRates } from "../../store/store.ts";
import { invalidInput } from "../context.ts";

/** A model that past requests are priced by. */
export interface ComparedModel {
  readonly id: string;
  readonly prices: ComparedPrices;
}

const suggestions = 3;

/** Throws for a model that is unknown, or that no tokens are priced by. */
export function otherModel(
  name: string,
  { models, microUsdPerCredit }: Settings,
  atMs: number,
): ComparedModel {
  const model = models.find(({ id, aliases }) => id === name || aliases.includes(name));
  if (model === undefined) {
    const names = models.flatMap(({ id, aliases }) => [id, ...aliases]);
    const near = nearestNames(name, names, suggestions).map((each) => JSON.stringify(each));
    const hint = near.length === 0 ? "`sluice models list` has all" : `did you mean ${near.join(" or ")}?`;
    throw invalidInput(`no model is called ${JSON.stringify(name)}; ${hint}`);
  }
  const price = priceAt(publishedPrice(model), atMs);
  if (!pricesTokens(model, price)) {
    throw invalidInput(`${model.id} has no price for tokens, so other requests cannot be compared with it`);
  }
  return { id: model.id, prices: pricesOf(price, microUsdPerCredit) };
}

function pricesTokens({ serves }: ModelSettings, price: Price | null): boolean {
  return serves.includes("generation") && (price === null || (price.names ?? ["input"]).includes("input"));
}

function pricesOf(price: Price | null, microUsdPerCredit: number): ComparedPrices {
  const ratesOf = (tiers: readonly string[]): ComparedRates => {
    const usual = ratesFor(price, tiers, 0, microUsdPerCredit);
    const long = ratesFor(price, tiers, Number.MAX_SAFE_INTEGER, microUsdPerCredit);
    return { usual: usual.picoUsd, long: longOf(long) };
  };
  const tiers = Object.keys(price?.tiers ?? {});
  return {
    microUsdPerCredit,
    isFree: price === null,
    usual: ratesOf([]),
    byTier: Object.fromEntries(tiers.map((tier) => [tier, ratesOf([tier])])),
  };
}

function longOf({ inputAbove, picoUsd }: Rates): ComparedRates["long"] {
  return inputAbove === null ? null : { above: inputAbove, picoUsd };
}

const nanoPerCredit = 1e9;

/** The comparison as reports show it. */
export function comparisonDocument(model: ComparedModel, costs: ComparedCosts) {
  return {
    as_model: model.id,
    as_spend: costs.comparedNano / nanoPerCredit,
    compared_spend: costs.ownNano / nanoPerCredit,
    compared_requests: costs.requests,
    not_comparable: Object.entries(costs.notComparable).map(([reason, requests]) => ({ reason, requests })),
  };
}
