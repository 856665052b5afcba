import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { hello, paths, streamAnswer, wholeAnswer } from "../gateway/wire-answers.ts";
import { World } from "../gateway/world.ts";
import { anthropicError, openAiError, sse, text } from "../support/answers.ts";
import { fixture, fixtureText } from "../support/fixtures.ts";
import { converseFrames, eventStream } from "../vendors/bedrock/fake-bedrock.ts";
import { lastRecorded, textIn } from "./recorded-documents.ts";

const said = "Sluices keep the canal navigable.";

const cloud = (kind: string, key: string, more = "") => `
[providers.${kind}]
kind = "${kind}"
base_url = "PROVIDER_URL"
api_key = "env:${key}"
${more}
[[models]]
id = "on-${kind}"
provider = "${kind}"
upstream_model = "${kind === "gemini" ? "gemini-3.1-pro-preview" : "eu.amazon.nova-2-lite-v1:0"}"
context_window = 100000
max_output_tokens = 4096
price = { input = 1.0, output = 2.0 }
`;

const both = `
[[models]]
id = "either"
max_output_tokens = 1000
price = { input = 1.0, output = 2.0 }
deployments = [
  { provider = "anthropic", upstream_model = "claude-upstream" },
  { provider = "openai", upstream_model = "gpt-upstream" },
]
`;

let world: World;
beforeAll(async () => {
  const clouds =
    cloud("gemini", "TEST_GEMINI_KEY") + cloud("bedrock", "TEST_BEDROCK_KEY", 'region = "eu-west-1"');
  world = await World.start({ tail: `${clouds}${both}\n[content]\nrecord_upstream = true\n` });
}, 60_000);
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

test("a stream of Gemini is recorded as one response of Gemini", async () => {
  const caller = await world.creditCaller();
  world.provider.script(sse(fixture("gemini/text.sse")));
  const body = hello("chat", "on-gemini", { stream: true });
  await (await world.ask(caller, { path: paths.chat, body })).text();
  const { upstream, response } = await lastRecorded(world, caller);
  expect(upstream?.request).toMatchObject({ contents: [{ parts: [{ text: "Hello" }] }] });
  expect(upstream?.response).toMatchObject({ candidates: [{ finishReason: "STOP" }] });
  expect(textIn(upstream?.response)).toBe(textIn(response));
});

test("a stream of Bedrock is recorded as one response of Converse", async () => {
  const caller = await world.creditCaller();
  world.provider.script(eventStream(...converseFrames));
  const body = hello("messages", "on-bedrock", { stream: true, max_tokens: 50 });
  await (await world.ask(caller, { path: paths.messages, body })).text();
  const { upstream } = await lastRecorded(world, caller);
  expect(upstream?.request).toMatchObject({ messages: [{ role: "user", content: [{ text: "Hello" }] }] });
  expect(upstream?.response).toMatchObject({
    output: { message: { role: "assistant", content: [{ text: fixtureText }] } },
    stopReason: "end_turn",
    usage: { inputTokens: 21 },
  });
});

test("the error of a provider is recorded as it came, with what it was sent", async () => {
  const caller = await world.creditCaller();
  world.provider.script(anthropicError(400, "invalid_request_error", "no such thing as a canal"));
  const body = hello("chat", "claude-test");
  expect((await world.ask(caller, { path: paths.chat, body })).status).toBe(400);
  expect((await lastRecorded(world, caller)).upstream).toMatchObject({
    request: { model: "claude-upstream", max_tokens: expect.any(Number) },
    response: { type: "error", error: { message: "no such thing as a canal" }, request_id: "req_upstream" },
  });
});

test("a stream that fails at once is recorded as it came", async () => {
  const caller = await world.creditCaller();
  const failure =
    'event: error\ndata: {"type":"error","error":{"type":"invalid_request_error","message":"no"}}\n\n';
  world.provider.script(sse(failure));
  const body = hello("chat", "claude-test", { stream: true });
  await (await world.ask(caller, { path: paths.chat, body })).text();
  expect((await lastRecorded(world, caller)).upstream?.response).toBe(failure);
});

test("of several attempts the last one is recorded, and nothing of one that passes through", async () => {
  const caller = await world.creditCaller();
  world.provider.script((request) =>
    request.path.startsWith("/anthropic")
      ? anthropicError(529, "overloaded_error", "busy")
      : wholeAnswer("chat", { text: said }),
  );
  const response = await world.ask(caller, { path: paths.chat, body: hello("chat", "either") });
  expect(response.status).toBe(200);
  expect((await lastRecorded(world, caller)).upstream).toBeNull();
  world.provider.script((request) =>
    request.path.startsWith("/openai")
      ? openAiError(503, "not now")
      : wholeAnswer("messages", { text: said }),
  );
  const other = await world.ask(caller, {
    path: paths.messages,
    body: hello("messages", "either", { max_tokens: 9 }),
  });
  expect(other.status).toBe(200);
});

test("a provider that streams without being asked is recorded as one response", async () => {
  const caller = await world.creditCaller();
  world.provider.script(streamAnswer("messages", { text: said }));
  const response = await world.ask(caller, { path: paths.chat, body: hello("chat", "claude-test") });
  const got = await response.json();
  const document = await lastRecorded(world, caller);
  expect(document.response).toEqual(got as never);
  expect(document.upstream?.response).toMatchObject({
    type: "message",
    content: [{ type: "text", text: said }],
  });
});

test("a body that is no JSON is recorded as text", async () => {
  const caller = await world.creditCaller();
  world.provider.script(text('{"id":"msg_1","content":[{"text":"Sluices', "application/json"));
  const response = await world.ask(caller, { path: paths.chat, body: hello("chat", "claude-test") });
  expect(response.status).toBe(502);
  const { upstream, outcome } = await lastRecorded(world, caller);
  expect(outcome).toBe("failed");
  expect(upstream?.response).toBe('{"id":"msg_1","content":[{"text":"Sluices');
});
