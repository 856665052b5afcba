import type { ImportedModel } from "../../../src/cli/import/imported.ts";
import { readPriceList, UnknownPriceFile } from "../../../src/cli/import/prices.ts";
import { catalogOf } from "../../../src/cli/prices/list-vendors.ts";
import { contradictionIn, numbersOf } from "../../../src/cli/prices/rates.ts";
import type { PriceConfig } from "../../../src/config/schema.ts";
import { RefreshFailure } from "./failure.ts";
import { slipOf } from "./slips.ts";

/** What a list says of one model of a catalog. */
export interface ListedModel extends ImportedModel {
  /** The list, such as "LiteLLM". */
  readonly source: string;
  /** The day of the list. */
  readonly day: string;
}

/** The lists by catalog and id, the newest first. */
export type Listed = ReadonlyMap<string, readonly ListedModel[]>;

export interface ReadLists {
  readonly listed: Listed;
  /** The day of each list by its name, the newest first. */
  readonly days: ReadonlyMap<string, string>;
  /** Entries that contradict themselves or each other, with the reason. */
  readonly skipped: readonly string[];
}

export function keyOf(catalog: string, id: string): string {
  return `${catalog} ${id}`;
}

/** Reads lists given as `FILE@DAY`, or `FILE` for a list that was read today. */
export async function readLists(files: readonly string[], today: string): Promise<ReadLists> {
  const read = await Promise.all(files.map((file) => readOne(file, today)));
  const newestFirst = read.toSorted((one, other) => (one.day < other.day ? 1 : -1));
  const skipped = newestFirst.flatMap((list) => list.skipped);
  const days = new Map(newestFirst.map(({ source, day }) => [source, day]));
  const listed = new Map<string, ListedModel[]>();
  for (const { models } of newestFirst)
    for (const [key, model] of models) listed.getOrInsertComputed(key, () => []).push(model);
  return { listed, days, skipped };
}

async function readOne(given: string, today: string) {
  const [, file = given, day = today] = /^(.+)@(\d{4}-\d\d-\d\d)$/.exec(given) ?? [];
  const text = await Bun.file(file)
    .text()
    .catch((error: Error) => {
      throw new RefreshFailure(`${file} cannot be read: ${error.message}`);
    });
  const { source, models, invalid } = parsed(text, file);
  const skipped = invalid.map(({ vendor, id, problem }) => `${vendor}/${id}: ${problem}`);
  const byKey = Map.groupBy(models, ({ vendor, id }) => keyOf(catalogOf(vendor), plainId(id)));
  const chosen = new Map<string, ListedModel>();
  for (const [key, entries] of byKey) {
    const problem = slipOf(key) ?? problemOf(entries);
    const [first] = entries.toSorted((one, other) => numbersOf(other.price).size - numbersOf(one.price).size);
    if (problem !== null) skipped.push(`${key.replace(" ", "/")}: ${problem}`);
    else if (first !== undefined)
      chosen.set(key, { ...first, price: sold(first), id: plainId(first.id), source, day });
  }
  return { source, day, models: chosen, skipped };
}

function parsed(text: string, file: string) {
  try {
    return readPriceList(text);
  } catch (error) {
    if (error instanceof UnknownPriceFile)
      throw new RefreshFailure(`${file} is not a price list: ${error.message}`);
    throw error;
  }
}

/** Lists have the prices of Anthropic's searches for Bedrock, too, which runs none of Anthropic's tools. */
function sold({ vendor, price }: ImportedModel): PriceConfig {
  if (catalogOf(vendor) !== "bedrock") return price;
  const { web_search: _, ...others } = price;
  return others;
}

/** LiteLLM has the same prefix for all vendors of a cloud. */
function plainId(id: string): string {
  return id.replace(/^vertex_ai\//, "");
}

/** One list can have a model under several of its own names for a vendor. */
function problemOf(entries: readonly ImportedModel[]): string | null {
  const prices = new Set(entries.map(({ price: { input, output } }) => `${input}/${output}`));
  if (prices.size > 1) return `the list has it at ${[...prices].join(" and ")}`;
  return entries.map(({ price }) => contradictionIn(price)).find((problem) => problem !== null) ?? null;
}
