import { describe, expect, test } from "bun:test";
import { Catalog, inScope } from "../../src/catalog/catalog.ts";
import { deployment, model, price } from "./fixtures.ts";

const shared = model("shared", { deployments: [deployment("openai"), deployment("anthropic")] });
const hidden = model("hidden", { public: false });
const claude = model("claude", { deployments: [deployment("anthropic")] });
const catalog = Catalog.from({ models: [shared, hidden, claude] });

describe("which models a key may use", () => {
  const cases: [scope: string, models: string[] | null, ids: string[]][] = [
    ["all", null, ["shared", "hidden", "claude"]],
    ["openai", null, ["shared", "hidden"]],
    ["anthropic", null, ["shared", "claude"]],
    ["all", ["claude", "gone"], ["claude"]],
    ["openai", ["claude"], []],
    ["all", [], []],
    ["elsewhere", null, []],
  ];
  for (const [scope, models, ids] of cases) {
    test(`scope ${scope}, entitled to ${models ?? "all"}: ${ids.join(", ") || "none"}`, () => {
      const key = { scope, models };
      expect(catalog.modelsFor(key).map(({ id }) => id)).toEqual(ids);
      for (const each of [shared, hidden, claude]) {
        expect(catalog.permits(key, each)).toBe(ids.includes(each.id));
      }
    });
  }

  test("a scope is one provider or all", () => {
    expect(inScope("all", { provider: "openai" })).toBe(true);
    expect(inScope("openai", { provider: "openai" })).toBe(true);
    expect(inScope("anthropic", { provider: "openai" })).toBe(false);
  });

  test("callers without a key see the public models", () => {
    expect(catalog.publicModels().map(({ id }) => id)).toEqual(["shared", "claude"]);
  });

  test("a model that is not listed is served, and shown to who asks for it", () => {
    const dated = model("dated", { listed: false });
    const all = Catalog.from({ models: [shared, dated] });
    expect(all.list(all.modelsFor({ scope: "all", models: null }), 0).map(({ id }) => id)).toEqual([
      "shared",
    ]);
    expect(all.find("dated")).toBe(dated);
    expect(all.show(dated, 0).id).toBe("dated");
  });

  test("a model is found by its exact id only", () => {
    expect(catalog.find("shared")).toBe(shared);
    for (const id of ["Shared", "", "__proto__", "constructor"]) expect(catalog.find(id)).toBeUndefined();
  });
});

describe("a model that a provider runs beside another", () => {
  const [here, there, alsoHere] = [price(1, 2), price(3, 4), price(5, 6)];
  const first = model("first", {
    deployments: [deployment("openai", { upstreamModel: "up", price: there })],
  });
  const second = model("second", {
    aliases: ["other"],
    deployments: [
      deployment("openai", { upstreamModel: "x", price: there }),
      deployment("anthropic", { upstreamModel: "up", price: here }),
    ],
  });
  const third = model("up", { deployments: [deployment("anthropic", { price: alsoHere })] });
  const runs = Catalog.from({ models: [first, second, third] });

  test("is known by that provider's own name for it first, and then by ours", () => {
    expect(runs.findRun("up", "anthropic", 0)).toEqual({ model: second, price: here });
    expect(runs.findRun("up", "openai", 0)).toEqual({ model: first, price: there });
    expect(runs.findRun("up", "elsewhere", 0)).toEqual({ model: third, price: alsoHere });
    expect(runs.findRun("other", "anthropic", 0)).toEqual({ model: second, price: here });
    expect(runs.findRun("second", "openai", 0)).toEqual({ model: second, price: there });
    expect(runs.findRun("second", "elsewhere", 0)).toEqual({ model: second, price: there });
    expect(runs.findRun("x", "anthropic", 0)).toBeUndefined();
    expect(runs.findRun("constructor", "anthropic", 0)).toBeUndefined();
  });

  test("has no price where it is sold without one", () => {
    const free = model("free", { deployments: [deployment("anthropic")] });
    expect(Catalog.from({ models: [free] }).findRun("free", "anthropic", 0)).toEqual({
      model: free,
      price: null,
    });
  });
});

describe("a model as clients see it", () => {
  test("has the interface's fields and those that Anthropic's clients look for", () => {
    const whole = model("gpt-5.6", {
      displayName: "GPT 5.6",
      tagline: "Fast",
      contextWindow: 400_000,
      maxOutputTokens: 128_000,
      price: price(1.25, 10, 0.125),
      capabilities: { tools: true },
    });
    expect(Catalog.from({ models: [whole] }).list([whole], 0)).toEqual([
      {
        id: "gpt-5.6",
        object: "model",
        type: "model",
        created: 1_700_000_000,
        created_at: "2023-11-14T22:13:20Z",
        owned_by: "openai",
        display_name: "GPT 5.6",
        tagline: "Fast",
        provider: "openai",
        context_window: 400_000,
        max_output_tokens: 128_000,
        max_input_tokens: 400_000,
        max_tokens: 128_000,
        capabilities: { tools: true },
        pricing: {
          currency: "USD",
          unit: "million_tokens",
          input: 1.25,
          output: 10,
          cached_input: 0.125,
          cache_write: 1.25,
        },
      },
    ]);
  });

  test("leaves out what is not known", () => {
    const [wire] = catalog.list([claude], 0);
    expect(wire).toMatchObject({ display_name: "claude", context_window: null, provider: "anthropic" });
    expect(wire).not.toHaveProperty("tagline");
    expect(wire).not.toHaveProperty("pricing");
  });
});

test("a model is listed with what it serves, if that is not generation alone", () => {
  const models = [model("chat"), model("both", { serves: ["generation", "images"] })];
  const listed = Catalog.from({ models }).list(models, 0);
  expect(listed.map(({ id, serves }) => [id, serves])).toEqual([
    ["chat", undefined],
    ["both", ["generation", "images"]],
  ]);
});

describe("aliases", () => {
  const listed = model("house", { aliases: ["gpt-4o", "claude-sonnet-latest"] });
  const unlisted = model("small", { aliases: ["claude-haiku-latest"], listAliases: false });
  const named = Catalog.from({ models: [listed, unlisted] });

  test("lead to the model, listed or not", () => {
    for (const name of ["house", "gpt-4o", "claude-sonnet-latest"]) expect(named.find(name)).toBe(listed);
    expect(named.find("claude-haiku-latest")).toBe(unlisted);
    expect(named.find("gpt-4")).toBeUndefined();
  });

  test("are listed after their model, unless they are hidden", () => {
    const shown = named.list([listed, unlisted], 0).map(({ id, alias_of }) => [id, alias_of]);
    expect(shown).toEqual([
      ["house", undefined],
      ["gpt-4o", "house"],
      ["claude-sonnet-latest", "house"],
      ["small", undefined],
    ]);
    expect(named.show(unlisted, 0).id).toBe("small");
  });

  test("on a key's list stand for the model", () => {
    expect(named.permits({ scope: "all", models: ["gpt-4o"] }, listed)).toBe(true);
    expect(named.permits({ scope: "all", models: ["gpt-4o"] }, unlisted)).toBe(false);
    expect(named.permits({ scope: "anthropic", models: ["gpt-4o"] }, listed)).toBe(false);
  });
});

describe("the price of a hold", () => {
  test("is the highest among its own deployments: a fallback is held for by itself", () => {
    const cheap = model("cheap", {
      deployments: [
        deployment("a", { price: price(1, 2) }),
        deployment("b", { price: price(0.5, 8, 0.1, 3) }),
      ],
      fallbacks: ["expensive"],
    });
    const expensive = model("expensive", { deployments: [deployment("a", { price: price(20, 5) })] });
    const both = Catalog.from({ models: [cheap, expensive] });
    expect(both.holdPrice(cheap, 0)).toEqual(price(1, 8, 1, 3));
    expect(both.holdPrice(expensive, 0)).toEqual(price(20, 5));
    expect(catalog.holdPrice(shared, 0)).toBeNull();
  });
});
