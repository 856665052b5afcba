import { expect, test } from "bun:test";
import { reachable } from "../../config/catalog/refresh/change.ts";
import { type ListedModel, readLists } from "../../config/catalog/refresh/lists.ts";
import { callPriceNames } from "../../src/base/usage/hosted-tools.ts";
import { ratesOf } from "../../src/cli/prices/rates.ts";
import { listedModels } from "../../src/config/catalog/price-lists.ts";
import { shippedCatalog } from "../../src/config/catalog/shipped.ts";
import { priceOn } from "../../src/config/dated-prices.ts";
import type { ModelConfig } from "../../src/config/schema.ts";

/** The models that most requests name, as LiteLLM's price file had them on the day of the catalog. */
const { listed } = await readLists([`${import.meta.dir}/newest-list.json@2026-11-19`], "2026-11-19");
const popular = [...listed].flatMap(([key, [row]]) => (row === undefined ? [] : [{ key, row }]));

function catalogEntry(key: string): ModelConfig | undefined {
  const [catalog = "", id = ""] = key.split(" ");
  return shippedCatalog(catalog)?.find((model) => model.id === id || model.upstream_model === id);
}

const calls: ReadonlySet<string> = new Set(callPriceNames);

/** The rates that differ, as `input 2, not 3`. Lists don't state all prices of calls. */
function differences(entry: ModelConfig, row: ListedModel): string[] {
  const known = ratesOf(priceOn(entry.price));
  const stated = ratesOf(reachable(row.price, entry.context_window));
  const names = [...new Set([...stated.keys(), ...known.keys()])];
  return names.flatMap((name) => {
    const [own, theirs] = [known.get(name), stated.get(name)];
    // A zero in a list, and images at the price of any input, are no price.
    const isNone = theirs === 0 || (name === "image_input" && theirs === stated.get("input"));
    const isSame =
      own === theirs || (own === undefined && isNone) || (theirs === undefined && calls.has(name));
    return isSame ? [] : [`${name} ${own}, not ${theirs}`];
  });
}

test("the catalog has every popular model, in every field as the newest list, or its line says why not", () => {
  expect(popular.length).toBeGreaterThan(153);
  const different = popular.flatMap(({ key, row }) => {
    const [catalog = "", id = ""] = key.split(" ");
    const note = listedModels(catalog).find((line) => line.id === id)?.note;
    const entry = catalogEntry(key);
    const found = entry === undefined ? ["is missing"] : differences(entry, row);
    return found.length === 0 || note !== undefined ? [] : [`${key}: ${found.join(", ")}`];
  });
  expect(different).toEqual([]);
});
