import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { type Caller, World } from "./world.ts";

let world: World;
let caller: Caller;

beforeAll(async () => {
  world = await World.start();
  caller = await world.creditCaller();
});
afterAll(() => world[Symbol.asyncDispose]());

async function upstreamText(path: string, body: JsonObject): Promise<string> {
  world.provider.reset();
  const response = await world.ask(caller, { path, body });
  expect(await response.text()).not.toContain('"error":{');
  expect(response.status).toBe(200);
  expect(world.provider.requests).toHaveLength(1);
  return world.provider.requests[0]?.text ?? "";
}

const messages = [{ role: "user", content: "hi" }];

const cases: readonly [string, string, JsonObject, JsonObject][] = [
  [
    "chat",
    "/v1/chat/completions",
    { model: "gpt-test", messages },
    { n: null, stream: null, max_tokens: null, max_completion_tokens: null, stream_options: null },
  ],
  [
    "responses",
    "/v1/responses",
    { model: "gpt-test", input: "hi" },
    {
      stream: null,
      max_output_tokens: null,
      instructions: null,
      tool_choice: null,
      previous_response_id: null,
    },
  ],
  [
    "messages",
    "/v1/messages",
    { model: "claude-test", messages },
    { stream: null, max_tokens: null, thinking: null, system: null, container: null },
  ],
];

describe.each(cases)("null on a passthrough of %s", (_dialect, path, body, nulls) => {
  test("governed fields that are null do not go up, and the others do as they are", async () => {
    const sent = JSON.parse(await upstreamText(path, { ...body, ...nulls, custom: null }));
    const plain = JSON.parse(await upstreamText(path, { ...body, custom: null }));
    const governed = ["n", "stream", "stream_options", "thinking", "max_tokens", "max_output_tokens"];
    for (const name of [...governed, "max_completion_tokens"]) expect(sent[name]).toEqual(plain[name]);
    const others = Object.keys(nulls).filter((name) => !governed.includes(name) && !name.startsWith("max_"));
    for (const name of [...others, "custom"]) expect(sent).toHaveProperty(name, null);
  });

  test("each alone, and wherever it stands in the body", async () => {
    for (const name of Object.keys(nulls)) {
      for (const asked of [
        { [name]: null, ...body },
        { ...body, [name]: null },
      ]) {
        const sent = JSON.parse(await upstreamText(path, asked));
        expect(sent["model"]).toEndWith("-upstream");
      }
    }
  });
});

test("a stream whose stream_options are null still reports its usage", async () => {
  const body = { model: "gpt-test", messages, stream: true, stream_options: null };
  const sent = JSON.parse(await upstreamText("/v1/chat/completions", body));
  expect(sent["stream_options"]).toEqual({ include_usage: true });
});
