import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { OwnLists } from "../../src/cli/serve/own-lists.ts";
import { loadSettings } from "../../src/config/load.ts";
import { json } from "../support/answers.ts";
import { startProvider } from "../support/provider.ts";
import { Sluice } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

/** OpenRouter's models are not built in: the gateway reads them, with their prices, from OpenRouter itself. */
const openRouter = startProvider();
beforeEach(() => openRouter.reset());
afterAll(() => openRouter.stop());

const env = { OPENROUTER_API_KEY: "sk-or-secret", OPENROUTER_BASE_URL: `${openRouter.url}/api/v1` };

const row = (id: string, pricing: JsonObject, more: JsonObject = {}): JsonObject => ({
  id,
  context_length: 100_000,
  architecture: { input_modalities: ["text"], output_modalities: ["text"] },
  top_provider: { max_completion_tokens: 8000 },
  supported_parameters: ["tools"],
  pricing,
  ...more,
});

const usual = { prompt: "0.000001", completion: "0.000002", request: "0", image: "0" };
const good = [
  row("maker/plain", { ...usual, input_cache_read: "0.0000001", internal_reasoning: "0" }),
  row("perplexity/sonar", { ...usual, request: "0.005" }),
  row("maker/free:free", { prompt: "0", completion: "0" }),
  row("openai/gpt-4o", usual),
];

const bad: readonly (readonly [string, JsonObject, JsonObject?])[] = [
  ["a negative price", { ...usual, prompt: "-1" }],
  ["no number", { ...usual, prompt: "cheap" }],
  ["an empty price", { ...usual, completion: "" }],
  ["a number in place of text", { ...usual, prompt: 0.000001 }],
  ["infinity", { ...usual, completion: "Infinity" }],
  ["a price per million", { ...usual, prompt: "1.0" }],
  ["a price of another unit", { ...usual, prompt: "0.0000000000001" }],
  ["no price of the output", { prompt: "0.000001" }],
  ["a negative fee", { ...usual, request: "-0.1" }],
  ["a huge fee", { ...usual, request: "100" }],
  ["dearer reasoning", { ...usual, internal_reasoning: "0.00001" }],
  ["images as output", usual, { architecture: { output_modalities: ["text", "image"] } }],
];

function script(rows: readonly JsonObject[]): void {
  openRouter.script(({ path, body }) =>
    path === "/api/v1/models"
      ? json({ data: [...rows] })
      : json({
          id: "c",
          object: "chat.completion",
          created: 1,
          model: String(body["model"]),
          choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
          usage: { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 },
        }),
  );
}

describe("serve with OpenRouter's key alone", () => {
  test("serves the models of its list, each at the price there", async () => {
    script(good);
    await using sluice = await Sluice.start({ env: { ...env, OPENAI_API_KEY: "sk-of-openai" } });
    await sluice.told("listening on");
    expect(sluice.output).toContain('provider "openrouter": 4 models from its own list');
    const key = await sluice.createKey({ credit: 100 });
    const used = async () => {
      const summary = (await (await sluice.request("/v1/usage", { key })).json()) as {
        credits: { used: number };
      };
      return summary.credits.used;
    };
    const messages = [{ role: "user", content: "Hello. ".repeat(100) }];
    let before = 0;
    for (const [model, cost] of [
      ["maker/plain", 0.0012],
      ["perplexity/sonar", 0.0062],
      ["maker/free:free", 0],
      // The plain name is OpenAI's own model, which OpenRouter serves under its own prefix.
      ["openrouter/openai/gpt-4o", 0.0012],
    ] as const) {
      const response = await sluice.request("/v1/chat/completions", { key, body: { model, messages } });
      expect([model, response.status]).toEqual([model, 200]);
      await response.text();
      const after = await used();
      expect([model, after - before]).toEqual([model, expect.closeTo(cost, 9)]);
      before = after;
    }
    expect(openRouter.requests.at(-1)?.body["model"]).toBe("openai/gpt-4o");
    expect(new Set(openRouter.requests.map(({ headers }) => headers["authorization"]))).toEqual(
      new Set(["Bearer sk-or-secret"]),
    );
    expect(sluice.output).not.toContain("sk-or-secret");
    await sluice.cliJson("ledger", "audit");
  });

  test("starts while the list cannot be read, says so, and serves it after a reload", async () => {
    openRouter.script(json({ error: { message: "down" } }, { status: 503 }));
    await using sluice = await Sluice.start({ env });
    await sluice.told("listening on");
    expect(sluice.output).toContain('provider "openrouter": its list cannot be read: 503');
    const ids = async () => {
      const { data } = (await (await sluice.request("/v1/models")).json()) as { data: { id: string }[] };
      return data.map(({ id }) => id);
    };
    expect(await ids()).toEqual(["demo-small", "demo-large", "demo-text"]);
    script(good);
    await sluice.cliJson("config", "reload");
    expect(await ids()).toContain("maker/plain");
    // The last reading stays while the list is away.
    openRouter.script(json({ error: { message: "down" } }, { status: 503 }));
    await sluice.cliJson("config", "reload");
    expect(await ids()).toContain("maker/plain");
  });
});

describe("a list that is broken or hostile", () => {
  const toml = `[providers.openrouter]
kind = "openai-compatible"
base_url = "${openRouter.url}/api/v1"
api_key = "env:OPENROUTER_API_KEY"
models = "catalog"
catalog = "openrouter"
`;

  async function load(notes: string[] = []) {
    const lists = new OwnLists((text) => notes.push(text));
    const settings = await lists.load(
      async (prices) => loadSettings({ text: toml, env, prices }).settings,
      null,
    );
    return { lists, ids: settings.models.map(({ id }) => id) };
  }

  test.each(bad.map(([name, pricing, more = {}]) => [name, pricing, more] as const))(
    "does not serve a model with %s",
    async (_, pricing, more) => {
      script([row("bad/one", pricing, more), ...good]);
      expect((await load()).ids).toEqual(good.map(({ id }) => id as string));
    },
  );

  test.each([
    ["a name with a space", "bad one"],
    ["a pattern for a name", "bad*"],
    ["an endless name", "a".repeat(10_000)],
    ["no name", ""],
  ])("does not serve %s", async (_, id) => {
    script([row(id, usual), ...good]);
    expect((await load()).ids).toHaveLength(good.length);
  });

  test("serves each name once, and at most 2,000 models", async () => {
    const many = Array.from({ length: 2500 }, (__, index) => row(`maker/m${index}`, usual));
    script([row("maker/m0", { ...usual, prompt: "0.000009" }), ...many]);
    expect((await load()).ids).toHaveLength(1999);
  });

  test.each([
    ["no list", json({ models: [] })],
    ["an empty list", json({ data: [] })],
    ["a list of other things", json({ data: [1, null, "x", { id: 5 }] })],
  ])("is reported if it is %s, and the gateway starts without its models", async (_, answer) => {
    openRouter.script(answer);
    const notes: string[] = [];
    expect((await load(notes)).ids).toEqual([]);
    expect(notes).toEqual([expect.stringContaining('provider "openrouter": its list cannot be read')]);
  });

  test("is tried again until it can be read", async () => {
    openRouter.script(json({ error: { message: "down" } }, { status: 503 }));
    const { lists } = await load();
    let reloads = 0;
    lists.retryWith(async () => {
      reloads += 1;
      if (reloads === 2) script(good);
      await lists.load(async (prices) => loadSettings({ text: toml, env, prices }).settings, null);
    }, 5);
    await waitFor(() => lists.over(null) !== null, "the list to be read");
    expect(reloads).toBe(2);
    lists.stop();
  });
});
