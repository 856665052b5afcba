import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { configFor } from "../support/config.ts";
import { answerFrom } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

/** The catalog as the official clients of both vendors read it, and models that have several names. */
const tail = `
[[models]]
id = "meta/llama-4:free"
provider = "local"
public = false
free = true

[[models]]
id = "house"
aliases = ["gpt-4o", "claude-sonnet-latest"]
provider = "anthropic"
upstream_model = "claude-upstream"
max_output_tokens = 4096
price = { input = 1.0, output = 2.0 }

[[models]]
id = "small"
aliases = ["claude-haiku-latest"]
list_aliases = false
provider = "openai"
upstream_model = "gpt-upstream"
max_output_tokens = 4096
price = { input = 1.0, output = 2.0 }
`;
const embedding = `
[[models]]
id = "embedder"
provider = "openai"
serves = ["embeddings"]
price = { input = 1.0 }
`;
const publicIds = [
  "gpt-test",
  "claude-test",
  "local-test",
  "house",
  "gpt-4o",
  "claude-sonnet-latest",
  "small",
  "embedder",
];

let provider: ScriptedProvider;
let sluice: Sluice;
let key: TestKey;
let narrow: TestKey;

beforeAll(async () => {
  provider = startProvider();
  const head = "[server]\nanonymous_rpm = 100000";
  sluice = await startSluice({
    config: configFor({
      url: provider.url,
      head,
      tail: tail + embedding,
      provider: "rate_limit_headers = true",
    }),
  });
  key = await sluice.createKey();
  narrow = await sluice.createKey({ models: ["gpt-4o", "claude-haiku-latest"] });
  const known = async (one: TestKey) => (await sluice.request("/v1/usage", { key: one })).status === 200;
  await waitFor(async () => (await known(key)) && (await known(narrow)), "the keys to be known");
}, 120_000);

beforeEach(() => provider.reset());

afterAll(async () => {
  provider.stop();
  await sluice.dispose();
});

const openAi = (apiKey = key.key) => new OpenAI({ baseURL: `${sluice.url}/v1`, apiKey, maxRetries: 0 });
const anthropic = (authToken = key.key) =>
  new Anthropic({ baseURL: sluice.url, authToken, apiKey: null, maxRetries: 0 });
const failure = (promise: Promise<unknown>) => promise.then(() => null).catch((error: unknown) => error);

describe("the official openai client", () => {
  test("lists what a model serves beside generation, or in place of it", async () => {
    const others: [string, unknown][] = [];
    for await (const model of openAi().models.list()) {
      if ("serves" in model) others.push([model.id, model.serves]);
    }
    expect(others).toEqual([["embedder", ["embeddings"]]]);
  });

  test("reads one model, whatever characters its id has", async () => {
    expect(await openAi().models.retrieve("gpt-test")).toMatchObject({ id: "gpt-test", object: "model" });
    expect((await openAi().models.retrieve("meta/llama-4:free")).id).toBe("meta/llama-4:free");
    const plain = await sluice.request("/v1/models/meta/llama-4:free", { key });
    expect(await plain.json()).toMatchObject({ id: "meta/llama-4:free", capabilities: {} });
  });

  test("is told in its own envelope that there is no such model", async () => {
    for (const id of ["none", "meta/none", "gpt-test/x", "__proto__", "%"]) {
      const error = await failure(openAi().models.retrieve(id));
      expect(error, id).toBeInstanceOf(id === "%" ? OpenAI.BadRequestError : OpenAI.NotFoundError);
    }
    const error = await failure(openAi().models.retrieve("none"));
    expect(error).toMatchObject({ code: "model_not_found", type: "invalid_request_error", param: "model" });
    const unauthorized = await failure(openAi("slu_wrong").models.retrieve("gpt-test"));
    expect(unauthorized).toBeInstanceOf(OpenAI.AuthenticationError);
  });
});

describe("the official anthropic client", () => {
  const all = [...publicIds, "meta/llama-4:free"].toSorted();

  test.each([
    ["everything", {}],
    ["a page", { limit: 3 }],
    ["what comes after a model", { limit: 1, after_id: "gpt-test" }],
    ["what comes before a model", { limit: 1, before_id: "local-test" }],
  ])("reads the whole list once, in one page, if it asks for %s", async (_, query) => {
    const seen: string[] = [];
    for await (const { id } of anthropic().models.list(query)) seen.push(id);
    expect(seen.toSorted()).toEqual(all);
  });

  test("reads the same model as everybody else, with the fields that its types have", async () => {
    const model = await anthropic().models.retrieve("gpt-test");
    expect(model).toMatchObject({
      id: "gpt-test",
      type: "model",
      display_name: "GPT Test",
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      max_input_tokens: 200_000,
      max_tokens: 4096,
    });
    const plain = await sluice.request("/v1/models/gpt-test", { key });
    expect(await plain.json()).toEqual({ ...model });
    expect((await anthropic().models.retrieve("meta/llama-4:free")).id).toBe("meta/llama-4:free");
  });

  test("knows an error by its status, and finds its words in the one envelope that this route has", async () => {
    const missing = await failure(anthropic().models.retrieve("none"));
    expect(missing).toBeInstanceOf(Anthropic.NotFoundError);
    expect(missing).toMatchObject({ error: { error: { code: "model_not_found" } } });
    const unauthorized = await failure(Promise.resolve(anthropic("slu_wrong").models.list()));
    expect(unauthorized).toBeInstanceOf(Anthropic.AuthenticationError);
    expect(String(unauthorized)).toContain("The API key is not valid.");
  });
});

test("callers without a key see one model as they see the list: the public ones", async () => {
  expect((await sluice.request("/v1/models/gpt-test")).status).toBe(200);
  expect((await sluice.request("/v1/models/meta/llama-4:free")).status).toBe(404);
  expect((await sluice.request("/v1/models/gpt-test", { method: "DELETE" })).status).toBe(405);
  const { object, data } = (await (await sluice.request("/v1/models")).json()) as OpenAI.ModelsPage;
  expect(object).toBe("list");
  expect(data.map(({ id }) => id)).toEqual(publicIds);
});

describe("a model's aliases", () => {
  test("have names of their own wherever names are shown", async () => {
    const names = new Map<string, string>();
    for await (const { id, display_name } of anthropic().models.list()) names.set(id, display_name);
    expect(names.get("gpt-test")).toBe("GPT Test");
    expect(names.get("gpt-4o")).toBe("gpt-4o");
    expect(new Set(names.values()).size).toBe(names.size);
  });

  const messages = [{ role: "user" as const, content: "Hello" }];

  interface Usage {
    readonly data: readonly { readonly group: string; readonly recorded_requests: number }[];
  }

  async function usageByModel(): Promise<Record<string, number>> {
    const { data } = await sluice.cliJson<Usage>("usage", "--by", "model");
    const served = data.filter(({ recorded_requests }) => recorded_requests > 0);
    return Object.fromEntries(served.map(({ group, recorded_requests }) => [group, recorded_requests]));
  }

  test("are asked for like the model, and charged and reported under its own name", async () => {
    provider.script(answerFrom("messages/text.json"));
    const answer = await openAi().chat.completions.create({ model: "gpt-4o", messages });
    expect(answer.model).toBe("house");
    expect(provider.requests[0]?.body["model"]).toBe("claude-upstream");
    provider.script(answerFrom("chat/text.sse"));
    const { model } = await openAi()
      .chat.completions.stream({ model: "claude-haiku-latest", messages })
      .finalChatCompletion();
    // The provider speaks the client's dialect, so these are its own bytes.
    expect(model).toBe("gpt-5.6-2026-08-12");
    expect(provider.requests[1]?.body["model"]).toBe("gpt-upstream");
    expect(await usageByModel()).toEqual({ house: 1, small: 1 });
  });

  test("count tokens too, and resolve to the model's id", async () => {
    const { input_tokens: count } = await anthropic().messages.countTokens({ model: "gpt-4o", messages });
    expect(count).toBeGreaterThan(0);
    expect((await openAi().models.retrieve("claude-haiku-latest")).id).toBe("small");
  });

  test("on a key's list entitle it to the model by all of its names, and to no other", async () => {
    const ids = [];
    for await (const { id } of openAi(narrow.key).models.list()) ids.push(id);
    expect(ids).toEqual(["house", "gpt-4o", "claude-sonnet-latest", "small"]);
    provider.script(answerFrom("messages/text.json"));
    await openAi(narrow.key).chat.completions.create({ model: "house", messages });
    const refused = await failure(
      openAi(narrow.key).chat.completions.create({ model: "gpt-test", messages }),
    );
    expect(refused).toBeInstanceOf(OpenAI.PermissionDeniedError);
    expect(await failure(openAi(narrow.key).models.retrieve("gpt-test"))).toBeInstanceOf(
      OpenAI.NotFoundError,
    );
  });
});

test("a provider's rate limits have the names of the client's vendor, and the key's own come first (C83)", async () => {
  const limited = await sluice.createKey({ rpm: 1000 });
  const ask = { model: "gpt-test", messages: [{ role: "user" as const, content: "Hello" }] };
  const upstream = { "x-ratelimit-remaining-requests": "7", "x-ratelimit-remaining-tokens": "4200" };
  const answer = answerFrom("chat/text.json");
  provider.script({ ...answer, headers: { ...answer.headers, ...upstream } });
  const { response: seen } = await openAi(limited.key).chat.completions.create(ask).withResponse();
  expect(seen.headers.get("x-ratelimit-remaining-requests")).toBe("999");
  expect(seen.headers.get("x-ratelimit-remaining-tokens")).toBe("4200");
  const native = answerFrom("responses/text.json");
  provider.script({ ...native, headers: { ...native.headers, ...upstream } });
  const { response: message } = await anthropic()
    .messages.create({ ...ask, max_tokens: 50 })
    .withResponse();
  expect(message.headers.get("anthropic-ratelimit-requests-remaining")).toBe("7");
  expect(message.headers.get("anthropic-ratelimit-tokens-remaining")).toBe("4200");
  expect(message.headers.get("x-ratelimit-remaining-requests")).toBeNull();
  const own = await anthropic(limited.key)
    .messages.countTokens({ model: "gpt-test", messages: ask.messages })
    .asResponse();
  expect(own.headers.get("anthropic-ratelimit-requests-limit")).toBe("1000");
  expect(own.headers.get("anthropic-ratelimit-requests-reset")).toMatch(/^\d{4}-\d\d-\d\dT[\d:]+Z$/);
});
