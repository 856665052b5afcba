import { isObject } from "../base/json.ts";
import type { ModelUse } from "../base/models/model-uses.ts";
import { picoUsdPerToken } from "../base/money/money.ts";
import { bandsOf } from "../base/money/token-price.ts";
import { isUsualTier } from "../base/usage/usage.ts";
import { type DatedPriceConfig, priceList } from "./dated-prices.ts";
import type { ProblemList } from "./problems.ts";
import type { ModelConfig, TokenPriceConfig } from "./schema.ts";

/** Checks the prices of a model or a deployment, as far as the schema accepts them. */
export function checkPrices(
  prices: ModelConfig["price"],
  path: string,
  uses: readonly ModelUse[],
  problems: ProblemList,
): void {
  const checks = new PriceChecks(uses, problems);
  if (!Array.isArray(prices)) {
    if (isObject(prices)) checks.check(prices, path);
    return;
  }
  let before: string | undefined;
  for (const [index, price] of priceList(prices).entries()) {
    const at = `${path}[${index}]`;
    if (typeof price !== "object") continue;
    checks.checkDay(price, index, before, at);
    checks.check(price, at);
    if (problems.isValidAt(`${at}.from`)) before = price.from ?? before;
  }
}

class PriceChecks {
  readonly #uses: readonly ModelUse[];
  readonly #problems: ProblemList;

  constructor(uses: readonly ModelUse[], problems: ProblemList) {
    this.#uses = uses;
    this.#problems = problems;
  }

  checkDay({ from }: DatedPriceConfig, index: number, before: string | undefined, path: string): void {
    const at = `${path}.from`;
    if (!this.#problems.isValidAt(at)) return;
    if (index === 0) {
      if (from !== undefined)
        this.#add(at, "leaves requests before that day without a price; the first price has none, remove it");
    } else if (from === undefined) {
      this.#add(at, 'missing; every price but the first needs its day, such as from = "2026-10-31"');
    } else if (!isDay(from)) this.#add(at, `is ${from}, which the calendar does not have`);
    else if (from === before) this.#add(at, `is ${from}, as of the price before it; keep one of the two`);
    else if (before !== undefined && from < before)
      this.#add(
        at,
        `is ${from}, before ${before} of the price before it; put them in the order of their days`,
      );
  }

  check(price: DatedPriceConfig, path: string): void {
    if (this.#uses.some((use) => producesText.has(use))) this.#requireTokenPrices(price, path);
    this.#checkTokenPrice(price, path);
    if (typeof price.images === "object") this.#checkDecimals(price.images, `${path}.images`);
    if (typeof price.requests === "object") this.#checkRequestFees(price.requests, `${path}.requests`);
    if ("web_search" in price && "web_search_prompts" in price)
      this.#add(`${path}.web_search_prompts`, "is charged in place of web_search; remove one of them");
    if (!isObject(price.tiers)) return;
    if (price.input === undefined)
      this.#add(`${path}.tiers`, "need the usual price, too; add input and output next to them");
    for (const [tier, rates] of Object.entries(price.tiers)) {
      const at = `${path}.tiers.${tier}`;
      if (isUsualTier(tier)) this.#add(at, "is the default tier, priced by the model itself; remove it");
      else if (isObject(rates)) this.#checkTokenPrice(rates, at);
    }
  }

  #add(path: string, message: string): void {
    this.#problems.add(path, message);
  }

  #checkRequestFees(fees: object, path: string): void {
    this.#checkDecimals(fees, path);
    if (this.#uses.some((use) => use !== "generation"))
      this.#add(path, "must be a number: only generation requests name a size");
  }

  #requireTokenPrices(price: object, path: string): void {
    for (const name of ["input", "output"]) {
      if (name in price) continue;
      this.#add(`${path}.${name}`, "missing; it must be a number, in USD per million tokens");
    }
  }

  #checkTokenPrice(price: object & Pick<TokenPriceConfig, "long_context">, path: string): void {
    this.#checkDecimals(price, path);
    const at = `${path}.long_context`;
    const { long_context: long } = price;
    if (isObject(long)) this.#checkDecimals(long, at);
    if (!Array.isArray(long)) return;
    let before = 0;
    for (const [index, band] of bandsOf(long).entries()) {
      const place = `${at}[${index}]`;
      if (!isObject(band)) continue;
      this.#checkDecimals(band, place);
      if (!this.#problems.isValidAt(`${place}.above`)) continue;
      if (band.above <= before)
        this.#add(
          `${place}.above`,
          `is ${band.above}, not above ${before} of the one before it; put them in the order of their limits`,
        );
      before = Math.max(before, band.above);
    }
  }

  #checkDecimals(prices: object, path: string): void {
    for (const [name, usd] of Object.entries(prices)) {
      const at = `${path}.${name}`;
      if (typeof usd !== "number" || !this.#problems.isValidAt(at) || picoUsdPerToken(usd) !== null) continue;
      this.#add(at, "must have six decimals at most; prices are per million tokens, or per 1,000 calls");
    }
  }
}

/** The schema accepts 31 days in every month. */
function isDay(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}

/** Models that are charged for what they read and what they write. */
const producesText: ReadonlySet<ModelUse> = new Set<ModelUse>(["generation", "completions"]);
