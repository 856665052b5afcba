import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { tracedContent } from "../../src/content/traced-content.ts";
import { startTracing } from "../../src/observe/tracing.ts";
import { talker } from "../gateway/pairs.ts";
import { hello, paths, streamAnswer, usageOf, wholeAnswer } from "../gateway/wire-answers.ts";
import { type Caller, World } from "../gateway/world.ts";
import { openAiError } from "../support/answers.ts";
import { upstreamKeys } from "../support/config.ts";
import { freePort } from "../support/free-port.ts";
import { waitFor } from "../support/wait.ts";
import { attributesOf, type Span, startCollector } from "./collector.ts";
import { exchangeFacts, spanEvents } from "./fixtures.ts";

const said = "Sluices keep the canal navigable.";
const quietModel = `
[[models]]
id = "quiet"
provider = "talking"
content = "none"
free = true
[[models]]
id = "careful"
provider = "talking"
content = "failed"
free = true
`;

function contentOf(span: Span | undefined): Record<string, unknown> {
  const said = Object.entries(attributesOf(span)).filter(([name]) =>
    /^gen_ai\.(input|output|system_i|tool\.d)/.test(name),
  );
  return Object.fromEntries(said.map(([name, json]) => [name, JSON.parse(String(json))]));
}

const noContent = {};
const user = [{ role: "user", parts: [{ type: "text", content: "Hello" }] }];
const assistant = (reason: string) => [
  { role: "assistant", parts: [{ type: "text", content: said }], finish_reason: reason },
];

describe("content on spans, without [content]", () => {
  const collector = startCollector();
  const metricsPort = freePort();
  let world: World;
  beforeAll(async () => {
    const tail = `[admin]\nmetrics_listen = "127.0.0.1:${metricsPort}"\n${talker}${quietModel}[tracing]\notlp_endpoint = "${collector.url}"\ncontent = true\n`;
    world = await World.start({ tail });
  });
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    await collector[Symbol.asyncDispose]();
  });

  async function ask(caller: Caller, path: string, body: object, headers = {}): Promise<string> {
    const response = await world.ask(caller, { path, body, headers });
    await response.text();
    expect(response.headers.get("x-sluice-content")).toBeNull();
    return response.headers.get("x-request-id") ?? "";
  }

  test("each format's is written by the GenAI conventions, unless the model, the key or the client says no", async () => {
    const caller = await world.creditCaller();
    const ids: Record<string, string> = {};
    const usage = usageOf("chat", 7, 5);
    const tools = [{ type: "function", function: { name: "weather", parameters: { type: "object" } } }];
    const secret = upstreamKeys.TEST_OPENAI_KEY;

    world.provider.script(wholeAnswer("chat", { text: said, usage }));
    ids["chat"] = await ask(caller, paths.chat, hello("chat", "gpt-test", { tools }));
    world.provider.script(streamAnswer("chat", { text: said, usage }));
    ids["stream"] = await ask(caller, paths.chat, hello("chat", "gpt-test", { stream: true }));
    world.provider.script(wholeAnswer("messages", { text: said, usage: usageOf("messages", 7, 5) }));
    const system = `Be brief. ${secret}`;
    ids["messages"] = await ask(
      caller,
      paths.messages,
      hello("messages", "claude-test", { max_tokens: 9, system }),
    );
    world.provider.script(wholeAnswer("responses", { text: said, usage: usageOf("responses", 7, 5) }));
    ids["responses"] = await ask(caller, paths.responses, hello("responses", "gpt-test"));
    world.provider.script(wholeAnswer("chat", { text: said, usage }));
    ids["client"] = await ask(caller, paths.chat, hello("chat", "gpt-test"), { "x-sluice-content": "none" });
    world.provider.script(wholeAnswer("responses", { text: said, usage: usageOf("responses", 7, 5) }));
    ids["model"] = await ask(caller, paths.responses, hello("responses", "quiet"));
    world.provider.script(wholeAnswer("responses", { text: said, usage: usageOf("responses", 7, 5) }));
    ids["completed"] = await ask(caller, paths.responses, hello("responses", "careful"));
    world.provider.script(openAiError(400, "invalid_request_error", "no such thing"));
    ids["failed"] = await ask(caller, paths.responses, hello("responses", "careful"));
    await world.running.store.updateKey(caller.key.id, { content: "none" });
    await world.gateway.catchUp();
    world.provider.script(wholeAnswer("chat", { text: said, usage }));
    ids["key"] = await ask(caller, paths.chat, hello("chat", "gpt-test"));

    const spanOf = (name: string) =>
      collector.spans().find((span) => attributesOf(span)["sluice.request_id"] === ids[name]);
    await waitFor(() => Object.keys(ids).every((name) => spanOf(name) !== undefined), "all spans");
    expect(contentOf(spanOf("chat"))).toEqual({
      "gen_ai.input.messages": user,
      "gen_ai.output.messages": assistant("stop"),
      "gen_ai.tool.definitions": [{ type: "function", name: "weather", parameters: { type: "object" } }],
    });
    expect(contentOf(spanOf("stream"))).toEqual({
      "gen_ai.input.messages": user,
      "gen_ai.output.messages": assistant("stop"),
    });
    expect(contentOf(spanOf("messages"))).toEqual({
      "gen_ai.system_instructions": [{ type: "text", content: "Be brief. [secret]" }],
      "gen_ai.input.messages": user,
      "gen_ai.output.messages": assistant("stop"),
    });
    expect(contentOf(spanOf("responses"))).toEqual({
      "gen_ai.input.messages": user,
      "gen_ai.output.messages": assistant("stop"),
    });
    for (const name of ["client", "model", "completed", "key"])
      expect(contentOf(spanOf(name)), name).toEqual(noContent);
    expect(contentOf(spanOf("failed"))).toEqual({ "gen_ai.input.messages": user });
    expect(world.gateway.content?.dropped).toBe(0);
    world.gateway.content?.countDropped(1);
    expect(await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()).toContain(
      "\nsluice_content_dropped_total 1\n",
    );
    expect(await Bun.file(`${world.gateway.configured.settings.server.data}/content.db`).exists()).toBe(
      false,
    );
  }, 90_000);
});

test("a span has the request's parameters, its conversation, its cost in USD, and how its response ended", async () => {
  await using collector = startCollector();
  const world = await World.start({
    head: `[money]\nusd_per_credit = 0.5\n`,
    tail: `[tracing]\notlp_endpoint = "${collector.url}"\ncontent = true\n`,
  });
  const caller = await world.creditCaller();
  const usage = usageOf("messages", 7, 5);
  world.provider.script(wholeAnswer("messages", { text: said, usage }));
  const settings = { max_tokens: 9, temperature: 0.25, top_k: 3, stop_sequences: ["END"] };
  const metadata = { user_id: "ada" };
  const body = hello("messages", "claude-test", { ...settings, metadata });
  const headers = { "x-session-id": "sess-42" };
  const response = await world.ask(caller, { path: paths.messages, body, headers });
  const answer = (await response.json()) as { id: string };
  await world[Symbol.asyncDispose]();
  const [span] = collector.spans();
  const attributes = attributesOf(span);
  expect(attributes).toMatchObject({
    "gen_ai.provider.name": "anthropic",
    "gen_ai.request.model": "claude-test",
    "gen_ai.response.model": "claude-upstream",
    "gen_ai.response.id": answer.id,
    "gen_ai.response.finish_reasons": ["stop"],
    "gen_ai.request.max_tokens": 9,
    "gen_ai.request.temperature": 0.25,
    "gen_ai.request.top_k": 3,
    "gen_ai.request.stop_sequences": ["END"],
    "gen_ai.conversation.id": "sess-42",
    "session.id": "sess-42",
    "user.id": "ada",
  });
  const charged = Number(attributes["sluice.charge"]);
  expect(charged).toBeGreaterThan(0);
  expect(attributes["llm.cost.total"]).toBe((charged / 1e9) * 0.5);
  expect(attributes["gen_ai.usage.cost"]).toBe((charged / 1e9) * 0.5);
}, 60_000);

test.each([
  [{ choices: [{ message: { content: "a" }, finish_reason: "tool_calls" }] }, ["tool_call"]],
  [
    {
      choices: [
        { message: { content: "a" }, finish_reason: "length" },
        { message: { content: "b" }, finish_reason: "content_filter" },
      ],
    },
    ["length", "content_filter"],
  ],
  [{ type: "message", content: [{ type: "text", text: "a" }], stop_reason: "max_tokens" }, ["length"]],
  [
    {
      type: "message",
      content: [{ type: "tool_use", id: "t", name: "f", input: {} }],
      stop_reason: "tool_use",
    },
    ["tool_call"],
  ],
  [
    { output: [{ type: "function_call", call_id: "c", name: "f", arguments: "{}" }], status: "completed" },
    ["tool_call"],
  ],
  [
    {
      output: [{ type: "message", role: "assistant", content: [] }],
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
    },
    ["length"],
  ],
  [{ output: [], status: "failed", incomplete_details: null }, ["error"]],
])("the end of %j is written in the words of the conventions", (response, reasons) => {
  const document = Buffer.from(` ${JSON.stringify({ request: {}, response })}`);
  const { attributes } = tracedContent("req_1", document);
  expect(attributes["gen_ai.response.finish_reasons"]).toEqual(reasons);
  const messages = JSON.parse(String(attributes["gen_ai.output.messages"])) as { finish_reason: string }[];
  expect(messages.map((message) => message.finish_reason)).toEqual(reasons);
});

test("what waits for a slow collector is bounded, and content that is not sent is counted", async () => {
  await using collector = startCollector();
  const settings = {
    otlpEndpoint: collector.url,
    protocol: "protobuf" as const,
    headers: {},
    content: false,
    metrics: false,
  };
  const events = spanEvents();
  const tracing = await startTracing(settings, "1", events);
  const megabyte = "x".repeat(1_000_000);
  for (let no = 0; no < 10; no += 1)
    tracing?.observe(exchangeFacts({ requestId: `req_${no}` }), { "gen_ai.input.messages": megabyte });
  expect(events.contentDropped).toBe(2);
  for (let no = 0; no < 3000; no += 1) tracing?.observe(exchangeFacts());
  expect(events.contentDropped).toBe(2);
  tracing?.observe(exchangeFacts(), { "gen_ai.input.messages": "no room for the span" });
  expect(events.contentDropped).toBe(3);
  expect(events.spansDropped).toBe(10 + 3000 + 1 - 2048);
  expect(events.problems).toEqual(["is too slow"]);
  await tracing?.close();
  const spans = collector.spans();
  expect(spans.filter((span) => attributesOf(span)["gen_ai.input.messages"] !== undefined).length).toBe(8);
  expect(spans.length).toBe(2048);
}, 60_000);

test("the last spans of a gateway that stops have their content, cut at its maximum", async () => {
  await using collector = startCollector();
  const limits = '[content]\nmax_request = "1KB"\n';
  const world = await World.start({
    tail: `${limits}[tracing]\notlp_endpoint = "${collector.url}"\ncontent = true\n`,
  });
  const caller = await world.creditCaller();
  world.provider.script(wholeAnswer("chat", { text: said, usage: usageOf("chat", 7, 5) }));
  const messages = [{ role: "user", content: "long ".repeat(1000) }];
  const response = await world.ask(caller, { path: paths.chat, body: { model: "gpt-test", messages } });
  await response.text();
  await world[Symbol.asyncDispose]();
  const [span] = collector.spans();
  const content = attributesOf(span);
  expect(String(content["gen_ai.output.messages"])).toContain(said);
  expect(String(content["gen_ai.input.messages"])).toContain("long long");
  expect(String(content["gen_ai.input.messages"]).length).toBeLessThan(1200);
}, 60_000);
