import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { json, openAiError } from "../support/answers.ts";
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
