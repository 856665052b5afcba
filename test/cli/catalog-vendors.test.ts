import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../src/base/json.ts";
import { catalogNames } from "../../src/config/catalog/shipped.ts";
import { newFolder } from "../support/new-folder.ts";
import { startProvider } from "../support/provider.ts";
import { Sluice, type TestKey } from "../support/sluice.ts";
import { keyFile } from "../vendors/vertex/fake-vertex.ts";
import { tokens, vendorResponse } from "./vendor-answers.ts";
import { type VendorPrices, vendorPrices } from "./vendor-prices.ts";

/** One server in the place of all vendors, which tell by the path who was asked. */
const vendor = startProvider(vendorResponse);
const prompt = "Hello. ".repeat(50);

/** A gateway with the keys of all vendors in its environment, and nothing else. */
let byKeys: Sluice;
/** A gateway for each cloud, with nothing but its credential. */
const clouds = new Map<string, Sluice>();
const keys = new Map<Sluice, TestKey>();

beforeAll(async () => {
  const variables = vendorPrices.flatMap(({ name, variable }) =>
    variable === undefined ? [] : [[variable, name] as const],
  );
  const env = Object.fromEntries(
    [...variables, ["PERPLEXITY", "perplexity"] as const].flatMap(([variable, name]) => [
      [`${variable}_API_KEY`, `key-of-${name}`],
      [`${variable}_BASE_URL`, `${vendor.url}/${name}${ends[name] ?? "/v1"}`],
    ]),
  );
  byKeys = await Sluice.start({ env });
  await byKeys.told("listening on");
  const account = join(newFolder(), "vertex.json");
  writeFileSync(account, keyFile(`${vendor.url}/token`));
  for (const [name, lines] of Object.entries(cloudOptions(account))) {
    const config = `[providers.${name}]\nkind = "${name}"\nmodels = "catalog"\n${lines}\n`;
    clouds.set(name, await Sluice.start({ config, env: { CLOUD_KEY: `key-of-${name}` } }));
  }
  for (const sluice of [byKeys, ...clouds.values()])
    keys.set(sluice, await sluice.createKey({ credit: 100 }));
}, 60_000);
afterAll(async () => {
  await Promise.all(Array.from(keys.keys(), (sluice) => sluice[Symbol.asyncDispose]()));
  vendor.stop();
}, 30_000);

/** How a vendor's own address ends, if not in its version. */
const ends: Readonly<Record<string, string>> = { anthropic: "", gemini: "", cohere: "/v2" };

function cloudOptions(account: string): Readonly<Record<string, string>> {
  return {
    azure: `base_url = "${vendor.url}"\nresource = "our-resource"\napi_key = "env:CLOUD_KEY"`,
    bedrock: `region = "eu-central-1"\nbase_url = "${vendor.url}"\napi_key = "env:CLOUD_KEY"`,
    vertex: `project = "our-project"\nlocation = "global"\nbase_url = "${vendor.url}"\ncredentials = "file:${account}"`,
  };
}

interface Served {
  readonly answer: JsonObject;
  readonly cost: number;
}

async function call({ name }: Pick<VendorPrices, "name">, path: string, body: JsonObject): Promise<Served> {
  const sluice = clouds.get(name) ?? byKeys;
  const before = await usedCredits(sluice);
  const key = keys.get(sluice);
  const response = await sluice.request(path, { ...(key === undefined ? {} : { key }), body });
  const text = await response.text();
  expect([body["model"], response.status, response.status === 200 ? "" : text]).toEqual([
    body["model"],
    200,
    "",
  ]);
  return { answer: JSON.parse(text), cost: (await usedCredits(sluice)) - before };
}

async function usedCredits(sluice: Sluice): Promise<number> {
  const key = keys.get(sluice);
  const response = await sluice.request("/v1/usage", key === undefined ? {} : { key });
  return ((await response.json()) as { credits: { used: number } }).credits.used;
}

function usdFor(input: number, output: number): number {
  return (tokens.input * input + tokens.output * output) / 1e6;
}

/** In named-vendors.test.ts. */
const calledElsewhere = [
  ...["baseten", "cloudflare", "databricks", "github", "huggingface", "novita", "nscale", "nvidia"],
  ...["ollama-cloud", "ovhcloud", "sambanova", "scaleway", "snowflake", "vercel", "volcengine"],
];

test("each vendor with a catalog is called here or there", () => {
  const called = [...vendorPrices.map(({ name }) => name), "perplexity", "openrouter", ...calledElsewhere];
  expect(catalogNames().toSorted()).toEqual(called.toSorted());
});

test("a model of perplexity costs its tokens and a fee per request, by the size of its search", async () => {
  const body = { model: "sonar-pro", messages: [{ role: "user", content: prompt }] };
  const perplexity = { name: "perplexity" };
  expect((await call(perplexity, "/v1/chat/completions", body)).cost).toBeCloseTo(usdFor(3, 15) + 0.006, 10);
  const sized = { ...body, web_search_options: { search_context_size: "high" } };
  expect((await call(perplexity, "/v1/chat/completions", sized)).cost).toBeCloseTo(usdFor(3, 15) + 0.014, 10);
  const cheapest = { ...body, model: "sonar" };
  expect((await call(perplexity, "/v1/chat/completions", cheapest)).cost).toBeCloseTo(
    usdFor(1, 1) + 0.005,
    10,
  );
});

for (const prices of vendorPrices) {
  const { name, models, embedding, rerank } = prices;
  test(`models of ${name} answer by name with nothing but its key, at the list price`, async () => {
    for (const [model, input, output] of models) {
      vendor.requests.length = 0;
      const { cost } = await call(prices, "/v1/chat/completions", {
        model,
        max_tokens: 200,
        messages: [{ role: "user", content: prompt }],
      });
      expect([model, cost]).toEqual([model, expect.closeTo(usdFor(input, output), 10)]);
      const asked = vendor.requests.find(({ path }) => path !== "/token");
      // The vendor gets its own id, whatever the client called it by.
      if (!clouds.has(name)) expect(asked?.path).toStartWith(`/${name}/`);
      const id = model.startsWith(`${name}/`) ? model.slice(name.length + 1) : model;
      expect(decodeURIComponent(`${asked?.path} ${asked?.body["model"]}`)).toContain(id);
      if (name === "cohere") expect(asked?.path).toBe("/cohere/compatibility/v1/chat/completions");
    }
    if (embedding !== undefined) {
      const [model, input] = embedding;
      const { answer, cost } = await call(prices, "/v1/embeddings", { model, input: prompt.trim() });
      const { prompt_tokens: counted } = answer["usage"] as { prompt_tokens: number };
      expect(counted).toBeGreaterThan(40);
      expect([model, cost]).toEqual([model, expect.closeTo((counted * input) / 1e6, 10)]);
    }
    if (rerank !== undefined) {
      const [model, searchUnits] = rerank;
      const { cost } = await call(prices, "/v1/rerank", { model, query: "bread", documents: ["a", "b"] });
      expect([model, cost]).toEqual([model, expect.closeTo(searchUnits / 1000, 10)]);
    }
  }, 60_000);
}
