import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { json, openAiError, sse } from "../support/answers.ts";
import { fixture } from "../support/fixtures.ts";
import { type Caller, World } from "./world.ts";

let world: World;
let caller: Caller;
beforeAll(async () => {
  world = await World.start();
  caller = await world.creditCaller(0);
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

const count = (body: JsonObject) => world.ask(caller, { path: "/v1/responses/input_tokens", body });

test("a provider of the dialect counts by its own request, and is not sent what that refuses", async () => {
  world.provider.script(json({ object: "response.input_tokens", input_tokens: 42 }));
  const response = await count({ model: "gpt-test", input: "hello", store: false, stream: true });
  expect(await response.json()).toEqual({ object: "response.input_tokens", input_tokens: 42 });
  expect(response.headers.get("x-sluice-count")).toBe("exact");
  expect(world.provider.requests.map(({ path, body }) => [path, body])).toEqual([
    ["/openai/v1/responses/input_tokens", { model: "gpt-upstream", input: "hello" }],
  ]);
});

test("one of another dialect counts what the request becomes there", async () => {
  world.provider.script(json({ input_tokens: 17 }));
  const response = await count({ model: "claude-test", input: "hello", instructions: "be brief" });
  expect(await response.json()).toEqual({ object: "response.input_tokens", input_tokens: 17 });
  const [{ path, body } = { path: "", body: {} }] = world.provider.requests;
  expect(path).toBe("/anthropic/v1/messages/count_tokens");
  expect(body).toMatchObject({ model: "claude-upstream" });
});

test("where nobody counts, the gateway does, and it costs nothing", async () => {
  world.provider.script(openAiError(404, "no such thing"));
  for (const model of ["gpt-test", "local-test"]) {
    const response = await count({ model, input: "hello world" });
    expect(response.headers.get("x-sluice-count")).toBe("estimate");
    const { input_tokens: tokens } = (await response.json()) as { input_tokens: number };
    expect(tokens).toBeWithin(2, 10);
  }
  expect(await world.chargesOf(caller)).toEqual([]);
});

test("every field may be missing", async () => {
  const response = await count({});
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ object: "response.input_tokens", input_tokens: 0 });
  expect(world.provider.requests).toHaveLength(0);
});

const tools = [{ type: "function", name: "f", parameters: { type: "object", properties: {} } }];

test("only for Claude the tools have a preamble, which Anthropic adds", async () => {
  world.provider.script(openAiError(404, "no such thing"));
  const counted = async (model: string) => {
    const response = await count({ model, input: "x", tools });
    return ((await response.json()) as { input_tokens: number }).input_tokens;
  };
  const plain = await counted("gpt-test");
  expect(plain).toBeWithin(15, 60);
  expect(await counted("local-test")).toBe(plain);
  expect(await counted("claude-test")).toBe(plain + 346);
});

test("an interrupted stream without usage is charged for what it was sent, and no preamble of another vendor", async () => {
  const payer = await world.creditCaller();
  const begun = fixture("chat/text-without-usage.sse").split("\n\n").slice(0, 3).join("\n\n");
  world.provider.script(sse(`${begun}\n\n`));
  const [{ name, parameters } = {}] = tools;
  const body = {
    model: "gpt-test",
    stream: true,
    messages: [{ role: "user", content: "x" }],
    tools: [{ type: "function", function: { name, parameters } }],
  };
  await (await world.ask(payer, { path: "/v1/chat/completions", body })).text();
  await world.settled();
  const { inputTokens = 0 } = world.observed.at(-1)?.usage ?? {};
  expect(inputTokens).toBeWithin(15, 60);
  expect(await world.chargesOf(payer)).toMatchObject([{ basis: "estimated", outcome: "failed" }]);
});
