import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { Json, JsonObject } from "../../../src/base/json.ts";
import { json, openAiError } from "../../support/answers.ts";
import { type Caller, World } from "../world.ts";
import {
  base64Of,
  embeddingAnswer,
  embeddingKinds,
  embeddingModel,
  embeddingModels,
  vectorOf,
} from "./embedding-provider.ts";

const tail = `
${embeddingModels}
${embeddingModel("embed-by-character", "openai", "text-embedding-upstream", "{ characters = 10.0 }")}
${embeddingModel("titan-by-character", "bedrock", "amazon.titan-embed-text-v2:0", "{ characters = 10.0 }")}
${embeddingModel("embed-by-request", "openai", "text-embedding-upstream", "{ requests = 2.0 }")}
${embeddingModel("embed-by-image", "openai", "text-embedding-upstream", "{ images = 2.0 }")}
${embeddingModel("embed-titan-v1", "bedrock", "amazon.titan-embed-text-v1")}
${embeddingModel("embed-claude", "anthropic", "claude-upstream")}
`;

let world: World;
let caller: Caller;
beforeAll(async () => {
  world = await World.start({ tail });
  caller = await world.creditCaller(100);
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

interface Embedded {
  readonly data: { index: number; object: string; embedding: number[] | string }[];
  readonly model: string;
  readonly usage: JsonObject;
}

async function embed(body: JsonObject, by: Caller = caller, headers = {}): Promise<Response> {
  world.provider.script(embeddingAnswer);
  return world.ask(by, { path: "/v1/embeddings", body, headers });
}

async function vectors(response: Response): Promise<(number[] | string)[]> {
  expect(response.status).toBe(200);
  const { data } = (await response.json()) as Embedded;
  expect(data.map(({ index }) => index)).toEqual(data.map((_, place) => place));
  return data.map(({ embedding }) => embedding);
}

describe.each(embeddingKinds)("on %s", (_, id) => {
  test("vectors come in the form that was asked for, and floats where nothing was", async () => {
    const texts = ["one", "two words"];
    const floats = texts.map(vectorOf);
    expect(await vectors(await embed({ model: id, input: texts }))).toEqual(floats);
    expect(await vectors(await embed({ model: id, input: texts, encoding_format: "float" }))).toEqual(floats);
    const base64 = await vectors(await embed({ model: id, input: texts, encoding_format: "base64" }));
    expect(base64).toEqual(floats.map(base64Of));
    expect(await vectors(await embed({ model: id, input: "one" }))).toEqual([vectorOf("one")]);
  });

  test("it is charged what was reported, once, and the client is shown that", async () => {
    const key = await world.creditCaller(1);
    const response = await embed({ model: id, input: ["one", "two words"] }, key);
    const { usage } = (await response.json()) as Embedded;
    expect(usage).toEqual({ prompt_tokens: 3, total_tokens: 3 });
    expect(response.headers.get("x-sluice-cost")).toBe("0.000003");
    // Gemini's older models report nothing, so their input is counted.
    const basis = id === "embed-gemini" ? "estimated" : "measured";
    expect(await world.chargesOf(key)).toEqual([{ amount: -3000, basis, outcome: "completed" }]);
    expect(world.observed.at(-1)?.usage?.inputTokens).toBe(3);
  });

  test("tokens of OpenAI's are embedded as what they stand for", async () => {
    // "hello world" in cl100k_base.
    const ids = [15339, 1917];
    const response = await embed({ model: id, input: [ids] });
    const isOpenAis = id === "embed" || id === "embed-azure";
    expect(await vectors(response)).toEqual([isOpenAis ? [2, 0, 0.5] : vectorOf("hello world")]);
    const unknown = await embed({ model: id, input: [[999_999]] });
    expect(unknown.status).toBe(isOpenAis ? 200 : 400);
  });
});

test("as many tokens as OpenAI takes are sent and held for, in one text or in many", async () => {
  const texts = Array.from({ length: 60 }, () => Array.from({ length: 5000 }, () => 15339));
  for (const [id, input, tokens] of [
    ["embed", texts, 300_000],
    ["embed", texts.flat().slice(0, 20_000), 20_000],
    ["embed-local", texts, 300_000],
  ] as const) {
    const key = await world.creditCaller(2);
    const body = { model: id, input: structuredClone(input) as number[] };
    if (id === "embed") {
      expect(await world.heldFor({ path: "/v1/embeddings", body })).toBeCloseTo(tokens / 1e6, 9);
      expect((await embed(body, key)).headers.get("x-sluice-cost")).toBe(String(tokens / 1e6));
    } else expect(await vectors(await embed(body, key))).toHaveLength(60);
  }
  const over = await embed({ model: "embed", input: Array.from({ length: 400_001 }, () => 1) });
  expect(over.status).toBe(400);
});

test("providers are asked by the name and in the form that is theirs", async () => {
  const asked = async (id: string, more: JsonObject = {}) => {
    world.provider.reset();
    await embed({ model: id, input: "one", dimensions: 256, ...more });
    const { path, body } = world.provider.requests[0] ?? { path: "", body: {} };
    return { path, body };
  };
  expect(await asked("embed")).toEqual({
    path: "/openai/v1/embeddings",
    body: { model: "text-embedding-upstream", input: "one", dimensions: 256 },
  });
  expect((await asked("embed-azure")).path).toBe(
    "/openai/deployments/my-deployment/embeddings?api-version=2024-10-21",
  );
  expect(await asked("embed-local")).toEqual({
    path: "/local/v1/embeddings",
    body: { encoding_format: "float", model: "local-upstream", input: "one", dimensions: 256 },
  });
  expect(await asked("embed-gemini")).toEqual({
    path: "/v1beta/models/gemini-embedding-001:batchEmbedContents",
    body: {
      requests: [
        {
          model: "models/gemini-embedding-001",
          content: { parts: [{ text: "one" }] },
          outputDimensionality: 256,
        },
      ],
    },
  });
  expect(await asked("embed-vertex")).toEqual({
    path: "/v1/publishers/google/models/text-embedding-005:predict",
    body: { instances: [{ content: "one" }], parameters: { outputDimensionality: 256 } },
  });
  expect(await asked("embed-titan")).toEqual({
    path: "/model/amazon.titan-embed-text-v2%3A0/invoke",
    body: { inputText: "one", dimensions: 256 },
  });
  expect(await asked("embed-voyage", { input_type: "query" })).toEqual({
    path: "/voyage/v1/embeddings",
    body: { output_dimension: 256, model: "voyage-upstream", input: "one", input_type: "query" },
  });
  expect(await asked("embed-cohere", { input_type: "search_query" })).toEqual({
    path: "/cohere/v2/embed",
    body: {
      model: "embed-v4.0",
      texts: ["one"],
      input_type: "search_query",
      embedding_types: ["float"],
      output_dimension: 256,
    },
  });
  expect((await asked("embed-bedrock-cohere", { dimensions: null })).body).toEqual({
    texts: ["one"],
    input_type: "search_document",
    embedding_types: ["float"],
  });
});

test("dimensions that a model cannot have are refused, and no provider is asked", async () => {
  for (const [id, dimensions] of [
    ["embed-titan", 300],
    ["embed-titan-v1", 256],
    ["embed-bedrock-cohere", 256],
  ] as const) {
    const response = await embed({ model: id, input: "one", dimensions });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param: "dimensions" } });
  }
  expect(world.provider.requests).toHaveLength(0);
});

test("a form that is none is refused by its name", async () => {
  const response = await embed({ model: "embed", input: "one", encoding_format: "int8" });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { param: "encoding_format" } });
});

test("messages pass on a server of OpenAI's shape, and are refused elsewhere", async () => {
  const messages = [{ role: "user", content: [{ type: "text", text: "one" }] }];
  world.provider.script(json({ object: "list", data: [], usage: { prompt_tokens: 2, total_tokens: 2 } }));
  const ask = (id: string) => world.ask(caller, { path: "/v1/embeddings", body: { model: id, messages } });
  expect((await ask("embed-local")).status).toBe(200);
  expect(world.provider.requests[0]?.body).toMatchObject({ messages });
  expect((await ask("embed-gemini")).status).toBe(400);
  expect((await world.ask(caller, { path: "/v1/embeddings", body: { model: "embed" } })).status).toBe(400);
});

test("messages are held for as they are estimated, and cost that where nothing was reported", async () => {
  const messages = [{ role: "user", content: "some words ".repeat(1000) }];
  const asking = { path: "/v1/embeddings", body: { model: "embed-local", messages } };
  const poor = await world.creditCaller(0.001);
  expect((await world.ask(poor, asking)).status).toBe(402);
  expect(world.provider.requests).toHaveLength(0);
  const key = await world.creditCaller(1);
  world.provider.script(json({ object: "list", data: [{ index: 0, embedding: [0.5] }] }));
  expect((await world.ask(key, asking)).status).toBe(200);
  const [charge] = await world.chargesOf(key);
  expect(charge).toMatchObject({ basis: "estimated" });
  expect(charge?.amount).toBeLessThan(-4_400_000);
});

test("messages beside an input are refused by name", async () => {
  for (const input of ["one", [[15339]]]) {
    const response = await embed({
      model: "embed-local",
      input,
      messages: [{ role: "user", content: "two" }],
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param: "messages" } });
  }
});

test("what goes along with tokens arrives whole where they become text", async () => {
  const notes = [{ role: "user", content: "them ".repeat(2000) }];
  await embed({ model: "embed-local", input: [[15339]], notes });
  expect(world.provider.requests[0]?.body).toMatchObject({ input: ["hello"], notes });
});

test("a text of megabytes is held by its bytes, and counted by the tokenizer where the provider reports nothing", async () => {
  const body = { model: "embed-local", input: "word ".repeat(1024 * 1024) };
  expect(await world.heldFor({ path: "/v1/embeddings", body })).toBeCloseTo(5.243, 3);
  const key = await world.creditCaller(5.25);
  world.provider.script(json({ object: "list", data: [{ index: 0, embedding: [0.5] }] }));
  expect((await world.ask(key, { path: "/v1/embeddings", body })).status).toBe(200);
  const [charge] = await world.chargesOf(key);
  expect(charge?.basis).toBe("estimated");
  expect((charge?.amount ?? 0) / 1e9).toBeCloseTo(-1.31, 1);
});

describe("a request of more inputs than one call takes", () => {
  const texts = Array.from({ length: 250 }, (_, index) => `text ${index}`);

  test.each([
    ["embed-gemini", 3],
    ["embed-bedrock-cohere", 3],
    ["embed-titan", 250],
    ["embed", 1],
  ] as const)("of %s becomes %d calls, under one hold and one charge", async (id, calls) => {
    const key = await world.creditCaller(1);
    const answered = await vectors(await embed({ model: id, input: texts }, key));
    expect(answered).toEqual(texts.map(vectorOf));
    expect(world.provider.requests).toHaveLength(calls);
    const [charge, ...others] = await world.chargesOf(key);
    expect(others).toEqual([]);
    if (id !== "embed-gemini") expect(charge?.amount).toBe(-500_000);
  });

  test("fails as a whole where one call fails, begins no other, and is charged for those that were answered", async () => {
    const key = await world.creditCaller(1);
    const response = await embed(
      { model: "embed-titan", input: ["one", "two words", "refused", ...texts] },
      key,
    );
    expect(response.status).toBe(502);
    const done = world.provider.requests.filter(({ body }) => body["inputText"] !== "refused");
    expect(done.length).toBeLessThan(20);
    const tokens = done.reduce((sum, { body }) => sum + String(body["inputText"]).split(" ").length, 0);
    expect(await world.chargesOf(key)).toEqual([
      { amount: -1000 * tokens, basis: "measured", outcome: "failed" },
    ]);
  });

  test.each([
    [["nonsense", "two words", "three"], 3],
    [["one", "nonsense", "three"], 2],
    [["one", "two words", "nonsense"], 3],
  ])(
    "fails as a whole where one of %p makes no sense, and is charged for the others",
    async (input, words) => {
      const key = await world.creditCaller(1);
      expect((await embed({ model: "embed-titan", input }, key)).status).toBe(502);
      expect(await world.chargesOf(key)).toEqual([
        { amount: -1000 * words, basis: "measured", outcome: "failed" },
      ]);
      const byCharacter = await world.creditCaller(1);
      expect((await embed({ model: "titan-by-character", input }, byCharacter)).status).toBe(502);
      const characters = input.filter((text) => text !== "nonsense").join("").length;
      expect(await world.chargesOf(byCharacter)).toMatchObject([{ amount: -10_000 * characters }]);
    },
  );

  test("of which no answer makes sense costs nothing", async () => {
    const key = await world.creditCaller(1);
    const response = await embed({ model: "embed-titan", input: ["nonsense", "nonsense"] }, key);
    expect(response.status).toBe(502);
    expect(await world.chargesOf(key)).toEqual([]);
  });

  test("has its answers read on another thread if they are large together, also where one of them fails", async () => {
    const jobs: string[] = [];
    const { largeBodies } = world.gateway;
    const run = largeBodies.runResponse.bind(largeBodies);
    largeBodies.runResponse = (job, input) => {
      jobs.push(job.name);
      return run(job, input);
    };
    const vector = Array.from({ length: 2048 }, (_, index) => index + 0.125);
    const read = async (last: string) => {
      world.provider.script(({ body }) =>
        json(body["inputText"] === "nonsense" ? {} : { embedding: vector, inputTextTokenCount: 2 }),
      );
      const key = await world.creditCaller(1);
      const body = { model: "embed-titan", input: [...texts.slice(1), last] };
      return { key, response: await world.ask(key, { path: "/v1/embeddings", body }) };
    };
    try {
      const { key, response } = await read("text");
      expect(await vectors(response)).toEqual(texts.map(() => vector));
      expect(await world.chargesOf(key)).toMatchObject([{ amount: -500_000, basis: "measured" }]);
      expect(jobs).toEqual(["metered"]);
      const failed = await read("nonsense");
      expect(failed.response.status).toBe(502);
      expect(await world.chargesOf(failed.key)).toMatchObject([{ amount: -498_000, outcome: "failed" }]);
      expect(jobs).toEqual(["metered", "metered", "metered"]);
    } finally {
      largeBodies.runResponse = run;
    }
  });

  test("fails once its answers are too large together, and is charged for them", async () => {
    const key = await world.creditCaller(1);
    const padding = "x".repeat(16 * 1024 * 1024);
    world.provider.script(json({ embedding: [0.5], inputTextTokenCount: 2, padding }));
    const response = await world.ask(key, {
      path: "/v1/embeddings",
      body: { model: "embed-titan", input: texts },
    });
    expect(response.status).toBe(502);
    expect(await response.text()).toContain("fewer inputs");
    const asked = world.provider.requests.length;
    expect(asked).toBeLessThan(20);
    expect(await world.chargesOf(key)).toEqual([
      { amount: -2000 * asked, basis: "measured", outcome: "failed" },
    ]);
  });

  test("that fails at its first call costs nothing, and says why", async () => {
    const key = await world.creditCaller(1);
    const response = await embed({ model: "embed-titan", input: ["refused", "one"] }, key);
    expect(response.status).toBe(400);
    expect(await world.chargesOf(key)).toEqual([]);
  });
});

describe("vectors that are not those of the inputs", () => {
  const input = ["a", "bb", "ccc"];
  const listed = (...places: number[]) =>
    places.map((index) => ({ object: "embedding", index, embedding: [index, 0.5] }));
  const textAt = (embedding: string, index: number) => ({ object: "embedding", index, embedding });
  const listOf = (data: Json) =>
    json({ object: "list", data, model: "upstream", usage: { prompt_tokens: 3, total_tokens: 3 } });
  const ask = (by: Caller, id: string, form: string) =>
    world.ask(by, { path: "/v1/embeddings", body: { model: id, input, encoding_format: form } });

  test.each([
    ["fewer", listed(0, 1)],
    ["none", []],
    ["more", listed(0, 1, 2, 3)],
    ["one twice", listed(0, 1, 1)],
    ["one for no input", listed(0, 1, 3)],
    ["one without its place", [...listed(0, 1), { object: "embedding", embedding: [2, 0.5] }]],
    ["one in another member", [...listed(0, 1), { index: 2, other: { embedding: [2, 0.5] } }]],
    ["a null", [...listed(0, 1), { object: "embedding", index: 2, embedding: null }]],
    ["an item that is null", [...listed(0, 1), null]],
    ["nothing but empty ones", [0, 1, 2].map((index) => ({ object: "embedding", index, embedding: [] }))],
    ["a null inside one", [...listed(0, 1), { object: "embedding", index: 2, embedding: [2, null] }]],
    ["a text inside one", [...listed(0, 1), { object: "embedding", index: 2, embedding: [2, "0.5"] }]],
    ["a list inside one", [...listed(0, 1), { object: "embedding", index: 2, embedding: [2, [0.5]] }]],
    ["one of another length", [...listed(0, 1), { object: "embedding", index: 2, embedding: [2] }]],
    ["a text that is none", [...listed(0, 1), { object: "embedding", index: 2, embedding: "none" }]],
    ["texts of different lengths", ["AAAAAAAA", "AAAAAAAAAAA=", "AAAA"].map(textAt)],
    ["texts that are no numbers", ["AAAA", "AAAA", "AAAA"].map(textAt)],
  ])("are a failure of the provider: %s", async (_, data) => {
    for (const id of ["embed", "embed-local"]) {
      for (const form of ["float", "base64"]) {
        const key = await world.creditCaller(1);
        world.provider.script(listOf(data));
        const response = await ask(key, id, form);
        expect(response.status).toBe(502);
        expect(await response.json()).toMatchObject({ error: { code: "upstream_error" } });
        expect(await world.chargesOf(key)).toEqual([]);
      }
    }
  });

  test.each([
    ["embed-gemini", { embeddings: [{ values: [1] }, { values: [2] }] }],
    ["embed-vertex", { predictions: [{ embeddings: { values: [1] } }] }],
    ["embed-cohere", { embeddings: { float: [[1], [2], [3], [4]] } }],
    ["embed-bedrock-cohere", { embeddings: { float: [[1], [2]] } }],
    ["embed-gemini", { embeddings: [{ values: [1] }, null, { values: [3] }] }],
    ["embed-cohere", { embeddings: { float: [[1, 2], [2], [3, 4]] } }],
    ["embed-bedrock-cohere", { embeddings: { float: [[1], [null], [3]] } }],
  ])("are a failure of %s, too", async (id, answer: JsonObject) => {
    const key = await world.creditCaller(1);
    world.provider.script(json(answer));
    expect((await ask(key, id, "float")).status).toBe(502);
    expect(await world.chargesOf(key)).toEqual([]);
  });

  test("in one of several calls are no reason not to pay for the others", async () => {
    const key = await world.creditCaller(1);
    const texts = Array.from({ length: 100 }, (_, index) => `text ${index}`);
    world.provider.script((request) => {
      const isRest = (request.body["texts"] as string[]).length < 96;
      return isRest ? json({ embeddings: { float: [[1]] } }) : embeddingAnswer(request);
    });
    const body = { model: "embed-cohere", input: texts };
    expect((await world.ask(key, { path: "/v1/embeddings", body })).status).toBe(502);
    expect(await world.chargesOf(key)).toEqual([{ amount: -192_000, basis: "measured", outcome: "failed" }]);
  });

  test("but in another order are given their own places, or pass with their indexes", async () => {
    world.provider.script(listOf(listed(2, 0, 1)));
    const [passed, written] = [await ask(caller, "embed", "float"), await ask(caller, "embed", "base64")];
    expect(((await passed.json()) as Embedded).data).toEqual(listed(2, 0, 1));
    expect(await vectors(written)).toEqual([0, 1, 2].map((index) => base64Of([index, 0.5])));
  });

  test("pass without indexes, if there is one for each", async () => {
    world.provider.script(listOf(input.map((_, place) => ({ embedding: [place, 0.5] }))));
    const passed = await ask(caller, "embed-local", "float");
    expect(await vectors(passed)).toEqual(input.map((_, place) => [place, 0.5]));
  });
});

describe("other prices than for tokens", () => {
  test("characters are code points", async () => {
    const response = await embed({ model: "embed-by-character", input: ["né", "😀"] });
    expect(response.headers.get("x-sluice-cost")).toBe("0.00003");
    expect(response.headers.get("x-sluice-units")).toBe("characters=3");
  });

  test.each<JsonObject>([{ input: [1, 2, 3] }, { messages: [{ role: "user", content: "hello" }] }])(
    "characters that are not there to be counted are refused, and not free: %o",
    async (body) => {
      const response = await embed({ model: "embed-by-character", ...body });
      expect(await response.text()).toContain(`"param":"${Object.keys(body)[0]}"`);
      expect(world.provider.requests).toHaveLength(0);
    },
  );

  test("a request may have a price of its own", async () => {
    const response = await embed({ model: "embed-by-request", input: ["one", "two"] });
    expect(response.headers.get("x-sluice-cost")).toBe("0.002");
    expect(response.headers.get("x-sluice-units")).toBe("requests=1");
  });

  test("one that cannot be counted is refused by its name", async () => {
    const response = await embed({ model: "embed-by-image", input: "one" });
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { message: string; param: string } };
    expect(error.param).toBe("model");
    expect(error.message).toContain("`price.images`");
    expect(error.message).toContain("`price.input`");
    expect(world.provider.requests).toHaveLength(0);
  });
});

test.each<[string, JsonObject]>([
  ["embed", { data: [{ index: 0, embedding: [1, 2] }], usage: { prompt_tokens: 0, total_tokens: 0 } }],
  ["embed-local", { data: [{ index: 0, embedding: [1, 2] }], usage: { total_tokens: 0 } }],
  ["embed-titan", { embedding: [1, 2], inputTextTokenCount: 0 }],
  ["embed-cohere", { embeddings: { float: [[1, 2]] }, meta: { billed_units: { input_tokens: 0 } } }],
])("a text that a provider reports no tokens for is counted here (%s)", async (id, answer) => {
  const key = await world.creditCaller(1);
  world.provider.script(json({ object: "list", model: "upstream", ...answer }));
  const body = { model: id, input: "hello hello hello" };
  const response = await world.ask(key, { path: "/v1/embeddings", body });
  const { usage } = (await response.json()) as Embedded;
  expect(usage).toEqual({ prompt_tokens: 3, total_tokens: 3 });
  expect(await world.chargesOf(key)).toEqual([{ amount: -3000, basis: "estimated", outcome: "completed" }]);
});

test("a model is offered for what it serves, and for nothing else", async () => {
  const chat = await world.ask(caller, {
    path: "/v1/chat/completions",
    body: { model: "embed", messages: [{ role: "user", content: "hi" }] },
  });
  const other = await embed({ model: "gpt-test", input: "one" });
  const impossible = await embed({ model: "embed-claude", input: "one" });
  for (const response of [chat, other, impossible]) {
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: "invalid_request", param: "model" } });
  }
  expect(world.provider.requests).toHaveLength(0);
});

test("a provider that refuses is told of in OpenAI's form, and costs nothing", async () => {
  const key = await world.creditCaller(1);
  world.provider.script(openAiError(400, "input is too long", "context_length_exceeded"));
  const response = await world.ask(key, { path: "/v1/embeddings", body: { model: "embed", input: "one" } });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { type: "invalid_request_error" } });
  expect(await world.chargesOf(key)).toEqual([]);
});
