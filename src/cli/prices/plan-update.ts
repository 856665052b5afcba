import type { ServedCatalog } from "../../config/catalog/served.ts";
import type { StoredModel, StoredPrices } from "../../config/catalog/stored-prices.ts";
import { mapPrices, type PricesConfig, priceOn } from "../../config/dated-prices.ts";
import type { ModelConfig, PriceConfig } from "../../config/schema.ts";
import { lacksRequestFee } from "../import/request-fee.ts";
import { isNameOfModel } from "./list-vendors.ts";
import { contradictionIn, factorBetween, isOtherUnit, numbersOf, ratesOf, strangeRate } from "./rates.ts";
import { type ListedPrice, type PriceListFile, withoutZeros } from "./read-list.ts";

export interface ListedChange {
  readonly catalog: string;
  readonly model: string;
  /** `gone`: missing from the list. Its price stays. */
  readonly change: "new" | "up" | "down" | "other" | "gone";
  /** The largest change of its rates; null if no rate is comparable. */
  readonly factor: number | null;
  /** `input 2 → 3`. */
  readonly rates: readonly string[];
  /** Rates of the price before that the new one does not have. */
  readonly dropped: readonly string[];
}

export interface UpdatePlan {
  readonly changes: readonly ListedChange[];
  /** Number of prices that the list confirms. */
  readonly confirmed: number;
  readonly catalogs: StoredPrices["catalogs"];
  /** Why nothing of the list may be used. */
  readonly problems: readonly string[];
  /** Changes that the operator must allow. */
  readonly large: readonly string[];
}

/** A price that changes by more is unusual, and needs consent. */
const maxFactor = 3;

/** Compares a list with the prices of the models that are served. Each price of the list replaces the whole price. */
export function planUpdate(catalogs: readonly ServedCatalog[], list: PriceListFile, day: string): UpdatePlan {
  const parts = catalogs.map((catalog) => planCatalog(catalog, list, day));
  return {
    changes: inOrder(parts.flatMap(({ changes }) => changes)),
    confirmed: parts.reduce((sum, { confirmed }) => sum + confirmed, 0),
    catalogs: Object.fromEntries(
      parts.flatMap(({ name, stored }) => (stored.length === 0 ? [] : [[name, stored]])),
    ),
    problems: parts.flatMap(({ problems }) => problems),
    large: parts.flatMap(({ large }) => large),
  };
}

/** Sorts changes so that those that are only reported come last. */
function inOrder(changes: readonly ListedChange[]): readonly ListedChange[] {
  const isGone = ({ change }: ListedChange) => change === "gone";
  return [...changes.filter((change) => !isGone(change)), ...changes.filter(isGone)];
}

function planCatalog(catalog: ServedCatalog, list: PriceListFile, day: string) {
  const { name, models, all } = catalog;
  const rows = new Map<string, ListedPrice>();
  for (const row of list.models) if (row.catalog === name && !rows.has(row.id)) rows.set(row.id, row);
  const changes: ListedChange[] = [];
  const stored: StoredModel[] = [];
  const problems: string[] = [];
  const large: string[] = [];
  let confirmed = 0;
  const known = new Set(all.flatMap(namesOf));
  const invalid = list.invalid.filter((entry) => entry.catalog === name);
  for (const { id, problem } of invalid) {
    const counts = models.some((model) => namesOf(model).includes(id)) || isNew(id);
    if (counts) problems.push(`${name}/${id}: ${problem}`);
  }
  // A list without this vendor says nothing about it.
  if (rows.size === 0) return { name, changes, stored, problems, large, confirmed };

  for (const model of models) {
    const row = namesOf(model).flatMap((each) => rows.get(each) ?? [])[0];
    const current = priceOn(model.price);
    if (row?.price === undefined) {
      if (list.isComplete && !invalid.some(({ id }) => namesOf(model).includes(id)))
        changes.push({
          catalog: name,
          model: model.id,
          change: "gone",
          factor: null,
          rates: [],
          dropped: [],
        });
    } else if (isConfirmed(model.price, row.price)) {
      confirmed += 1;
      stored.push({ id: model.id, price_checked: day });
    } else {
      const price = mapPrices(row.model.price ?? row.price, withoutZeros);
      const compared = compare(name, model, current, priceOn(price));
      changes.push(compared.change);
      problems.push(...compared.problems);
      if (compared.isLarge) large.push(`${name}/${model.id} (${compared.change.rates.join(", ")})`);
      stored.push({
        id: model.id,
        price,
        price_checked: day,
        ...(model.free === true ? { free: false } : {}),
      });
    }
  }
  for (const { id, model } of rows.values()) {
    const { price } = model;
    const current = priceOn(price);
    if (!isNew(id) || current === undefined || lacksRequestFee({ ...model, vendor: name, price: current }))
      continue;
    const rates = [...ratesOf(current)].map(([rate, usd]) => `${rate} ${usd}`);
    changes.push({ catalog: name, model: id, change: "new", factor: null, rates, dropped: [] });
    const problem = contradictionIn(current) ?? strangeText(all, current);
    if (problem !== null) problems.push(`${name}/${id}: ${problem}`);
    stored.push({ ...model, price_checked: day });
  }
  return { name, changes, stored, problems, large, confirmed };

  function isNew(id: string): boolean {
    return !known.has(id) && isNameOfModel(name, id) && catalog.admits(id);
  }
}

function namesOf({ id, upstream_model: upstream, aliases = [] }: ModelConfig): string[] {
  return [id, ...(upstream === undefined ? [] : [upstream]), ...aliases];
}

/** Whether everything in the list is unchanged. The list can lack what only the catalog has, such as a tool's price. */
function isConfirmed(price: PricesConfig | undefined, listed: PricesConfig): boolean {
  const known = numbersOf(price);
  return [...numbersOf(listed)].every(([name, number]) => (known.get(name) ?? 0) === number);
}

function compare(catalog: string, model: ModelConfig, current: PriceConfig | undefined, price: PriceConfig) {
  const [before, after] = [ratesOf(current), ratesOf(price)];
  const both = [...after].flatMap(([name, usd]) => {
    const old = before.get(name);
    return old === undefined || old === usd ? [] : [{ name, old, usd, factor: factorBetween(old, usd) }];
  });
  const factor = both.reduce((highest, each) => Math.max(highest, each.factor), 0);
  const isAll = (holds: (one: { old: number; usd: number }) => boolean) =>
    both.length > 0 && both.every(holds);
  const isUp = isAll(({ old, usd }) => usd > old);
  const isDown = isAll(({ old, usd }) => usd < old);
  const added = [...after].flatMap(([name, usd]) => (before.has(name) ? [] : [`${name} ${usd}`]));
  const change: ListedChange = {
    catalog,
    model: model.id,
    change: isUp ? "up" : isDown ? "down" : "other",
    factor: both.length === 0 || !Number.isFinite(factor) ? null : factor,
    rates: [...both.map(({ name, old, usd }) => `${name} ${old} → ${usd}`), ...added],
    dropped: [...before.keys()].filter((name) => !after.has(name)),
  };
  const contradiction = contradictionIn(price);
  const problems = [
    ...both.flatMap(({ name, old, usd }) =>
      isOtherUnit(usd, old)
        ? [
            `${catalog}/${model.id}: ${name} ${usd} is 1,000 times off ${old} or more, so it is in another unit`,
          ]
        : [],
    ),
    ...(contradiction === null ? [] : [`${catalog}/${model.id}: ${contradiction}`]),
  ];
  // What was free or becomes free is never a usual change.
  return { change, problems, isLarge: factor > maxFactor || (model.free === true && after.size > 0) };
}

function strangeText(others: readonly ModelConfig[], price: PriceConfig): string | null {
  const strange = strangeRate(others, price);
  if (strange === null) return null;
  return `${strange.name} ${strange.usd} is 1,000 times or more off every price of its vendor, so it is in another unit`;
}
