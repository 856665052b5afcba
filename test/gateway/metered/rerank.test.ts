import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import type { JsonObject } from "../../../src/base/json.ts";
import { rerankResponse } from "../../../src/dialects/metered/rerank/request.ts";
import { json } from "../../support/answers.ts";
import { type Caller, World } from "../world.ts";

const model = (id: string, provider: string, upstream: string, price: string) => `
[[models]]
id = "${id}"
provider = "${provider}"
upstream_model = "${upstream}"
serves = ["rerank"]
price = ${price}
`;

const tail = `
[providers.bedrock]
kind = "bedrock"
region = "eu-canary-1"
base_url = "PROVIDER_URL"
api_key = "env:TEST_BEDROCK_KEY"

[providers.voyage]
kind = "openai-compatible"
base_url = "PROVIDER_URL/voyage/v1"
quirks = ["top_k"]

${model("by-search", "local", "rerank-v4", "{ search_units = 2.0 }")}
${model("by-both", "local", "rerank-v5", "{ search_units = 2.0, input = 1.0 }")}
${model("by-token", "local", "jina-reranker", "{ input = 1.0 }")}
${model("by-request", "local", "bge-reranker", "{ requests = 5.0 }")}
${model("by-token-voyage", "voyage", "rerank-2.5", "{ input = 1.0 }")}
${model("by-search-bedrock", "bedrock", "cohere.rerank-v3-5:0", "{ search_units = 2.0 }")}
`;

let world: World;
let caller: Caller;
beforeAll(async () => {
  world = await World.start({ tail });
  caller = await world.creditCaller(100);
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

const results = [
  { index: 1, relevance_score: 0.9 },
  { index: 0, relevance_score: 0.1 },
];

function rank(body: JsonObject, path = "/v1/rerank", by = caller): Promise<Response> {
  return world.ask(by, { path, body: { query: "best?", documents: ["a", "b"], ...body } });
}

test.each(["/v1/rerank", "/rerank", "/v2/rerank"])(
  "is at %s, as some clients are configured",
  async (path) => {
    world.provider.script(json({ results, meta: { billed_units: { search_units: 1 } } }));
    const response = await rank({ model: "by-search" }, path);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ results });
    expect(world.provider.requests[0]?.path).toBe("/local/v1/rerank");
  },
);

test("a long document counts as several in the hold, and as the provider says in the charge", async () => {
  world.provider.script(json({ results, meta: { billed_units: { search_units: 2 } } }));
  const documents = Array.from({ length: 100 }, () => "long ".repeat(600));
  const asking = { path: "/v1/rerank", body: { model: "by-search", query: "best?", documents } };
  expect(await world.heldFor(asking)).toBeCloseTo(0.014, 9);
  const response = await rank({ model: "by-search", documents });
  expect(response.headers.get("x-sluice-cost")).toBe("0.004");
});

test("search units that nobody reports are one for a hundred documents", async () => {
  world.provider.script(json({ results }));
  const documents = Array.from({ length: 101 }, (_, index) => `${index}`);
  const response = await rank({ model: "by-search", documents });
  expect(response.headers.get("x-sluice-units")).toBe("search_units=2");
});

test.each(["by-search", "by-search-bedrock"])(
  "long documents that nobody reports cost several units, as an estimate within the hold: %s",
  async (model) => {
    world.provider.script(json({ results }));
    const documents = Array.from({ length: 100 }, () => "long ".repeat(600));
    expect(
      await world.heldFor({ path: "/v1/rerank", body: { model, query: "best?", documents } }),
    ).toBeCloseTo(0.014, 9);
    const response = await rank({ model, documents });
    expect(response.headers.get("x-sluice-units")).toBe("search_units=2");
    expect((await world.chargesOf(caller)).at(-1)?.basis).toBe("estimated");
  },
);

test.each([
  ["by-search", {}, -2_000_000, "estimated"],
  ["by-both", {}, -2_017_000, "estimated"],
  // A unit for each of the two documents at most.
  ["by-both", { billed_units: { search_units: 2 } }, -4_017_000, "measured"],
  ["by-both", { billed_units: { search_units: 3 } }, -4_017_000, "estimated"],
  ["by-both", { billed_units: { search_units: 1e9 } }, -4_017_000, "estimated"],
  ["by-token", {}, -17_000, "measured"],
] as const)(
  "tokens that are reported measure no search units: %s, %j",
  async (model, meta, amount, basis) => {
    const payer = await world.creditCaller(1);
    world.provider.script(json({ results, meta, usage: { total_tokens: 17 } }));
    await rank({ model }, "/v1/rerank", payer);
    expect(await world.chargesOf(payer)).toEqual([{ amount, basis, outcome: "completed" }]);
  },
);

test.each(["documents", "query", "max_tokens_per_doc"])(
  "servers that read the first of two, or ignore case, are not asked: %s",
  async (name) => {
    const asked: JsonObject = {
      model: "by-search",
      query: "best?",
      documents: ["one"],
      max_tokens_per_doc: 1,
    };
    const body = JSON.stringify(asked).slice(0, -1);
    const before = world.provider.requests.length;
    for (const other of [name, name.toUpperCase()]) {
      const response = await fetch(`${world.running.url}/v1/rerank`, {
        method: "POST",
        headers: { authorization: `Bearer ${caller.secret}` },
        body: `${body},${JSON.stringify(other)}:${JSON.stringify(asked[name])}}`,
      });
      expect(response.status).toBe(400);
      expect(await response.text()).toContain(other);
    }
    expect(world.provider.requests).toHaveLength(before);
  },
);

describe("a limit on the tokens of a document", () => {
  const documents = Array.from({ length: 100 }, () => "word ".repeat(3000));
  const large = documents.map((text) => text.repeat(2));

  test.each([1, 100_000])("that Bedrock is not sent changes neither hold nor charge: %p", async (limit) => {
    world.provider.script(json({ results }));
    for (const sent of [documents, large]) {
      const usual = { model: "by-search-bedrock", query: "best?", documents: sent };
      const limited = { ...usual, max_tokens_per_doc: limit };
      expect(await world.heldFor({ path: "/v1/rerank", body: limited })).toBe(
        await world.heldFor({ path: "/v1/rerank", body: usual }),
      );
      const [charged, expected] = [await rank(limited), await rank(usual)];
      expect(charged.headers.get("x-sluice-dropped")).toBe("max_tokens_per_doc");
      expect(charged.headers.get("x-sluice-units")).toBe(expected.headers.get("x-sluice-units"));
      expect(Number(charged.headers.get("x-sluice-cost"))).toBeGreaterThanOrEqual(0.012);
    }
  });

  test("lowers the charge, not the hold, where it is sent", async () => {
    world.provider.script(json({ results }));
    for (const sent of [documents, large]) {
      const usual = { model: "by-search", query: "best?", documents: sent };
      const limited = { ...usual, max_tokens_per_doc: 1 };
      expect(await world.heldFor({ path: "/v1/rerank", body: limited })).toBe(
        await world.heldFor({ path: "/v1/rerank", body: usual }),
      );
      expect((await rank(limited)).headers.get("x-sluice-cost")).toBe("0.002");
    }
  });

  test.each([0, -1, 0.5, "1"])("that is no count is refused: %p", async (limit) => {
    const response = await rank({ model: "by-search", max_tokens_per_doc: limit });
    expect(response.status).toBe(400);
    expect(world.provider.requests).toHaveLength(0);
  });
});

describe("by tokens", () => {
  test.each<JsonObject>([
    { usage: { total_tokens: 17 } },
    { meta: { billed_units: { input_tokens: 17 } } },
    { meta: { tokens: { input_tokens: 17 } } },
  ])("it is charged what was reported: %j", async (figures) => {
    world.provider.script(json({ results, ...figures }));
    const response = await rank({ model: "by-token" });
    expect(response.headers.get("x-sluice-cost")).toBe("0.000017");
  });

  test("it is charged what is counted where nothing was: the query with every document", async () => {
    const poor = await world.creditCaller(1);
    world.provider.script(json({ results }));
    await rank({ model: "by-token" }, "/v1/rerank", poor);
    // "best?" has two tokens, and each of the documents one.
    expect(await world.chargesOf(poor)).toEqual([
      { amount: -6000, basis: "estimated", outcome: "completed" },
    ]);
  });

  test("all members of a document are counted", async () => {
    const poor = await world.creditCaller(1);
    world.provider.script(json({ results }));
    await rank({ model: "by-token", documents: [{ text: "a", title: "b c" }, "d"] }, "/v1/rerank", poor);
    // "best?" twice, "a b c" and "d".
    expect(await world.chargesOf(poor)).toMatchObject([{ amount: -8000 }]);
  });

  test("a budget of tokens pays for it", async () => {
    const budget = await world.tokenCaller(1000);
    world.provider.script(json({ results, usage: { total_tokens: 17 } }));
    const response = await rank({ model: "by-token" }, "/v1/rerank", budget);
    expect(response.headers.get("x-sluice-cost")).toBe("17");
  });
});

test("a query that is too long to be counted with all documents of a large request is refused by name", async () => {
  const documents = Array.from({ length: 10_000 }, (_, index) => `document ${index}`);
  for (const query of ["long ".repeat(1000), { text: "long ".repeat(1000) }]) {
    for (const id of ["by-token", "by-search"]) {
      const response = await rank({ model: id, query, documents });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { code: "invalid_request", param: "query" } });
    }
  }
  expect(world.provider.requests).toHaveLength(0);
  const short = { path: "/v1/rerank", body: { model: "by-token", query: "long ".repeat(100), documents } };
  // Four hundred estimated tokens of the query, with every document.
  expect(await world.heldFor(short)).toBeGreaterThan(2);
});

test("Voyage is asked for top_k, and its answer comes as it wrote it", async () => {
  world.provider.script(json({ object: "list", data: results, usage: { total_tokens: 4 } }));
  const response = await rank({ model: "by-token-voyage", top_n: 1 });
  expect(world.provider.requests[0]?.body).toEqual({
    model: "rerank-2.5",
    query: "best?",
    documents: ["a", "b"],
    top_k: 1,
  });
  const answer = await response.json();
  expect(answer).toMatchObject({ data: results });
  expect(Value.Check(rerankResponse, answer)).toBe(true);
});

test("a request may have a price of its own", async () => {
  world.provider.script(json({ results }));
  const response = await rank({ model: "by-request" });
  expect(response.headers.get("x-sluice-cost")).toBe("0.005");
});

test("Bedrock is asked in its own way, and its answer is under both names that clients read", async () => {
  world.provider.script(json({ results }));
  const response = await rank({ model: "by-search-bedrock", top_n: 2, max_tokens_per_doc: 100 });
  expect(response.headers.get("x-sluice-dropped")).toBe("max_tokens_per_doc");
  expect(await response.json()).toEqual({ results, data: results });
  expect(response.headers.get("x-sluice-cost")).toBe("0.002");
  const [{ path, body } = { path: "", body: {} }] = world.provider.requests;
  expect(path).toBe("/model/cohere.rerank-v3-5%3A0/invoke");
  expect(body).toEqual({ query: "best?", documents: ["a", "b"], top_n: 2, api_version: 2 });
});
