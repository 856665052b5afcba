import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { listedModels, listedVendors } from "../../src/config/catalog/price-lists.ts";
import { allShippedModels, catalogNames, shippedCatalog } from "../../src/config/catalog/shipped.ts";
import { catalogVendors } from "../../src/config/catalog/vendors.ts";
import { modelSchema } from "../../src/config/schema/model.ts";
import type { PriceConfig, TokenPriceConfig } from "../../src/config/schema.ts";
import { load } from "./fixtures.ts";

const lines = listedVendors.flatMap((vendor) => listedModels(vendor).map((line) => ({ vendor, line })));
const nameOf = ({ vendor, line }: (typeof lines)[number]) => `${vendor} ${line.id}`;
const tokenPrices = ({ tiers = {}, ...price }: PriceConfig): TokenPriceConfig[] =>
  // A generating model has both token prices, which the schema check below proves.
  [price, ...Object.values(tiers)] as TokenPriceConfig[];

describe("the price lists", () => {
  test("have 600 models or more of every vendor that is sold today", () => {
    expect(allShippedModels().length).toBeGreaterThan(600);
    const empty = catalogNames().filter((name) => shippedCatalog(name)?.length === 0);
    expect(empty).toEqual([]);
  });

  test("have settings of models, a day and a source in each line", () => {
    const broken = lines.filter(({ line: { source, note, ...model } }) => {
      const isKnown = ["models.dev", "LiteLLM", "models.dev, LiteLLM"].includes(source);
      const isNoted = note === undefined || note !== "";
      return !isKnown || !isNoted || model.price_checked === undefined || !Value.Check(modelSchema, model);
    });
    expect(broken.map(nameOf)).toEqual([]);
  });

  test("have a price for each model, or say that it is free", () => {
    const unpriced = lines.filter(({ line: { price, free } }) => (price === undefined) !== (free === true));
    expect(unpriced.map(nameOf)).toEqual([]);
  });

  test("name no model of a vendor twice", () => {
    for (const name of catalogNames()) {
      const ids = (shippedCatalog(name) ?? []).map(({ id }) => id);
      expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    }
  });

  test("have cached input at most at the price of input, and long contexts at least at the usual price", () => {
    const odd = lines.filter(({ line: { price } }) =>
      price === undefined
        ? false
        : tokenPrices(price).some(({ input, output, cached_input = input, long_context: long }) => {
            const isShorter = long !== undefined && (long.input < input || long.output < output);
            return cached_input > input || isShorter;
          }),
    );
    expect(odd.map(nameOf)).toEqual([]);
  });

  test("have flex at half and priority at 1.3 to 2.6 times the usual price, by the vendors' rules", () => {
    const factors = { flex: [0.45, 0.55], priority: [1.3, 2.6] } as const;
    const odd = lines.filter(({ line: { price } }) =>
      Object.entries(price?.tiers ?? {}).some(([tier, rates]) => {
        const [min, max] = factors[tier as keyof typeof factors] ?? [1, 1];
        const factor = rates.input / (price?.input ?? 0);
        return factor < min || factor > max;
      }),
    );
    expect(odd.map(nameOf)).toEqual([]);
  });

  test("have Claude's cache prices by Anthropic's rule: reads a tenth, writes 1.25 times, 2 times for an hour", () => {
    const claude = lines.filter(({ vendor, line }) => vendor === "anthropic" && line.price !== undefined);
    expect(claude.length).toBeGreaterThan(10);
    for (const { line } of claude) {
      const { input = 0, cached_input = 0, cache_write = 0, cache_write_1h } = line.price ?? {};
      // Haiku 3 was rounded: 0.03 and 0.3 of 0.25.
      expect(Math.abs(cached_input - input / 10)).toBeLessThan(0.0051);
      expect(Math.abs(cache_write - input * 1.25)).toBeLessThan(0.013);
      expect(cache_write_1h).toBeCloseTo(input * 2, 9);
    }
  });

  test("load as a configuration without a problem, for every vendor with a key", () => {
    for (const [name, { kind, baseUrl }] of Object.entries(catalogVendors)) {
      const address = baseUrl === null ? "" : `base_url = "${baseUrl}"\ncatalog = "${name}"\n`;
      const toml = `[providers.${name}]\nkind = "${kind}"\n${address}api_key = "env:KEY"\nmodels = "catalog"\n`;
      const { settings } = load(toml, { env: { KEY: "a-key" } });
      expect(settings.models.length).toBe(shippedCatalog(name)?.length ?? 0);
    }
  });
});
