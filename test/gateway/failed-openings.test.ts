import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { openingMs } from "../../src/upstream/call/inspect.ts";
import { sse } from "../support/answers.ts";
import { fixture } from "../support/fixtures.ts";
import type { SeenRequest } from "../support/provider.ts";
import { readStream } from "../support/sse.ts";
import { type Caller, World } from "./world.ts";

/** Providers that start a streaming response and then fail. Nothing binding was sent to the client, so a fallback may answer. */
let world: World;
let caller: Caller;

const model = (id: string, first: string, dialect: string, second: string) => `
[[models]]
id = "${id}"
price = { input = 1.0, output = 2.0 }
max_output_tokens = 1000
deployments = [
  { provider = "${first}", upstream_model = "failing", dialect = "${dialect}"${second === "" ? "" : ", priority = 1"} },
  ${second}
]
`;
const spare = '{ provider = "openai", upstream_model = "spare", dialect = "responses", priority = 2 },';
const tail = `
${model("responses-spared", "openai", "responses", spare)}
${model("responses-alone", "openai", "responses", "")}
${model("messages-spared", "anthropic", "messages", spare)}
${model("messages-alone", "anthropic", "messages", "")}
${model("chat-spared", "openai", "chat", spare)}
${model("chat-alone", "openai", "chat", "")}
`;

// Each test has its own: after a few failures, breakers skip the provider.
beforeEach(async () => {
  world = await World.start({ tail, head: "[server]\nheartbeat = 60" });
  caller = await world.creditCaller();
});
afterEach(() => world[Symbol.asyncDispose]());

const frame = (type: string, data: JsonObject) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
const response = (status: string, more = {}) => ({
  response: { id: "resp_1", object: "response", status, output: [], error: null, usage: null, ...more },
});
const message = {
  ...{ id: "msg_1", type: "message", role: "assistant", model: "m", content: [] },
  ...{ stop_reason: null, stop_sequence: null, usage: { input_tokens: 9, output_tokens: 1 } },
};
const chunk = (more: JsonObject) =>
  `data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m", ...more })}\n\n`;
const roleDelta = { role: "assistant", content: "", refusal: null, tool_calls: [] };
const openings = {
  // Longer than what is inspected of a single event, as with the tools of an agent.
  responses: [
    frame("response.created", response("in_progress", { instructions: "x".repeat(70_000) })),
    frame("response.in_progress", response("in_progress", { instructions: "x".repeat(70_000) })),
  ],
  messages: [frame("message_start", { message }), frame("ping", {})],
  // Azure's findings about the prompt, a comment, and the role of two choices.
  chat: [
    chunk({ choices: [], prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }] }),
    ": processing\n\n",
    chunk({ choices: [{ index: 0, delta: roleDelta, finish_reason: null }], usage: null }),
    chunk({ choices: [{ index: 1, delta: roleDelta, finish_reason: null }], usage: null }),
  ],
} as const;
const failures = {
  responses: (code: string) =>
    frame("response.failed", response("failed", { error: { code, message: "It failed." } })),
  messages: (type: string) => frame("error", { error: { type, message: "It failed." } }),
  chat: (code: string) => `data: ${JSON.stringify({ error: { code, message: "It failed." } })}\n\n`,
} as const;
const overloads = {
  responses: "server_is_overloaded",
  messages: "overloaded_error",
  chat: "server_is_overloaded",
} as const;

const asked = {
  chat: { path: "/v1/chat/completions", body: { messages: [{ role: "user", content: "hi" }] } },
  responses: { path: "/v1/responses", body: { input: "hi" } },
  messages: { path: "/v1/messages", body: { max_tokens: 50, messages: [{ role: "user", content: "hi" }] } },
} as const;

type Client = keyof typeof asked;
type Spoken = keyof typeof openings;

function ask(client: Client, id: string, signal?: AbortSignal): Promise<Response> {
  const { path, body } = asked[client];
  const all = { model: id, stream: true, ...body };
  return world.ask(caller, { path, body: all, ...(signal === undefined ? {} : { signal }) });
}

function failing(spoken: Spoken, ending: string, cuts: "whole" | "apart" = "whole") {
  return ({ body }: SeenRequest) => {
    if (body["model"] === "spare") return sse(fixture("responses/text.sse"));
    const events = [...openings[spoken], ending];
    if (cuts === "whole") return sse(events.join(""));
    return { ...sse(""), steps: events.flatMap((event) => [{ write: event }, { sleepMs: 5 }]) };
  };
}

const pairs = (["responses", "messages", "chat"] as const).flatMap((spoken) =>
  (["chat", "responses", "messages"] as const).map((client) => [client, spoken] as const),
);

describe.each(pairs)("a stream for a %s client, from a provider of %s", (client, spoken) => {
  test.each(["whole", "apart"] as const)(
    "that fails before any content is answered by another (%s)",
    async (cuts) => {
      world.provider.script(failing(spoken, failures[spoken]("server_error"), cuts));
      const answer = await ask(client, `${spoken}-spared`);
      expect(answer.status).toBe(200);
      expect(await answer.text()).toContain("Sluices");
      expect(world.provider.requests.map(({ body }) => body["model"])).toEqual(["failing", "spare"]);
      expect(await world.chargesOf(caller)).toHaveLength(1);
    },
  );

  test("that breaks off before any content is answered by another", async () => {
    world.provider.script((request) => {
      const answer = failing(spoken, "")(request);
      return request.body["model"] === "spare"
        ? answer
        : { ...answer, steps: [...answer.steps, { reset: true }] };
    });
    const answer = await ask(client, `${spoken}-spared`);
    expect(await answer.text()).toContain("Sluices");
    expect(await world.chargesOf(caller)).toHaveLength(1);
  });

  test("that is overloaded before any content is a 503, if there is no other", async () => {
    world.provider.script(failing(spoken, failures[spoken](overloads[spoken])));
    const answer = await ask(client, `${spoken}-alone`);
    const { error } = (await answer.json()) as { error: JsonObject };
    expect([answer.status, client === "messages" ? error["type"] : error["code"]]).toEqual([
      503,
      client === "messages" ? "overloaded_error" : "service_unavailable",
    ]);
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(await world.chargesOf(caller)).toEqual([]);
  });
});

test.each(["responses", "messages", "chat"] as const)(
  "opening events of %s do not wait for content for long",
  async (spoken) => {
    const goOn = Promise.withResolvers<void>();
    const events = openings[spoken].join("");
    const rest = fixture(`${spoken}/text.sse`).split("\n\n").slice(2).join("\n\n");
    world.provider.script({
      ...sse(""),
      steps: [{ write: events }, { until: goOn.promise }, { write: rest }],
    });
    const startedMs = performance.now();
    const answer = await ask(spoken, `${spoken}-alone`);
    expect(answer.status).toBe(200);
    // The provider says nothing more before this.
    expect(performance.now() - startedMs).toBeGreaterThan(openingMs - 100);
    goOn.resolve();
    await readStream(answer);
  },
);

test("a client that leaves while they wait ends the provider's work", async () => {
  const leaving = new AbortController();
  const seen = world.provider.nextRequest();
  const hasOpened = Promise.withResolvers<void>();
  world.provider.script({
    ...sse(""),
    steps: [{ write: openings.messages.join("") }, { until: hasOpened.promise }, { stall: true }],
  });
  const answer = ask("messages", "messages-alone", leaving.signal).catch(() => null);
  const request = await seen;
  hasOpened.resolve();
  leaving.abort();
  expect(await answer).toBeNull();
  await request.over;
  expect(request.abortedAtMs).not.toBeNull();
  await world.settled();
});
