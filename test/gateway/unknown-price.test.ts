import { afterAll, beforeAll, expect, test } from "bun:test";
import { startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

const vendor = startProvider();
let sluice: Sluice;
let credit: TestKey;
let budget: TestKey;
beforeAll(async () => {
  const provider = (lines: string) =>
    `kind = "openai"\nbase_url = "${vendor.url}/v1"\napi_key = "env:TEST_OPENAI_KEY"\n${lines}\n`;
  const config = [
    `[providers.openai]\n${provider('models = ["gpt-6*"]\nmarkup = 2')}`,
    `[providers.other]\n${provider('models = ["gpt-7", "gpt-8*"]\nunpriced = "budget-only"')}`,
    `[providers.another]\n${provider('models = ["nova*"]\nunpriced = "budget-only"')}`,
  ].join("\n");
  sluice = await startSluice({ config });
  credit = await sluice.createKey();
  budget = await sluice.createKey({ mode: "token_budget" });
});
afterAll(async () => {
  await sluice.dispose();
  vendor.stop();
});

const ask = (key: TestKey, model: string) =>
  sluice.request("/v1/chat/completions", {
    key,
    body: { model, messages: [{ role: "user", content: "hi" }] },
  });

const shown = async (id: string) => (await sluice.cli("requests", "show", id)).stdout;

test("a catalog model is charged at its list price times the markup, by its id and by provider/id", async () => {
  for (const model of ["gpt-6-luna", "openai/gpt-6-luna"]) {
    const response = await ask(credit, model);
    expect(response.status, await response.clone().text()).toBe(200);
    const { usage } = (await response.json()) as {
      usage: { prompt_tokens: number; completion_tokens: number };
    };
    const cost = (usage.prompt_tokens * 0.2 + usage.completion_tokens * 1) / 1e6;
    expect(Number(response.headers.get("x-sluice-cost"))).toBeCloseTo(cost, 9);
  }
  expect(vendor.requests.at(-1)?.body["model"]).toBe("gpt-6-luna");
});

test("a model without a known price is 404; the log and `requests show` have the line to add, the client does not", async () => {
  const before = vendor.requests.length;
  const response = await ask(credit, "gpt-6-unheard-of");
  expect(response.status).toBe(404);
  const { error } = (await response.json()) as {
    error: { code: string; message: string; request_id: string };
  };
  expect(error.code).toBe("model_not_found");
  expect(error.message).not.toContain("[[models]]");
  await sluice.told('add [[models]] with id = \\"gpt-6-unheard-of\\", provider = \\"openai\\" and its price');
  await waitFor(
    async () => (await shown(error.request_id)).includes('add [[models]] with id = "gpt-6-unheard-of"'),
    "the request to be listed with the line to add",
  );
  expect(vendor.requests).toHaveLength(before);
});

test("a client is told the nearest models that its key can use, and its name still finds the request", async () => {
  const { error } = (await (await ask(credit, "gpt-6-lunar")).json()) as { error: { message: string } };
  expect(error.message).toStartWith(
    'There is no model "gpt-6-lunar"; GET /v1/models lists them. Try "gpt-6-luna"',
  );
  const { error: foreign } = (await (await ask(credit, "gpt-71")).json()) as { error: { message: string } };
  expect(foreign.message).not.toContain('"gpt-7"');
  await sluice.told("model not served:");
  await waitFor(
    async () =>
      (await sluice.cli("requests", "list", "--model", "gpt-6-lunar", "--json")).stdout.includes(
        "model_not_found",
      ),
    "the request to be found by the model that it asked for",
  );
});

test('unpriced = "budget-only" serves a named model to token-budget keys, and to no credit key', async () => {
  expect((await ask(budget, "gpt-7")).status).toBe(200);
  expect((await ask(credit, "gpt-7")).status).toBe(403);
});

test('unpriced = "budget-only" serves every name that matches a pattern, to token-budget keys only', async () => {
  for (const model of ["gpt-8-zeta", "gpt-8", "gpt-8-zeta", "nova-1:beta"]) {
    const response = await ask(budget, model);
    expect(response.status, await response.clone().text()).toBe(200);
    expect(vendor.requests.at(-1)?.body["model"]).toBe(model);
    expect((await ask(credit, model)).status).toBe(403);
  }
  const before = vendor.requests.length;
  for (const model of [
    "gpt-9",
    "nov",
    "gpt-8*",
    "gpt-8/../x",
    "gpt-8/..",
    `gpt-8${"x".repeat(200)}`,
    "gpt-8\n",
  ])
    expect((await ask(budget, model)).status).toBe(404);
  const scoped = await sluice.createKey({ mode: "token_budget", provider: "another" });
  expect((await ask(scoped, "gpt-8-zeta")).status).toBe(403);
  const limited = await sluice.createKey({ mode: "token_budget", models: ["gpt-7"] });
  expect((await ask(limited, "gpt-8-zeta")).status).toBe(403);
  expect(vendor.requests).toHaveLength(before);
});

test("a name that begins with a provider's goes to that provider or to none", async () => {
  const provider = (name: string, path: string, lines: string) =>
    `[providers.${name}]\nkind = "openai-compatible"\nbase_url = "${vendor.url}/${path}/v1"\ncatalog = "openai"\nmodels = "catalog"\n${lines}\n`;
  await using all = await startSluice({
    config: [
      provider("first", "first", 'unpriced = "budget-only"'),
      provider("second", "second", 'unpriced = "budget-only"'),
      provider("third", "third", ""),
    ].join(""),
  });
  const key = await all.createKey({ mode: "token_budget" });
  const scoped = await all.createKey({ mode: "token_budget", provider: "second" });
  const sent = async (by: TestKey, model: string) => {
    vendor.requests.length = 0;
    const body = { model, messages: [{ role: "user", content: "hi" }] };
    const { status } = await all.request("/v1/chat/completions", { key: by, body });
    const [got] = vendor.requests;
    return [status, got === undefined ? null : `${got.path.split("/")[1]} ${got.body["model"]}`];
  };
  expect(await sent(key, "zeta")).toEqual([200, "first zeta"]);
  expect(await sent(key, "second/zeta")).toEqual([200, "second zeta"]);
  expect(await sent(key, "second/maker/zeta")).toEqual([200, "second maker/zeta"]);
  expect(await sent(key, "maker/zeta")).toEqual([200, "first maker/zeta"]);
  expect(await sent(key, "third/zeta")).toEqual([404, null]);
  expect(await sent(scoped, "second/zeta")).toEqual([200, "second zeta"]);
  expect(await sent(scoped, "first/zeta")).toEqual([403, null]);
  // Not models, but what an account keeps: Bedrock's prompts and profiles, Vertex's endpoints.
  for (const own of [
    "arn:aws:bedrock:eu-central-1:123456789012:prompt/ABC",
    "4611686018427387904",
    "second/123",
  ])
    expect(await sent(key, own)).toEqual([404, null]);
});

test("a model without an entry is charged and reported under its name, and is not listed", async () => {
  const key = await sluice.createKey({ mode: "token_budget", budget: 1_000_000 });
  expect((await ask(key, "gpt-8-theta")).status).toBe(200);
  const { tokens } = (await (await sluice.request("/v1/usage", { key })).json()) as {
    tokens: { used: number };
  };
  expect(tokens.used).toBeGreaterThan(0);
  await waitFor(
    async () => (await sluice.cli("usage", "--key", key.id, "--by", "model")).stdout.includes("gpt-8-theta"),
    "the report to have the model",
  );
  const models = await sluice.request("/v1/models", { key });
  expect(await models.text()).not.toContain("gpt-8");
});

test('models = "catalog" with unpriced = "budget-only" serves any name', async () => {
  const provider = `kind = "openai"\nbase_url = "${vendor.url}/v1"\napi_key = "env:TEST_OPENAI_KEY"`;
  await using all = await startSluice({
    config: `[providers.openai]\n${provider}\nmodels = "catalog"\nunpriced = "budget-only"\n`,
  });
  const key = await all.createKey({ mode: "token_budget" });
  const body = { model: "gpt-6-zeta", messages: [{ role: "user", content: "hi" }] };
  expect((await all.request("/v1/chat/completions", { key, body })).status).toBe(200);
});

test("the API, the command line and `config show` tell where a price comes from and when it was checked", async () => {
  const origin = { price_source: "catalog", price_checked: "2026-11-19" };
  const listed = await sluice.cliJson<{ id: string }[]>("models", "list");
  expect(listed.find(({ id }) => id === "gpt-6-luna")).toMatchObject(origin);
  const { prices } = await sluice.cliJson<{ prices: { model: string }[] }>("config", "show");
  expect(prices.find(({ model }) => model === "gpt-6-luna")).toEqual({ model: "gpt-6-luna", ...origin });
  const { stdout } = await sluice.cli("config", "show");
  expect(stdout).toMatch(/# .*gpt-6-luna.*: the built-in catalog, checked 2026-11-19/);
});
