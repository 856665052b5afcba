import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/base/json.ts";
import { json, openAiError, sse } from "../../support/answers.ts";
import { type Caller, World } from "../world.ts";
import {
  base64Of,
  embeddingAnswer,
  embeddingModel,
  embeddingModels,
  vectorOf,
} from "./embedding-provider.ts";

/** Requests that pass through as they are, unless they have more inputs than the server takes at once. */

const tail = `
${embeddingModels.replace('"no_float"', '"no_float", "inputs_1000"')}
[providers.mistral]
kind = "openai-compatible"
base_url = "PROVIDER_URL/mistral/v1"
quirks = ["output_dimension", "inputs_32"]

${embeddingModel("embed-mistral", "mistral", "mistral-embed")}

[[models]]
id = "embed-fee"
provider = "mistral"
upstream_model = "mistral-embed"
serves = ["embeddings"]
price = { input = 1.0, requests = 1.0 }

[[models]]
id = "embed-narrow"
serves = ["embeddings"]
price = { input = 1.0 }
[[models.deployments]]
provider = "mistral"
upstream_model = "mistral-embed"
max_concurrent = 1

[[models]]
id = "embed-either"
serves = ["embeddings"]
price = { input = 1.0 }
[[models.deployments]]
provider = "openai"
upstream_model = "text-embedding-upstream"
[[models.deployments]]
provider = "google"
upstream_model = "gemini-embedding-001"
priority = 2

[[models]]
id = "embed-two"
serves = ["embeddings"]
[[models.deployments]]
provider = "mistral"
upstream_model = "first-embed"
price = { input = 1.0 }
[[models.deployments]]
provider = "mistral"
upstream_model = "second-embed"
priority = 2
price = { input = 3.0 }
`;

let world: World;
beforeAll(async () => {
  world = await World.start({ tail });
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

async function embed(by: Caller, body: JsonObject) {
  world.provider.script(embeddingAnswer);
  const response = await world.ask(by, { path: "/v1/embeddings", body });
  return { status: response.status, body: (await response.json()) as { data: { embedding: unknown }[] } };
}

const texts = (count: number) => Array.from({ length: count }, (_, index) => `text ${index}`);

test.each([
  ["embed-mistral", 65, [32, 32, 1]],
  ["embed-mistral", 32, [32]],
  ["embed-voyage", 2001, [1000, 1000, 1]],
  ["embed-either", 201, [100, 100, 1]],
] as const)("%s is asked for %d vectors by as many calls as it takes", async (model, count, sizes) => {
  const key = await world.creditCaller(1);
  const input = texts(count);
  const { status, body } = await embed(key, { model, input, dimensions: 3, encoding_format: "base64" });
  expect(status).toBe(200);
  expect(body.data.map(({ embedding }) => embedding)).toEqual(input.map((text) => base64Of(vectorOf(text))));
  const asked = world.provider.requests.map((request) => request.body);
  expect(asked.map(({ input: part }) => (part as string[]).length).sort()).toEqual(sizes.toSorted());
  for (const { dimensions, output_dimension: renamed } of asked) expect(dimensions ?? renamed).toBe(3);
  expect(await world.chargesOf(key)).toEqual([
    { amount: -2000 * count, basis: "measured", outcome: "completed" },
  ]);
});

test.each([
  ["embed-gemini", "requests", 201, [100, 100, 1]],
  ["embed-vertex", "instances", 251, [250, 1]],
  ["embed-cohere", "texts", 97, [96, 1]],
] as const)(
  "%s is asked by %s of %d texts, and paid what all calls report",
  async (model, list, count, sizes) => {
    const key = await world.creditCaller(1);
    const sizeOf = (body: JsonObject) => (body[list] as readonly unknown[]).length;
    world.provider.script((request) => {
      if (list !== "requests") return embeddingAnswer(request);
      // As from gemini-embedding-2 on.
      const vectors = (request.body[list] as readonly object[]).map(() => ({ values: [0.5] }));
      return json({ embeddings: vectors, usageMetadata: { promptTokenCount: 2 * vectors.length } });
    });
    const body = { model, input: texts(count), prefix: "passage: " };
    const response = await world.ask(key, { path: "/v1/embeddings", body });
    expect(response.headers.get("x-sluice-dropped")).toBe("prefix");
    expect(((await response.json()) as { data: object[] }).data).toHaveLength(count);
    expect(world.provider.requests.map(({ body }) => sizeOf(body)).sort()).toEqual(sizes.toSorted());
    expect(await world.chargesOf(key)).toEqual([
      { amount: -2000 * count, basis: "measured", outcome: "completed" },
    ]);
  },
);

test("all vectors come from the deployment that has answered first, at its price", async () => {
  const key = await world.creditCaller(1);
  let hasRefused = false;
  world.provider.script((request) => {
    if (hasRefused) return embeddingAnswer(request);
    hasRefused = true;
    return openAiError(503, "busy");
  });
  const response = await world.ask(key, {
    path: "/v1/embeddings",
    body: { model: "embed-two", input: texts(65) },
  });
  expect(response.status).toBe(200);
  await response.json();
  const [, ...asked] = world.provider.requests.map(({ body }) => body["model"]);
  expect(asked).toEqual(["second-embed", "second-embed", "second-embed"]);
  expect(await world.chargesOf(key)).toEqual([
    { amount: -6000 * 65, basis: "measured", outcome: "completed" },
  ]);
});

test("parts that were answered are charged where another fails, and the request once", async () => {
  const key = await world.creditCaller(1);
  world.provider.script((request) =>
    (request.body["input"] as readonly string[]).length === 1
      ? openAiError(400, "no")
      : embeddingAnswer(request),
  );
  const body = { model: "embed-fee", input: texts(65) };
  const response = await world.ask(key, { path: "/v1/embeddings", body });
  expect(response.status).toBe(502);
  expect(await response.json()).toMatchObject({ error: { code: "upstream_error" } });
  expect(world.provider.requests).toHaveLength(3);
  // 64 texts of two tokens, and a thousandth of a credit.
  expect(await world.chargesOf(key)).toEqual([
    { amount: -(2000 * 64 + 1_000_000), basis: "measured", outcome: "failed" },
  ]);
});

test("a provider that streams vectors has failed, and keeps no slot", async () => {
  const key = await world.creditCaller(1);
  world.provider.script(sse("{}"));
  for (let call = 1; call <= 3; call += 1) {
    const body = { model: "embed-narrow", input: "text" };
    const response = await world.ask(key, { path: "/v1/embeddings", body });
    expect(await response.json()).toMatchObject({ error: { code: "upstream_error" } });
    expect(world.provider.requests).toHaveLength(call);
  }
  expect(await world.chargesOf(key)).toEqual([]);
});

test("megabytes that would have to be written anew are refused before anybody is asked", async () => {
  const key = await world.creditCaller(100);
  const body = { model: "embed-gemini", input: ["word ".repeat(1_000_000)] };
  const response = await world.ask(key, { path: "/v1/embeddings", body });
  expect(response.status).toBe(400);
  expect(await response.text()).toContain("too large for this model's provider");
  expect(world.provider.requests).toEqual([]);
});

test("megabytes pass on in one call, and are not parsed to be split", async () => {
  const key = await world.creditCaller(100);
  const long = "word ".repeat(50_000);
  const body = (count: number) => ({
    model: "embed-mistral",
    input: texts(count).map((text) => text + long),
  });
  expect((await embed(key, body(32))).status).toBe(200);
  expect(world.provider.requests).toHaveLength(1);
  expect((await embed(key, body(33))).status).toBe(400);
  expect(world.provider.requests).toHaveLength(1);
});
