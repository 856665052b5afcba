import { describe, expect, test } from "bun:test";
import { billedFields } from "../../src/dialects/names/billed-fields.ts";
import { load, problemsOf, warningsOf } from "./fixtures.ts";

const env = { KEY: "k" };

function modelOf(kind: string, lines: string, ids: readonly string[] = ["m"]): string {
  const models = ids.map((id) => `[[models]]\nid = "${id}"\nprovider = "p"\n${lines}\n`);
  return `[providers.p]\nkind = "${kind}"\napi_key = "env:KEY"\n${models.join("")}`;
}

const price = "price = { input = 1.0, output = 2.0 }";
const searching = "price = { input = 1.0, output = 2.0, web_search = 0.0 }";

describe("a model without a price for searches", () => {
  const isAboutSearches = (warning: string) => warning.includes("price.web_search");

  test("is warned of where its provider has a search that agents offer, all in one line", () => {
    for (const kind of ["openai", "anthropic"]) {
      expect(warningsOf(modelOf(kind, price), { env }).filter(isAboutSearches)).toEqual([
        '"m": no price.web_search, so the web search that agents such as Codex offer is dropped from their requests; set one (USD per 1,000 calls)',
      ]);
    }
    const [several, ...others] = warningsOf(modelOf("openai", price, ["a", "b"]), { env }).filter(
      isAboutSearches,
    );
    expect(several).toStartWith('"a", "b": no price.web_search');
    expect(others).toEqual([]);
  });

  test("is not warned of where there is nothing to leave out", () => {
    for (const [kind, lines] of [
      ["openai", searching],
      ["openai", "free = true"],
      ["openai", `${price}\nallow = ["tools.web_search"]`],
      ["openai", `${price}\ndialect = "chat"`],
      ["gemini", price],
    ] as const) {
      expect(warningsOf(modelOf(kind, lines), { env }).filter(isAboutSearches), lines).toEqual([]);
    }
  });
});

describe("what a model allows", () => {
  test("is any field that costs extra, any tool and any option of Google's", () => {
    const allow = [
      ...billedFields.map(({ name }) => name),
      "modalities",
      "tools.x_search",
      "google.cached_content",
    ];
    const toml = modelOf("openai", `${searching}\nallow = ${JSON.stringify(allow)}`);
    expect(load(toml, { env }).settings.models[0]?.allow).toEqual(allow);
    expect(load(modelOf("openai", searching), { env }).settings.models[0]?.allow).toEqual([]);
  });

  test("has a name that is known, so that a misspelled one is found", () => {
    for (const [name, suggestion] of [
      ["provder", 'did you mean "provider"?'],
      ["temperature", "is not a billable field"],
      ["tools.", "is not a billable field"],
      ["google", "is not a billable field"],
    ]) {
      const [problem, ...others] = problemsOf(
        modelOf("openai", `${searching}\nallow = ["route", "${name}"]`),
        { env },
      );
      expect(problem).toContain("allow[1]");
      expect(problem).toContain(suggestion ?? "");
      expect(others).toEqual([]);
    }
  });
});

describe("fees per request by the size of a search", () => {
  const fees = "price = { input = 1.0, output = 1.0, requests = { low = 5.0, medium = 8.0, high = 12.0 } }";

  test("are for models that generate, and no warning says that nothing is charged by them", () => {
    expect(warningsOf(modelOf("gemini", fees), { env })).toEqual([]);
    expect(load(modelOf("openai", fees), { env }).settings.models[0]?.price?.extras).toEqual({
      "requests.low": 5_000_000_000,
      "requests.medium": 8_000_000_000,
      "requests.high": 12_000_000_000,
    });
    expect(problemsOf(modelOf("openai", `${fees}\nserves = ["generation", "embeddings"]`), { env })).toEqual([
      expect.stringContaining("price.requests: must be a number: only generation requests name a size"),
    ]);
  });

  test.each(["{ low = 5.0 }", "{ low = 5.0, medium = 8.0, high = 12.0, huge = 20.0 }", '"5"'])(
    "must name the three sizes, unlike %s",
    (requests) => {
      const toml = modelOf("openai", `price = { input = 1.0, output = 1.0, requests = ${requests} }`);
      expect(problemsOf(toml, { env }).length).toBeGreaterThan(0);
    },
  );
});
