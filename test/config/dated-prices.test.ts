import { describe, expect, test } from "bun:test";
import { Catalog } from "../../src/catalog/catalog.ts";
import { priceAt } from "../../src/catalog/price.ts";
import { priceChanges } from "../../src/catalog/price-changes.ts";
import { laterPriceNotes } from "../../src/catalog/price-notes.ts";
import { announcedPriceInUsd, describeExtras } from "../../src/catalog/price-view.ts";
import { load, problemsOf } from "./fixtures.ts";

const provider = '[providers.demo]\nkind = "demo"\n';
const withPrice = (price: string) => `${provider}[[models]]\nid = "m"\nprovider = "demo"\nprice = ${price}\n`;
const settingsOf = (price: string) => load(withPrice(price)).settings;
const atMs = (time: string) => Date.parse(time);

const two = '[{ input = 1, output = 2 }, { from = "2026-10-07", input = 3, output = 4, cached_input = 0.1 }]';

describe("a list of prices", () => {
  test("has the price of each moment, the first from ever", () => {
    const { price } = settingsOf(two).models[0] ?? {};
    const inputAt = (time: string) => priceAt(price ?? null, atMs(time))?.input;
    expect(inputAt("1970-01-01T00:00:00Z")).toBe(1_000_000);
    expect(inputAt("2026-10-06T23:59:59.999Z")).toBe(1_000_000);
    expect(inputAt("2026-10-07T00:00:00Z")).toBe(3_000_000);
    expect(inputAt("2030-01-01T00:00:00Z")).toBe(3_000_000);
  });

  test("can be written as tables", () => {
    const tables = `${provider}[[models]]\nid = "m"\nprovider = "demo"\n[[models.price]]\ninput = 1\noutput = 2
[[models.price]]\nfrom = "2026-10-07"\ninput = 3\noutput = 4\ncached_input = 0.1\n`;
    expect(load(tables).settings.models[0]?.price).toEqual(settingsOf(two).models[0]?.price ?? null);
  });

  test("is held at the highest rates of all deployments at each moment", () => {
    const deployment = (price: string) => `[[models.deployments]]\nprovider = "demo"\nprice = ${price}\n`;
    const { settings } = load(
      `${provider}[[models]]\nid = "m"\n${deployment(two)}${deployment(
        '[{ input = 2, output = 1 }, { from = "2026-11-01", input = 9, output = 1 }]',
      )}`,
    );
    const catalog = Catalog.from(settings);
    const [model] = settings.models;
    if (model === undefined) throw new Error("no model");
    const held = (time: string) => {
      const { input, output } = catalog.holdPrice(model, atMs(time)) ?? {};
      return [input, output];
    };
    expect(held("2026-10-06T12:00:00Z")).toEqual([2_000_000, 2_000_000]);
    expect(held("2026-10-07T12:00:00Z")).toEqual([3_000_000, 4_000_000]);
    expect(held("2026-11-01T12:00:00Z")).toEqual([9_000_000, 4_000_000]);
  });

  test("is announced, and shown to clients as of the moment", () => {
    const settings = settingsOf(two);
    const price = settings.models[0]?.price;
    if (price == null) throw new Error("no price");
    const announced = announcedPriceInUsd(price, atMs("2026-10-01T00:00:00Z"));
    expect(announced).toMatchObject({ input: 1, later: { "2026-10-07": { input: 3, cached_input: 0.1 } } });
    const changes = "input 1 → 3, output 2 → 4, cached_input 1 → 0.1, cache_write 1 → 3";
    expect(describeExtras(announced)).toEqual([`from 2026-10-07: ${changes}`]);
    expect(laterPriceNotes(settings, atMs("2026-10-06T00:00:00Z"))).toEqual([
      `m: from 2026-10-07, ${changes}`,
    ]);
    expect(laterPriceNotes(settings, atMs("2026-10-07T00:00:00Z"))).toEqual([]);
    expect(announcedPriceInUsd(price, atMs("2026-10-07T00:00:00Z"))).toEqual({
      ...{ input: 3, output: 4, cached_input: 0.1, cache_write: 3 },
    });
    const catalog = Catalog.from(settings);
    const shown = (time: string) => catalog.list(settings.models, atMs(time))[0]?.pricing?.input;
    expect([shown("2026-10-06T00:00:00Z"), shown("2026-10-07T00:00:00Z")]).toEqual([1, 3]);
  });

  test("is noted when a reload changes what comes later", () => {
    const changed = two.replace("cached_input = 0.1", "cached_input = 0.2");
    expect(priceChanges(settingsOf(two), settingsOf(changed))).toEqual([
      { model: "m", detail: "demo/m: from 2026-10-07: cached_input 0.1 → 0.2" },
    ]);
    expect(priceChanges(settingsOf(two), settingsOf("{ input = 1, output = 2 }"))).toEqual([
      { model: "m", detail: "demo/m: no longer a price from 2026-10-07" },
    ]);
  });

  test("is multiplied by a markup as a whole", () => {
    const catalogs = {
      openai: [
        {
          id: "gpt-x",
          price: [
            { input: 1, output: 2 },
            { from: "2026-10-07", input: 3, output: 4 },
          ],
        },
      ],
    };
    const toml = '[providers.openai]\nkind = "openai"\napi_key = "env:KEY"\nmodels = ["gpt-x"]\nmarkup = 2\n';
    const { settings } = load(toml, { env: { KEY: "a-key" }, prices: { version: "v", catalogs } });
    expect(settings.models[0]?.price).toMatchObject({
      ...{ input: 2_000_000, markupParts: 20_000 },
      later: [{ price: { input: 6_000_000, output: 8_000_000, markupParts: 20_000 } }],
    });
  });
});

const band = (above: number, input: number) => `{ above = ${above}, input = ${input}, output = 9 }`;

describe("a price that is refused", () => {
  test.each([
    [
      '[{ input = 1, output = 2 }, { from = "soon", input = 1, output = 2 }]',
      "models[0].price[1].from: must be a day such as 2026-10-31",
    ],
    [
      '[{ input = 1, output = 2 }, { from = "2026-02-30", input = 1, output = 2 }]',
      "models[0].price[1].from: is 2026-02-30, which the calendar does not have",
    ],
    [
      "[{ input = 1, output = 2 }, { input = 1, output = 2 }]",
      'models[0].price[1].from: missing; every price but the first needs its day, such as from = "2026-10-31"',
    ],
    [
      '[{ from = "2026-10-07", input = 1, output = 2 }]',
      "models[0].price[0].from: leaves requests before that day without a price; the first price has none, remove it",
    ],
    [
      '[{ input = 1, output = 2 }, { from = "2026-10-07", input = 1, output = 2 }, { from = "2026-10-07", input = 1, output = 3 }]',
      "models[0].price[2].from: is 2026-10-07, as of the price before it; keep one of the two",
    ],
    [
      '[{ input = 1, output = 2 }, { from = "2026-10-07", input = 1, output = 2 }, { from = "2026-10-06", input = 1, output = 3 }]',
      "models[0].price[2].from: is 2026-10-06, before 2026-10-07 of the price before it; put them in the order of their days",
    ],
    ["[]", "models[0].price: must be"],
    [
      '[{ input = 1, output = 2 }, { from = "2026-10-07", input = 1 }]',
      "models[0].price[1].output: missing; it must be a number, in USD per million tokens",
    ],
    ['{ from = "2026-10-07", input = 1, output = 2 }', "models[0].price.from: unknown name"],
    [
      `{ input = 1, output = 2, long_context = [${band(200_000, 2)}, ${band(100_000, 3)}] }`,
      "models[0].price.long_context[1].above: is 100000, not above 200000 of the one before it; put them in the order of their limits",
    ],
  ])("%s", (price, problem) => {
    expect(problemsOf(withPrice(price)).join("\n")).toContain(problem);
  });

  test("names the line of the mistake", () => {
    const toml = `${provider}[[models]]\nid = "m"\nprovider = "demo"\n[[models.price]]\ninput = 1\noutput = 2
[[models.price]]\nfrom = "2026-02-30"\ninput = 3\noutput = 4\n`;
    expect(() => load(toml)).toThrow('model "m", price[1].from (line 10)');
  });

  test("is a tier without the usual price", () => {
    const toml = `${provider}[[models]]\nid = "m"\nprovider = "demo"\nserves = ["images"]\nprice = { images = 1, tiers = { flex = { input = 1, output = 2 } } }\n`;
    expect(problemsOf(toml)).toEqual([
      "models[0].price.tiers: need the usual price, too; add input and output next to them",
    ]);
  });
});

test("several bands apply by the length of the input, and each to the whole call", () => {
  const { price } =
    settingsOf(`{ input = 1, output = 1, long_context = [${band(100_000, 2)}, ${band(200_000, 3)}] }`)
      .models[0] ?? {};
  expect(price?.long_context).toMatchObject([
    { above: 100_000, input: 2_000_000 },
    { above: 200_000, input: 3_000_000 },
  ]);
});
