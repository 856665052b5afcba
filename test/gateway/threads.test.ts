import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import type { JsonObject } from "../../src/base/json.ts";
import { json } from "../support/answers.ts";
import { answerFrom, fixture } from "../support/fixtures.ts";
import type { SeenRequest } from "../support/provider.ts";
import { type Caller, World } from "./world.ts";

/** Anthropic's tool runners keep the conversation at the provider and send only what is new, unless configured otherwise. */

let world: World;
let caller: Caller;
let other: Caller;

const tail = `
[[models]]
id = "chat-test"
provider = "local"
upstream_model = "local-upstream"
price = { input = 1.0, output = 2.0 }
`;

beforeAll(async () => {
  world = await World.start({ tail });
  caller = await world.creditCaller();
  other = await world.creditCaller();
});
afterAll(() => world[Symbol.asyncDispose]());

let answered = 0;

/** Calls a tool once, and says something when it has the result. */
function provider({ path, text, body }: SeenRequest) {
  const dialect = path.endsWith("/messages")
    ? "messages"
    : path.endsWith("/responses")
      ? "responses"
      : "chat";
  const isAnswered = text.includes("sunny");
  const form = isAnswered ? "text" : "tools";
  if (body["stream"] === true) return answerFrom(`${dialect}/${form}.sse`);
  answered += 1;
  const answer: JsonObject = JSON.parse(fixture(`${dialect}/${form}.json`));
  return json(dialect === "messages" ? { ...answer, id: `msg_${answered}` } : answer);
}

function clientOf({ secret }: Caller): Anthropic {
  return new Anthropic({ apiKey: secret, baseURL: world.running.url, maxRetries: 0 });
}

const weather = betaTool({
  name: "get_weather",
  description: "Tells the weather.",
  inputSchema: { type: "object", properties: {} },
  run: () => "It is sunny.",
});

async function run(model: string, stream: boolean): Promise<string> {
  world.provider.reset();
  world.provider.script(provider);
  const messages = [{ role: "user" as const, content: "How is the weather?" }];
  const runner = clientOf(caller).beta.messages.toolRunner({
    model,
    max_tokens: 1000,
    messages,
    tools: [weather],
    stream,
  });
  const final = await runner.runUntilDone();
  return JSON.stringify(final.content);
}

describe("a tool runner with its default settings", () => {
  test.each([
    ["gpt-test", false],
    ["gpt-test", true],
    ["chat-test", false],
    ["chat-test", true],
    ["claude-test", false],
    ["claude-test", true],
  ] as const)("on %s, streamed: %p", async (model, stream) => {
    expect(await run(model, stream)).toContain("Sluices keep the canal navigable");
    const { requests } = world.provider;
    expect(requests).toHaveLength(2);
    // The second turn knows what was asked: from the provider's own thread, or because everything was sent.
    const isThreaded = model === "claude-test";
    expect(requests[1]?.text.includes("How is the weather?")).toBe(!isThreaded);
    expect("thread" in (requests[1]?.body ?? {})).toBe(isThreaded);
  });
});

describe("a thread that a provider cannot keep", () => {
  test.each(["gpt-test", "chat-test"])(
    "%s: refused as the SDK understands it, and not charged",
    async (model) => {
      world.provider.reset();
      const fresh = await world.creditCaller();
      const body = {
        model,
        max_tokens: 100,
        messages: [{ role: "user", content: "Hi" }],
        thread: { type: "continue", previous_message_id: "msg_x" },
      };
      const create = { ...body, thread: { type: "create" } };
      const answer = await world.ask(fresh, { path: "/v1/messages", body: create });
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({
        type: "error",
        error: {
          type: "invalid_request_error",
          code: "invalid_request",
          details: { error_code: "thread_unsupported_request" },
        },
      });
      expect(world.provider.requests).toHaveLength(0);
      expect(await world.chargesOf(fresh)).toEqual([]);
    },
  );

  test("in a large body too", async () => {
    const source = { type: "base64", media_type: "image/png", data: "A".repeat(1_100_000) };
    const messages = [{ role: "user", content: [{ type: "image", source }] }];
    const body = { model: "chat-test", max_tokens: 100, messages, thread: { type: "create" } };
    const answer = await world.ask(caller, { path: "/v1/messages", body });
    expect(await answer.json()).toHaveProperty("error.details.error_code", "thread_unsupported_request");
  });
});

describe("a thread belongs to the key that began it", () => {
  async function turn(who: Caller, thread: JsonObject, stream: boolean) {
    const messages = [{ role: "user", content: "Hi" }];
    const body = { model: "claude-test", max_tokens: 100, messages, thread, stream };
    const answer = await world.ask(who, { path: "/v1/messages", body });
    const id = /"id":\s*"(msg_\w+)"/.exec(await answer.text())?.[1] ?? "";
    return { status: answer.status, id };
  }

  test.each([false, true])("streamed: %p", async (stream) => {
    world.provider.reset();
    world.provider.script(provider);
    const { id } = await turn(caller, { type: "create" }, stream);
    const go = { type: "continue", previous_message_id: id };
    const seen = world.provider.requests.length;
    const stolen = await world.ask(other, {
      path: "/v1/messages",
      body: {
        model: "claude-test",
        max_tokens: 100,
        messages: [{ role: "user", content: "Hi" }],
        thread: go,
      },
    });
    expect(stolen.status).toBe(404);
    // The SDK sends the whole conversation again then.
    expect(await stolen.json()).toMatchObject({
      error: { type: "not_found_error", details: { error_code: "thread_not_found" } },
    });
    expect(world.provider.requests).toHaveLength(seen);
    expect((await turn(caller, go, stream)).status).toBe(200);
    expect(world.provider.requests.at(-1)?.body["thread"]).toEqual(go);
  });

  test("an answer that was not asked to be kept cannot be continued", async () => {
    world.provider.reset();
    const body = { model: "claude-test", max_tokens: 100, messages: [{ role: "user", content: "Hi" }] };
    const plain = await world.ask(caller, { path: "/v1/messages", body });
    const { id } = (await plain.json()) as { id: string };
    const fresh = await world.creditCaller();
    const thread = { type: "continue", previous_message_id: id };
    const answer = await world.ask(fresh, { path: "/v1/messages", body: { ...body, thread } });
    expect(answer.status).toBe(404);
  });
});

test("a provider that has lost a thread says so to the client", async () => {
  world.provider.reset();
  world.provider.script(provider);
  const messages = [{ role: "user", content: "Hi" }];
  const create = { model: "claude-test", max_tokens: 100, messages, thread: { type: "create" } };
  const { id } = (await (await world.ask(caller, { path: "/v1/messages", body: create })).json()) as {
    id: string;
  };
  const lost = {
    type: "not_found_error",
    message: "No thread.",
    details: { error_code: "thread_not_found" },
  };
  world.provider.script({ ...json({ type: "error", error: lost }), status: 404 });
  const body = { ...create, thread: { type: "continue", previous_message_id: id } };
  const answer = await world.ask(caller, { path: "/v1/messages", body });
  expect(answer.status).toBe(404);
  expect(await answer.json()).toMatchObject({
    error: { type: "not_found_error", details: { error_code: "thread_not_found" } },
  });
});
