import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { GoogleGenAI } from "@google/genai";
import type { JsonObject } from "../../../src/base/json.ts";
import { openAiError } from "../../support/answers.ts";
import { type Caller, World } from "../world.ts";
import {
  embeddingAnswer,
  embeddingKinds,
  embeddingModel,
  embeddingModels,
  vectorOf,
} from "./embedding-provider.ts";

const tail = `
${embeddingModels}
${embeddingModel("house/embed", "openai", "text-embedding-upstream")}
${embeddingModel("embed-titan-v1", "bedrock", "amazon.titan-embed-text-v1")}
`;
const texts = ["one", "two words"];

let world: World;
let caller: Caller;
beforeAll(async () => {
  world = await World.start({ tail });
});
beforeEach(async () => {
  caller = await world.creditCaller(1);
  world.provider.script(embeddingAnswer);
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

function ask(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${world.running.url}${path}`, {
    method: "POST",
    headers: { "x-goog-api-key": caller.secret, ...headers },
    body: JSON.stringify(body),
  });
}

const contentOf = (text: string) => ({ parts: [{ text }] });
const one = (id: string, more: JsonObject = {}) =>
  ask(`/v1beta/models/${id}:embedContent`, { content: contentOf("two words"), ...more });
const all = (id: string, more: JsonObject = {}) =>
  ask(`/v1beta/models/${id}:batchEmbedContents`, {
    requests: texts.map((text) => ({ model: `models/${id}`, content: contentOf(text), ...more })),
  });

interface GoogleError {
  readonly error: {
    readonly code: number;
    readonly status: string;
    readonly message: string;
    readonly details: readonly { readonly fieldViolations?: readonly { readonly field: string }[] }[];
  };
}

async function rejected(response: Response): Promise<string | undefined> {
  expect(response.status).toBe(400);
  const { error } = (await response.json()) as GoogleError;
  expect(error.status).toBe("INVALID_ARGUMENT");
  return error.details[1]?.fieldViolations?.[0]?.field;
}

describe.each(embeddingKinds)("on %s", (_, id) => {
  test("Google's clients get vectors in Google's form, charged once as reported", async () => {
    const batch = await all(id);
    expect(batch.headers.get("x-sluice-cost")).toBe("0.000003");
    expect(await batch.json()).toEqual({
      embeddings: texts.map((text) => ({ values: vectorOf(text) })),
      usageMetadata: { promptTokenCount: 3 },
    });
    const basis = id === "embed-gemini" ? "estimated" : "measured";
    expect(await world.chargesOf(caller)).toEqual([{ amount: -3000, basis, outcome: "completed" }]);
    expect(await (await one(id)).json()).toEqual({
      embedding: { values: vectorOf("two words") },
      usageMetadata: { promptTokenCount: 2 },
    });
    expect(await world.chargesOf(caller)).toHaveLength(2);
    expect(world.observed.at(-1)).toMatchObject({ tracedAs: "embeddings" });
  });

  test("what only Google's models take is sent to them, and named elsewhere", async () => {
    const response = await all(id, { task_type: "RETRIEVAL_DOCUMENT", title: "A" });
    expect(response.status).toBe(200);
    const isGoogles = id.includes("gemini") || id.includes("vertex");
    expect(response.headers.get("x-sluice-dropped")).toBe(
      isGoogles ? null : "requests[].taskType, requests[].title",
    );
    const sent = JSON.stringify(world.provider.requests.map(({ body }) => body));
    expect(sent.includes("RETRIEVAL_DOCUMENT")).toBe(isGoogles);
    expect(sent).not.toContain('"embedContent"');
  });
});

test("Gemini gets each request as it was sent", async () => {
  const requests = [
    { content: contentOf("one"), taskType: "RETRIEVAL_DOCUMENT", title: "A", outputDimensionality: 3 },
    { content: contentOf("two"), taskType: "RETRIEVAL_QUERY", future: { x: 1 }, outputDimensionality: 3 },
  ];
  await ask("/v1beta/models/embed-gemini:batchEmbedContents", { requests });
  const model = "models/gemini-embedding-001";
  expect(world.provider.requests[0]?.body).toEqual({
    requests: requests.map((request) => ({ model, ...request })),
  });
});

test("options keep to their texts where a request becomes several calls", async () => {
  const requests = ["a", "bb", "ccc"].map((text) => ({ content: contentOf(text), title: `title ${text}` }));
  const response = await ask("/v1beta/models/embed-vertex-one:batchEmbedContents", { requests });
  expect(await response.json()).toMatchObject({
    embeddings: requests.map(({ content }) => ({ values: vectorOf(content.parts[0]?.text ?? "") })),
  });
  const sent = world.provider.requests.map(({ body }) => body["instances"]);
  expect(sent).toHaveLength(3);
  for (const { content, title } of requests)
    expect(sent).toContainEqual([{ content: content.parts[0]?.text, title }]);
});

test("Google's own package embeds through any model, with a size", async () => {
  const client = new GoogleGenAI({ apiKey: caller.secret, httpOptions: { baseUrl: world.running.url } });
  const { embeddings = [] } = await client.models.embedContent({
    model: "house/embed",
    contents: texts,
    config: { outputDimensionality: 3, taskType: "CLUSTERING" },
  });
  expect(embeddings.map(({ values }) => values)).toEqual(texts.map(vectorOf));
  expect(world.provider.requests[0]?.body).toEqual({
    model: "text-embedding-upstream",
    input: texts,
    encoding_format: "float",
    dimensions: 3,
  });
  const found = await client.models.get({ model: "house/embed" });
  expect(found.name).toBe("models/house/embed");
  expect(found.supportedActions).toEqual(["embedContent", "batchEmbedContents"]);
});

test("Vertex's paths and fields, other versions and token budgets are served", async () => {
  const vertex = "/v1beta1/projects/p/locations/l/publishers/google/models/embed:embedContent";
  const embedContentConfig = { outputDimensionality: 3, taskType: "CLUSTERING" };
  const response = await ask(vertex, { content: contentOf("one"), embedContentConfig });
  expect(await response.json()).toMatchObject({ embedding: { values: vectorOf("one") } });
  expect(response.headers.get("x-sluice-dropped")).toBe("taskType");
  expect(world.provider.requests[0]?.body["dimensions"]).toBe(3);
  expect((await ask("/v1/models/house%2Fembed:embedContent", { content: contentOf("one") })).status).toBe(
    200,
  );
  caller = await world.tokenCaller(100);
  const paid = await ask("/token/v1alpha/models/embed:embedContent", { content: contentOf("two words") });
  expect(paid.headers.get("x-sluice-cost")).toBe("2");
});

test("a retry gets the stored answer of its method, and no other", async () => {
  const once = { "idempotency-key": crypto.randomUUID() };
  const body = { content: contentOf("one") };
  const first = await (await ask("/v1beta/models/embed:embedContent", body, once)).text();
  const again = await ask("/v1beta/models/embed:embedContent", body, once);
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  expect(await again.text()).toBe(first);
  const other = await ask("/v1beta/models/embed:batchEmbedContents", { requests: [body] }, once);
  expect(other.status).toBe(409);
  expect(await world.chargesOf(caller)).toHaveLength(1);
});

test("what is no text, or does not fit the path, is rejected by Google's names", async () => {
  const image = { inlineData: { mimeType: "image/png", data: "AAAA" } };
  const send = (method: string, body: object) => ask(`/v1beta/models/embed:${method}`, body).then(rejected);
  expect(await send("embedContent", { content: { parts: [image] } })).toBe("content.parts[0]");
  expect(await send("embedContent", {})).toBe("content.parts");
  expect(await send("embedContent", { content: contentOf("x"), model: "models/other" })).toBe("model");
  expect(await send("embedContent", { content: contentOf("x"), outputDimensionality: "3" })).toBe(
    "outputDimensionality",
  );
  expect(await send("embedContent", { content: contentOf("x"), taskType: "A", task_type: "B" })).toBe(
    "task_type",
  );
  const requests = [{ content: contentOf("x") }, { content: contentOf("y"), model: "models/other" }];
  expect(await send("batchEmbedContents", { requests })).toBe("requests[1].model");
  expect(await send("batchEmbedContents", { requests: [] })).toBe("requests");
  const many = Array.from({ length: 101 }, () => ({ content: contentOf("x") }));
  expect(await send("batchEmbedContents", { requests: many })).toBe("requests");
  const sizes = [3, 4].map((outputDimensionality) => ({ content: contentOf("x"), outputDimensionality }));
  expect(await send("batchEmbedContents", { requests: sizes })).toBe("requests[].outputDimensionality");
  expect(await rejected(await one("embed-titan-v1", { outputDimensionality: 3 }))).toBe(
    "outputDimensionality",
  );
  expect(world.provider.requests).toEqual([]);
  expect(await world.chargesOf(caller)).toEqual([]);
});

test("other errors have Google's envelope, and cost nothing", async () => {
  expect(await (await one("nothing")).json()).toMatchObject({ error: { code: 404, status: "NOT_FOUND" } });
  world.provider.script(openAiError(500, "broken"));
  expect(await (await one("embed")).json()).toMatchObject({ error: { code: 502, status: "UNAVAILABLE" } });
  expect(await world.chargesOf(caller)).toEqual([]);
  caller = await world.creditCaller(0);
  expect(await (await one("embed")).json()).toMatchObject({ error: { status: "FAILED_PRECONDITION" } });
});

test("a large request is read and answered on the other thread", async () => {
  const long = "word ".repeat(3000);
  const requests = Array.from({ length: 100 }, () => ({ content: contentOf(long) }));
  const response = await ask("/v1beta/models/embed-local:batchEmbedContents", { requests });
  const { embeddings } = (await response.json()) as { embeddings: JsonObject[] };
  expect(embeddings).toHaveLength(100);
  expect(embeddings.at(-1)).toEqual({ values: vectorOf(long) });
});

test("with the switch of embeddings off, these methods are off, and no others", async () => {
  await world.reload((config) => `[routes]\nembeddings = false\n${config}`);
  expect((await one("embed")).status).toBe(404);
  expect((await ask("/v1beta/models/nothing:generateContent", {})).status).toBe(400);
  await world.reload((config) => config);
});
