import { assert } from "../../base/assert.ts";
import { costNano, type Quantities, type Rates, readRates, unitOf } from "../../base/money/rates.ts";
import { Parameters, type Query } from "../query.ts";
import type { ComparedCosts, ComparedPrices, ComparedRates, ComparisonQuery } from "../reports.ts";
import { quantitiesOf } from "../written-rows.ts";
import { ofAccount, ofKey } from "./row-search.ts";

type PicoUsd = Rates["picoUsd"];

/** A charge, as `chargeRows` selects it. */
export interface ChargeRow {
  readonly id: number;
  readonly rates: string | null;
  readonly quantities: string | null;
  /** Null without a usage record. */
  readonly inputTokens: number | null;
  readonly cachedInputTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
}

/** The name that a quantity is counted under if it has no rate of its own. */
const partOf: Readonly<Record<string, string>> = {
  audio_input: "input",
  image_input: "input",
  cached_audio_input: "cached_input",
  cached_image_input: "cached_input",
  cache_write_1h: "cache_write",
  cache_write_24h: "cache_write",
  audio_output: "output",
  image_output: "output",
};

const inputNames = [
  "input",
  "audio_input",
  "image_input",
  "cached_input",
  "cached_audio_input",
  "cached_image_input",
  "cache_write",
  "cache_write_1h",
  "cache_write_24h",
] as const;

const isFee = (name: string) => name === "requests" || name.startsWith("requests.");

/** Adds up what charges would have cost by other prices: each request by itself, rounded once like a charge. */
export class CostComparison {
  readonly #prices: ComparedPrices;
  readonly #knownRates = new Map<string, Rates>();
  readonly #notComparable: Record<string, number> = {};
  #requests = 0;
  #ownNano = 0;
  #comparedNano = 0;

  constructor(prices: ComparedPrices) {
    this.#prices = prices;
  }

  add(row: ChargeRow): void {
    const reason = this.#compare(row);
    if (reason !== null) this.#notComparable[reason] = (this.#notComparable[reason] ?? 0) + 1;
  }

  /** Why the charge cannot be compared; null if it was. */
  #compare(row: ChargeRow): string | null {
    const { inputTokens } = row;
    const quantities = quantitiesOf(row.quantities, inputTokens === null ? null : { ...row, inputTokens });
    if (row.rates === null || quantities === null) return "unknown usage";
    const own = this.#knownRates.get(row.rates) ?? readRates(row.rates);
    this.#knownRates.set(row.rates, own);
    const { isFree, byTier, usual, microUsdPerCredit } = this.#prices;
    const tiers = own.tiers.filter((tier) => byTier[tier] !== undefined);
    if (tiers.length > 1) return "several tiers";
    const picoUsd = ratesFor(byTier[tiers[0] ?? ""] ?? usual, quantities);
    const compared = isFree ? {} : translate(quantities, picoUsd);
    if (typeof compared === "string") return compared;
    this.#requests += 1;
    this.#ownNano += costNano(own, quantities);
    this.#comparedNano += costNano({ picoUsd, microUsdPerCredit }, compared);
    return null;
  }

  get result(): ComparedCosts {
    assert(
      Number.isSafeInteger(this.#ownNano) && Number.isSafeInteger(this.#comparedNano),
      "the sums of compared costs must be exact",
    );
    return {
      requests: this.#requests,
      ownNano: this.#ownNano,
      comparedNano: this.#comparedNano,
      notComparable: this.#notComparable,
    };
  }
}

function ratesFor({ usual, long }: ComparedRates, quantities: Quantities): PicoUsd {
  if (long === null) return usual;
  const input = inputNames.reduce((sum, name) => sum + (quantities[name] ?? 0), 0);
  return input > long.above ? long.picoUsd : usual;
}

/** The quantities by the names of the other rates; or what these have no price for. */
function translate(quantities: Quantities, picoUsd: PicoUsd): Quantities | string {
  const translated: Record<string, number> = {};
  for (const [name, count] of Object.entries(quantities)) {
    if (isFee(name)) continue;
    // Further models that ran for the response would have been others, too.
    if (unitOf(name) === undefined && name.includes("/")) return "several models in one request";
    const known = picoUsd[name] === undefined ? partOf[name] : name;
    if (known === undefined || picoUsd[known] === undefined) return name;
    translated[known] = (translated[known] ?? 0) + count;
  }
  // A fee for each request, if the other model has one; by the smallest search, as if none was asked for.
  const fee = ["requests", "requests.low"].find((name) => picoUsd[name] !== undefined);
  return fee === undefined ? translated : { ...translated, [fee]: 1 };
}

/** About 3 ms. */
const rowsPerPage = 1_000;

/** Page by page, for a database in another process. */
export async function compareByPages(
  read: Query,
  query: ComparisonQuery,
  prices: ComparedPrices,
): Promise<ComparedCosts> {
  const comparison = new CostComparison(prices);
  let after = 0;
  for (;;) {
    query.signal?.throwIfAborted();
    const { text, parameters } = chargeRows(query, { after, limit: rowsPerPage });
    const rows = await read<ChargeRow>(text, parameters);
    for (const row of rows) comparison.add(row);
    after = rows.at(-1)?.id ?? after;
    if (rows.length < rowsPerPage) return comparison.result;
  }
}

/** Selects the charges of a range of whole minutes, as the other reports do; all of them, or a page in the order of their ids. */
export function chargeRows(
  { sinceMs, untilMs, keyId, accountId }: ComparisonQuery,
  page: { readonly after: number; readonly limit: number } | null,
) {
  const parameters = new Parameters();
  const [since, until] = [Math.floor(sinceMs / 60_000), Math.ceil(untilMs / 60_000)].map((minute) =>
    parameters.add(minute * 60_000),
  );
  const also = [
    ...(keyId === undefined ? [] : [ofKey(keyId, parameters)]),
    ...(accountId === undefined ? [] : [ofAccount(accountId, parameters)]),
    ...(page === null ? [] : [`entries.id > ${parameters.add(page.after)}`]),
  ];
  const order = page === null ? "" : ` ORDER BY entries.id LIMIT ${parameters.add(page.limit)}`;
  const text = `SELECT entries.id::float8 AS id, rates.rates, entries.quantities, entries.input_tokens::float8 AS "inputTokens",
    coalesce(entries.cached_input_tokens, 0)::float8 AS "cachedInputTokens",
    coalesce(entries.cache_write_tokens, 0)::float8 AS "cacheWriteTokens",
    coalesce(entries.output_tokens, 0)::float8 AS "outputTokens"
  FROM entries LEFT JOIN rates ON rates.id = entries.rates_id
  WHERE entries.kind = 'charge' AND entries.at_ms >= ${since} AND entries.at_ms < ${until}${also.map((each) => ` AND ${each}`).join("")}${order}`;
  return { text, parameters: parameters.all };
}
