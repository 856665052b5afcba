import { afterAll, beforeAll, expect, test } from "bun:test";
import { json, sse, text as textAnswer } from "../support/answers.ts";
import type { BodyDialectName } from "../support/body-dialects.ts";
import { readStream } from "../support/sse.ts";
import { hello, paths } from "./wire-answers.ts";
import { World } from "./world.ts";

let world: World;
beforeAll(async () => {
  world = await World.start();
});
afterAll(() => world[Symbol.asyncDispose]());

const levels = 200_000;
const nest = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
const deep = nest(levels);

/** Where arbitrary structure may occur in each dialect: a tool's input, or an unknown field. */
const bodies: Readonly<Record<BodyDialectName, readonly string[]>> = {
  chat: [
    `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hi","x":${deep}}}]}`,
    `{"choices":[${"[".repeat(levels)}${"]".repeat(levels)}]}`,
    `{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"x":${deep}}}`,
  ],
  messages: [
    `{"type":"message","role":"assistant","stop_reason":"tool_use","content":[{"type":"tool_use","id":"t","name":"f","input":${deep}}]}`,
  ],
  responses: [
    `{"object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi","x":${deep}}]}]}`,
  ],
};

const askers = [
  { client: "chat", model: "gpt-test", provider: "chat" },
  { client: "responses", model: "gpt-test", provider: "responses" },
  { client: "messages", model: "claude-test", provider: "messages" },
  { client: "chat", model: "claude-test", provider: "messages" },
  { client: "messages", model: "local-test", provider: "chat" },
] as const;

test.each(askers)(
  "$client from a provider of $provider: nesting without end is the provider's fault",
  async (asker) => {
    for (const body of bodies[asker.provider]) {
      for (const stream of [false, true]) {
        const caller = await world.creditCaller();
        world.provider.script(textAnswer(body, "application/json"));
        const response = await world.ask(caller, {
          path: paths[asker.client],
          body: hello(asker.client, asker.model, { stream }),
        });
        expect(response.status).toBe(502);
        expect(await response.text()).toContain("nested too deeply");
        expect(await world.chargesOf(caller)).toEqual([]);
      }
    }
  },
);

const event = `event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":${deep}}}\n\n`;
const start =
  'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1}}}\n\n';
const end = `event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":7}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n`;

test("so it is in the events of a stream, translated, collected and passed through", async () => {
  world.provider.script(sse(start + event + end));
  const caller = await world.creditCaller();
  const translated = await world.ask(caller, {
    path: paths.chat,
    body: hello("chat", "claude-test", { stream: true }),
  });
  const { text, failure } = await readStream(translated);
  expect(failure).toBeNull();
  expect(text).toContain("upstream_error");
  expect(text).not.toContain("[DONE]");
  const collected = await world.ask(caller, { path: paths.chat, body: hello("chat", "claude-test") });
  expect(collected.status).toBe(502);
  const passed = await world.ask(caller, {
    path: paths.messages,
    body: hello("messages", "claude-test", { stream: true }),
  });
  expect((await readStream(passed)).text).toContain("message_stop");
  await world.settled();
});

test("arguments of a tool that nest without end are given on as text, in both directions", async () => {
  const call = { id: "t", type: "function", function: { name: "f", arguments: deep } };
  const choices = [
    {
      index: 0,
      finish_reason: "tool_calls",
      message: { role: "assistant", content: null, tool_calls: [call] },
    },
  ];
  world.provider.script(json({ choices, usage: { prompt_tokens: 5, completion_tokens: 7 } }));
  const caller = await world.creditCaller();
  const answered = await world.ask(caller, {
    path: paths.messages,
    body: hello("messages", "local-test"),
  });
  expect(answered.status).toBe(200);
  const { content } = (await answered.json()) as { content: { input: object }[] };
  expect(content[0]?.input).toEqual({ invalid_arguments: deep });

  world.provider.script(null);
  // Not so deep that it would be too long for the model.
  const asDeep = { ...call, function: { name: "f", arguments: nest(20_000) } };
  const history = [
    { role: "user", content: "Hello" },
    { role: "assistant", content: null, tool_calls: [asDeep] },
    { role: "tool", tool_call_id: "t", content: "done" },
  ];
  const asked = await world.ask(caller, {
    path: paths.chat,
    body: { model: "claude-test", messages: history },
  });
  expect(asked.status).toBe(200);
});
