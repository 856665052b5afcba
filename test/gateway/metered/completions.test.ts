import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { createKey } from "../../../src/admin/keys/create-key.ts";
import { systemClock } from "../../../src/base/clock.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import { nanoPerCredit } from "../../../src/base/money/money.ts";
import { json, sse } from "../../support/answers.ts";
import { type Caller, World } from "../world.ts";

const price = "{ input = 1.0, output = 2.0 }";
const tail = `
[providers.gemini]
kind = "gemini"
base_url = "PROVIDER_URL"
api_key = "env:TEST_GEMINI_KEY"

[[models]]
id = "code"
provider = "local"
upstream_model = "coder"
serves = ["completions"]
max_output_tokens = 1000
price = ${price}

[[models]]
id = "gemini-code"
provider = "gemini"
serves = ["completions"]
price = ${price}
`;

let world: World;
let caller: Caller;
beforeAll(async () => {
  world = await World.start({ tail });
  caller = await world.creditCaller(100);
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

const path = "/v1/completions";
const ask = (body: JsonObject, by = caller, headers = {}, at = path) =>
  world.ask(by, { path: at, body: { model: "code", ...body }, headers });

const chunk = (text: string, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: "cmpl-1", object: "text_completion", choices: [{ index: 0, text, finish_reason: finish }] })}\n\n`;
const usage = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 };
const usageChunk = `data: ${JSON.stringify({ id: "cmpl-1", choices: [], usage })}\n\n`;
const done = "data: [DONE]\n\n";

describe("the hold", () => {
  const heldFor = (body: JsonObject) =>
    world.heldFor({ path, body: { model: "code", prompt: [[1, 2]], ...body } });

  test("has sixteen tokens of output where nothing was asked for", async () => {
    expect(await heldFor({})).toBeCloseTo((2 * 1 + 16 * 2) / 1e6, 12);
  });

  test("has the limit for every prompt, and for the larger of `n` and `best_of`", async () => {
    expect(await heldFor({ max_tokens: 100 })).toBeCloseTo((2 + 200) / 1e6, 12);
    expect(await heldFor({ max_tokens: 100, prompt: [[1], [2], [3]] })).toBeCloseTo((3 + 600) / 1e6, 12);
    expect(await heldFor({ max_tokens: 100, n: 2, best_of: 3 })).toBeCloseTo((2 + 600) / 1e6, 12);
  });

  test("has the model's limit where none is asked for by 0, which scores a prompt, and which some servers take for no limit", async () => {
    expect(await heldFor({ max_tokens: 0, echo: true, logprobs: 1 })).toBeCloseTo((2 + 2000) / 1e6, 12);
    await ask({ prompt: "a", max_tokens: 0, echo: true });
    expect(world.provider.requests.at(-1)?.body).toMatchObject({ max_tokens: 0, echo: true });
  });

  test("has the highest of the limits that servers read", async () => {
    expect(await heldFor({ max_tokens: 10, max_completion_tokens: 100 })).toBeCloseTo((2 + 200) / 1e6, 12);
  });
});

test("a suffix is held for beside the ids of a prompt, and charged where nothing was reported", async () => {
  const body = { prompt: [[1, 2, 3]], suffix: "some words ".repeat(1000) };
  expect(await world.heldFor({ path, body: { model: "code", ...body } })).toBeGreaterThan(0.0044);
  const key = await world.creditCaller(1);
  world.provider.script(json({ id: "1", choices: [{ index: 0, text: "go" }] }));
  expect((await ask(body, key)).status).toBe(200);
  const [charge] = await world.chargesOf(key);
  expect(charge?.amount).toBeLessThan(-4_400_000);
});

test("a provider is asked for as much as was held for, whatever it would write by itself", async () => {
  world.provider.script(json({ id: "1", choices: [], usage }));
  await ask({ prompt: "hello" });
  await ask({ prompt: "hello", max_tokens: null });
  await ask({ prompt: "hello", max_tokens: 20 });
  expect(world.provider.requests.map(({ body }) => body["max_tokens"])).toEqual([16, 16, 20]);
});

test("all answers of `best_of` are charged where the provider does not report them, and none can be streamed", async () => {
  for (const [more, amount] of [
    [{ best_of: 3 }, -13_000],
    [{ best_of: 4, n: 2 }, -9000],
    // No more than was held for.
    [{ best_of: 100, max_tokens: 1 }, -201_000],
  ] as const) {
    const key = await world.creditCaller(1);
    world.provider.script(json({ id: "1", choices: [{ index: 0, text: "one two", finish_reason: "stop" }] }));
    await ask({ prompt: "hello", ...more }, key);
    expect(await world.chargesOf(key)).toEqual([{ amount, basis: "estimated", outcome: "completed" }]);
  }
  const response = await ask({ prompt: "hello", best_of: 2, stream: true });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { param: "best_of" } });
  expect(world.provider.requests).toHaveLength(3);
});

test("more than the model produces is refused", async () => {
  const response = await ask({ prompt: "a", max_tokens: 1001 });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { param: "max_tokens" } });
});

test("a stream passes as it is, and the usage that the client did not ask for is hidden", async () => {
  const stream = chunk("def ") + chunk("f()", "stop");
  world.provider.script(sse(stream + usageChunk + done));
  const key = await world.creditCaller(1);
  const response = await ask({ prompt: "x", stream: true }, key);
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  expect(await response.text()).toBe(stream + done);
  expect(world.provider.requests[0]?.body).toMatchObject({
    model: "coder",
    stream_options: { include_usage: true },
  });
  expect(await world.chargesOf(key)).toEqual([{ amount: -11_000, basis: "measured", outcome: "completed" }]);
});

test("usage that was asked for stays", async () => {
  const stream = chunk("def ", "stop") + usageChunk + done;
  world.provider.script(sse(stream));
  const response = await ask({ prompt: "x", stream: true, stream_options: { include_usage: true } });
  expect(await response.text()).toBe(stream);
});

test("a client that leaves a stream pays for what was produced", async () => {
  const key = await world.creditCaller(1);
  world.provider.script({
    ...sse(""),
    steps: [{ write: chunk("one two three four five") }, { stall: true }],
  });
  const leaving = new AbortController();
  const response = await world.ask(key, {
    path,
    body: { model: "code", prompt: "hello", stream: true },
    signal: leaving.signal,
  });
  const reader = response.body?.getReader();
  await reader?.read();
  leaving.abort();
  await reader?.cancel().catch(() => {});
  // One token of input, and five of output.
  expect(await world.chargesOf(key)).toEqual([{ amount: -11_000, basis: "estimated", outcome: "cancelled" }]);
  expect(world.provider.aborted).toHaveLength(1);
});

test("a stream that breaks off is told of in band, and charged for what was produced", async () => {
  const key = await world.creditCaller(1);
  world.provider.script({ ...sse(""), steps: [{ write: chunk("one two") }, { reset: true }] });
  const response = await ask({ prompt: "hello", stream: true }, key);
  expect(await response.text()).toContain('"error"');
  expect(await world.chargesOf(key)).toEqual([{ amount: -5000, basis: "estimated", outcome: "failed" }]);
});

test("without figures the texts are counted", async () => {
  const key = await world.creditCaller(1);
  world.provider.script(json({ id: "1", choices: [{ index: 0, text: "one two", finish_reason: "stop" }] }));
  await ask({ prompt: "hello" }, key);
  expect(await world.chargesOf(key)).toEqual([{ amount: -5000, basis: "estimated", outcome: "completed" }]);
});

test("a repeated stream is free, and the same", async () => {
  world.provider.script(sse(chunk("x", "stop") + usageChunk + done));
  const headers = { "idempotency-key": "stream" };
  const first = await (await ask({ prompt: "x", stream: true }, caller, headers)).text();
  const again = await ask({ prompt: "x", stream: true }, caller, headers);
  expect(await again.text()).toBe(first);
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  expect(world.provider.requests).toHaveLength(1);
});

test("the middle of a text is filled in at Mistral's address, in chat's shape", async () => {
  const answer = { id: "1", choices: [{ index: 0, message: { role: "assistant", content: "b" } }], usage };
  world.provider.script(json(answer));
  const response = await ask({ prompt: "a", suffix: "c" }, caller, {}, "/v1/fim/completions");
  expect(await response.json()).toEqual(answer);
  expect(response.headers.get("x-sluice-cost")).toBe("0.000011");
  expect(world.provider.requests[0]?.path).toBe("/local/v1/fim/completions");
});

test("what fills in a text is held for up to the model's limit, or the one that is asked for", async () => {
  const heldFor = (body: JsonObject) =>
    world.heldFor({
      path: "/v1/fim/completions",
      body: { model: "code", prompt: "a", suffix: "c", ...body },
    });
  expect(await heldFor({ max_tokens: 10 })).toBeWithin(20 / 1e6, 100 / 1e6);
  expect(await heldFor({})).toBeWithin(2000 / 1e6, 2100 / 1e6);
});

test("a model that serves something else is refused, and others that the key may use are named", async () => {
  const context = { store: world.running.store, clock: systemClock };
  const models = ["gpt-test", "gemini-code"];
  const limited = await createKey(context, { mode: "credit", creditNano: nanoPerCredit, models });
  await world.gateway.catchUp();
  for (const [by, named] of [
    [caller, '"code" or "gemini-code"'],
    [limited, '"gemini-code"'],
  ] as const) {
    const response = await world.ask(by, { path, body: { model: "gpt-test", prompt: "a" } });
    const message = `Model "gpt-test" does not support completions, only generation. Try ${named}.`;
    expect(await response.json()).toMatchObject({
      error: { code: "invalid_request", param: "model", message },
    });
  }
});

test("providers of another shape are refused", async () => {
  const response = await world.ask(caller, { path, body: { model: "gemini-code", prompt: "a" } });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { param: "model" } });
  expect(world.provider.requests).toHaveLength(0);
});
