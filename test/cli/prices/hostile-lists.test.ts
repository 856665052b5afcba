import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { shippedCatalog } from "../../../src/config/catalog/shipped.ts";
import { priceOn } from "../../../src/config/dated-prices.ts";
import { newPlace, type Place, sluice, sluiceJson } from "../fixtures.ts";

const config = `[providers.openai]
kind = "openai"
api_key = "env:OPENAI_API_KEY"
models = "catalog"
`;

/** A place with data, and no gateway. */
async function withData(): Promise<Place> {
  const place = newPlace({ env: { OPENAI_API_KEY: "sk-test" } });
  writeFileSync(join(place.folder, "sluice.toml"), config);
  await sluiceJson(place, "keys", "create", "--mode", "credit", "--credit", "1");
  return place;
}

function update(place: Place, text: string, ...options: readonly string[]) {
  const file = join(place.folder, "list");
  writeFileSync(file, text);
  return sluice(place, "models", "update", "--from", file, ...options);
}

const toml = (price: string, id = "gpt-5.4") =>
  `[[models]]\nid = "${id}"\nprovider = "openai"\nprice = { ${price} }\n`;
const liteLlm = (fields: object, name = "gpt-5.4") =>
  JSON.stringify({ [name]: { litellm_provider: "openai", mode: "chat", ...fields } });
const modelsDev = (cost: object) =>
  JSON.stringify({ openai: { models: { "gpt-5.4": { cost, limit: { context: 1000 } } } } });

const hostile: readonly (readonly [what: string, text: string, why: string])[] = [
  ["a huge price", toml("input = 1e300, output = 15.0"), "1000000"],
  ["a negative price", toml("input = -1.0, output = 15.0"), "input"],
  ["NaN", toml("input = nan, output = 15.0"), "input"],
  ["infinity", toml("input = inf, output = 15.0"), "input"],
  ["a price per token", toml("input = 0.000003, output = 0.000015"), "another unit"],
  ["a price per thousand tokens", toml("input = 0.0025, output = 0.015"), "another unit"],
  ["a price in micro-dollars", toml("input = 250000.0, output = 150000.0"), "another unit"],
  ["cached input above input", toml("input = 3.0, output = 15.0, cached_input = 4.0"), "cached_input"],
  ["a text", toml('input = "3", output = 15.0'), "input"],
  ["more decimals than are charged", toml("input = 2.50000001, output = 15.0"), "decimals"],
  ["an unknown field", toml("input = 3.0, output = 15.0, discount = 1.0"), "discount"],
  ["a broken row of a new model", toml("input = 0.0000001, output = 0.0000002", "gpt-77"), "gpt-77"],
  ["no list", "hello", "line 1"],
  ["an empty file", "", "not a price list"],
  ["another JSON", '{"a": 1}', "neither LiteLLM's"],
  ["half a JSON", liteLlm({ input_cost_per_token: 1e-6 }).slice(0, 40), "not JSON"],
  ["LiteLLM's per million", liteLlm({ input_cost_per_token: 2.5, output_cost_per_token: 15 }), "gpt-5.4"],
  ["LiteLLM's negative", liteLlm({ input_cost_per_token: -1e-6, output_cost_per_token: 1e-5 }), "gpt-5.4"],
  ["LiteLLM's text", liteLlm({ input_cost_per_token: "1e-6", output_cost_per_token: 1e-5 }), "gpt-5.4"],
  ["models.dev per token", modelsDev({ input: 0.0000025, output: 0.000015 }), "another unit"],
  ["models.dev negative", modelsDev({ input: 2.5, output: 15, cache_read: -1 }), "gpt-5.4"],
];

describe("a price list with", () => {
  test.each(hostile)(
    "%s changes nothing and says why",
    async (_, text, why) => {
      const place = await withData();
      for (const options of [["--yes"], ["--yes", "--allow-large"]]) {
        const { code, stderr } = await update(place, text, ...options);
        expect([code, stderr]).toEqual([1, expect.stringContaining(why)]);
      }
      const revert = await sluice(place, "models", "update", "--revert", "--yes");
      expect(revert).toMatchObject({ code: 1, stderr: expect.stringContaining("no prices are stored") });
      const log = await sluiceJson<{ action: string }[]>(place, "audit-log");
      expect(log.filter(({ action }) => action === "models.update")).toEqual([]);
    },
    60_000,
  );

  test("one bad entry among many good ones is refused whole", async () => {
    const place = await withData();
    const good = toml("input = 3.0, output = 16.0");
    const { code, stderr } = await update(
      place,
      `${good}${toml("input = 9000.0, output = 9.0", "gpt-4o")}`,
      "--yes",
    );
    expect([code, stderr]).toEqual([1, expect.stringContaining("gpt-4o")]);
    expect((await sluice(place, "models", "update", "--revert", "--yes")).code).toBe(1);
  }, 60_000);

  test("a bad entry of a vendor that is not served counts for nothing", async () => {
    const place = await withData();
    const other =
      '[[models]]\nid = "x"\nprovider = "mistral"\nprice = { input = 999999.0, output = 0.000001 }\n';
    expect(await update(place, `${toml("input = 3.0, output = 16.0")}${other}`, "--yes")).toMatchObject({
      code: 0,
    });
  }, 60_000);
});

describe("an update", () => {
  const { input = 0, output = 0 } = priceOn(
    shippedCatalog("openai")?.find(({ id }) => id === "gpt-5.4")?.price ?? {},
  );

  test("by more than 3 times needs --allow-large", async () => {
    const place = await withData();
    const list = toml(`input = ${input * 4}, output = ${output}`);
    const refused = await update(place, list, "--yes");
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("--allow-large")]);
    expect(await update(place, list, "--yes", "--allow-large")).toMatchObject({ code: 0 });
  }, 60_000);

  test("without a terminal needs --yes, to revert too, and a dry run changes nothing", async () => {
    const place = await withData();
    const list = toml(`input = ${input + 1}, output = ${output}`);
    const dry = await update(place, list, "--dry-run", "--json");
    expect(JSON.parse(dry.stdout)).toMatchObject({
      stored: false,
      changes: [{ model: "gpt-5.4", change: "up" }],
    });
    const refused = await update(place, list);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("--yes")]);
    expect(await update(place, list, "--yes")).toMatchObject({ code: 0 });
    const revert = await sluice(place, "models", "update", "--revert");
    expect([revert.code, revert.stderr]).toEqual([1, expect.stringContaining("--yes")]);
    expect(await sluice(place, "models", "update", "--revert", "--yes")).toMatchObject({ code: 0 });
  }, 60_000);

  test("that confirms a price keeps its other rates, and dates it", async () => {
    const place = await withData();
    const json = modelsDev({ input, output });
    const answer = await update(place, json, "--yes", "--json");
    expect(JSON.parse(answer.stdout)).toMatchObject({ confirmed: 1, stored: true });
    expect(JSON.parse(answer.stdout).changes).not.toContainEqual(
      expect.objectContaining({ model: "gpt-5.4" }),
    );
  }, 60_000);

  test("comes from an address that is named, whose password is shown nowhere", async () => {
    const place = await withData();
    using server = Bun.serve({ port: 0, fetch: () => new Response(modelsDev({ input: input + 1, output })) });
    const from = `http://user:hidden@127.0.0.1:${server.port}/api.json?token=hidden`;
    const said = await sluice(place, "models", "update", "--from", from, "--yes");
    expect(said.code).toBe(0);
    const log = await sluiceJson<{ action: string; detail: string }[]>(place, "audit-log");
    expect(log.find(({ action }) => action === "models.update")?.detail).toContain("/api.json");
    expect(JSON.stringify([said, log])).not.toContain("hidden");
  }, 60_000);
});
