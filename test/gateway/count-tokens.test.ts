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

const messages = [{ role: "user", content: "Hello" }];
const edits = { edits: [{ type: "clear_tool_uses_20250919" }] };

async function count(changes: JsonObject, model = "claude-test"): Promise<unknown> {
  const response = await world.ask(caller, {
    path: "/v1/messages/count_tokens",
    body: { model, messages, ...changes },
    headers: { "anthropic-beta": "context-management-2025-06-27" },
  });
  expect(response.status).toBe(200);
  return response.json();
}

test("a count of an edited conversation tells how long it was before, and a plain one has its count alone", async () => {
  const original = { original_input_tokens: 70_000 };
  world.provider.script(json({ input_tokens: 25_000, context_management: original }));
  expect(await count({ context_management: edits })).toEqual({
    input_tokens: 25_000,
    context_management: original,
  });
  expect(world.provider.requests[0]?.body["context_management"]).toEqual(edits);
  expect(await count({})).toEqual({ input_tokens: 25_000 });
  expect(await count({ context_management: null })).toEqual({ input_tokens: 25_000 });
});

test.each([null, {}, { original_input_tokens: null }, { original_input_tokens: -1 }, "x"])(
  "%j in the place of the count before the edits is not passed on",
  async (context_management) => {
    world.provider.script(json({ input_tokens: 25, context_management }));
    expect(await count({ context_management: edits })).toEqual({ input_tokens: 25 });
  },
);

test("a count that the gateway makes has no edits", async () => {
  world.provider.script(openAiError(404, "no such thing"));
  expect(await count({ context_management: edits })).toEqual({ input_tokens: expect.any(Number) });
  expect(await count({ context_management: edits }, "local-test")).toEqual({
    input_tokens: expect.any(Number),
  });
});
