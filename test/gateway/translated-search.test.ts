import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { json, openAiError, sse } from "../support/answers.ts";
import { type Caller, World } from "./world.ts";

/** A web search that a client requests in one vendor's dialect is run by another vendor, if its calls have a price there. */
let world: World;
let caller: Caller;
let budget: Caller;

const tail = `
[[models]]
id = "claude-search"
provider = "anthropic"
max_output_tokens = 1000
price = { input = 1.0, output = 2.0, web_search = 10.0 }

[[models]]
id = "claude-plain"
provider = "anthropic"
max_output_tokens = 1000
price = { input = 1.0, output = 2.0 }

[[models]]
id = "gpt-search"
provider = "openai"
max_output_tokens = 1000
price = { input = 1.0, output = 2.0, web_search = 20.0 }

[[models]]
id = "searching-chat"
max_output_tokens = 1000
price = { input = 1.0, output = 2.0, web_search = 10.0 }
[[models.deployments]]
provider = "openai"
[[models.deployments]]
provider = "anthropic"
`;

beforeAll(async () => {
  world = await World.start({ tail });
  [caller, budget] = await Promise.all([world.creditCaller(100), world.tokenCaller(1_000_000_000)]);
});
beforeEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

const location = { type: "approximate", city: "Bern", country: "CH" };
const own = { name: "f", description: "d" };
const input = { role: "user", content: "Who won?" };
const page = { url: "https://news.example/1", title: "News" };

const messageHead = { id: "msg", type: "message", role: "assistant", model: "up" };
const searched = { type: "server_tool_use", id: "srv_1", name: "web_search", input: { query: "who won" } };
const results = {
  type: "web_search_tool_result",
  tool_use_id: "srv_1",
  content: [{ type: "web_search_result", ...page, encrypted_content: "x", page_age: null }],
};
const citation = {
  type: "web_search_result_location",
  ...page,
  cited_text: "Team A won",
  encrypted_index: "y",
};
const messageUsage = {
  input_tokens: 500,
  output_tokens: 50,
  server_tool_use: { web_search_requests: 2 },
};
const message = json({
  ...messageHead,
  stop_reason: "end_turn",
  stop_sequence: null,
  content: [
    { type: "text", text: "I look. " },
    searched,
    results,
    { type: "text", text: "Team A", citations: [citation] },
  ],
  usage: messageUsage,
} as never);

const event = (type: string, more: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
const textBlock = (index: number, text: string, citations: readonly object[] = []) => [
  event("content_block_start", { index, content_block: { type: "text", text: "" } }),
  event("content_block_delta", { index, delta: { type: "text_delta", text } }),
  ...citations.map((each) =>
    event("content_block_delta", { index, delta: { type: "citations_delta", citation: each } }),
  ),
  event("content_block_stop", { index }),
];
const messageStream = sse(
  [
    event("message_start", {
      message: { ...messageHead, content: [], usage: { input_tokens: 500, output_tokens: 1 } },
    }),
    ...textBlock(0, "I look. "),
    event("content_block_start", { index: 1, content_block: { ...searched, input: {} } }),
    event("content_block_delta", {
      index: 1,
      delta: { type: "input_json_delta", partial_json: '{"query":"who won"}' },
    }),
    event("content_block_stop", { index: 1 }),
    event("content_block_start", { index: 2, content_block: results }),
    event("content_block_stop", { index: 2 }),
    ...textBlock(3, "Team A", [citation]),
    event("message_delta", { delta: { stop_reason: "end_turn" }, usage: messageUsage }),
    event("message_stop", {}),
  ].join(""),
);

const annotation = { type: "url_citation", ...page, start_index: 0, end_index: 6 };
const searchCall = {
  type: "web_search_call",
  id: "ws_1",
  status: "completed",
  action: { type: "search", query: "who won" },
};
const outputText = { type: "output_text", text: "Team A", annotations: [annotation] };
const outputMessage = {
  type: "message",
  id: "m",
  role: "assistant",
  status: "completed",
  content: [outputText],
};
const responseHead = { id: "resp_up", object: "response", created_at: 1, model: "up" };
const responseUsage = { input_tokens: 500, output_tokens: 50 };
const whole = {
  ...responseHead,
  status: "completed",
  output: [searchCall, outputMessage],
  usage: responseUsage,
};
const response = json(whole as never);
const at = { item_id: "m", output_index: 1, content_index: 0 };
const responseStream = sse(
  [
    event("response.created", { response: { ...responseHead, status: "in_progress", output: [] } }),
    event("response.output_item.added", {
      output_index: 0,
      item: { ...searchCall, status: "in_progress", action: undefined },
    }),
    event("response.output_item.done", { output_index: 0, item: searchCall }),
    event("response.output_item.added", {
      output_index: 1,
      item: { ...outputMessage, status: "in_progress", content: [] },
    }),
    event("response.content_part.added", { ...at, part: { ...outputText, text: "", annotations: [] } }),
    event("response.output_text.delta", { ...at, delta: "Team A" }),
    event("response.output_text.annotation.added", { ...at, annotation_index: 0, annotation }),
    event("response.output_text.done", { ...at, text: "Team A" }),
    event("response.output_item.done", { output_index: 1, item: outputMessage }),
    event("response.completed", { response: whole }),
  ].join(""),
);

interface Route {
  readonly path: string;
  readonly body: JsonObject;
}

const chat = (model: string, more: JsonObject): Route => ({
  path: "/v1/chat/completions",
  body: { model, messages: [input], ...more },
});
const responses = (model: string, more: JsonObject): Route => ({
  path: "/v1/responses",
  body: { model, input: [input], ...more },
});
const messages = (model: string, more: JsonObject): Route => ({
  path: "/v1/messages",
  body: { model, messages: [input], max_tokens: 100, ...more },
});

/** What the provider got, the client's answer, what was dropped, and what it cost in millionths of a credit. */
async function run(route: Route, by = caller) {
  const before = await spent(by);
  const answer = await world.ask(by, route);
  const text = await answer.text();
  expect(answer.status, text).toBe(200);
  const dropped = answer.headers.get("x-sluice-dropped");
  const sent = world.provider.requests.at(-1)?.body ?? {};
  return { sent, text, dropped, cost: (await spent(by)) - before };
}

async function spent(by: Caller): Promise<number> {
  return (await world.chargesOf(by)).reduce((sum, { amount }) => sum - amount, 0) / 1000;
}

/** 500 tokens of input, 50 of output, and searches. */
const cost = (searches: number, microEach: number) => 500 + 100 + searches * microEach;

const expectedSearch = {
  type: "web_search_20250305",
  name: "web_search",
  max_uses: 5,
  allowed_domains: ["news.example"],
  user_location: location,
};
const search = {
  type: "web_search",
  filters: { allowed_domains: ["news.example"] },
  user_location: location,
};

describe("toward Anthropic", () => {
  test("a Responses client's search is sent, bounded, charged by Anthropic's count, and cited", async () => {
    world.provider.script(message);
    const tools = [{ type: "function", ...own, parameters: {} }, search];
    const { sent, text, dropped, cost: charged } = await run(responses("claude-search", { tools }));
    expect((sent["tools"] as JsonObject[])[1]).toEqual(expectedSearch);
    expect(dropped).toBeNull();
    expect(charged).toBe(cost(2, 10_000));
    const { output } = JSON.parse(text) as { output: { content?: { annotations: object[] }[] }[] };
    expect(output.flatMap(({ content = [] }) => content.flatMap(({ annotations }) => annotations))).toEqual([
      annotation,
    ]);
  });

  test("so in a body that is too large for the event loop", async () => {
    world.provider.script(message);
    const long = [{ role: "user", content: "a line of text\n".repeat(100_000) }];
    const { sent, cost: charged } = await run(responses("claude-search", { tools: [search], input: long }));
    expect([sent["tools"], charged]).toEqual([[expectedSearch], cost(2, 10_000)]);
  });

  test("so in a stream", async () => {
    world.provider.script(messageStream);
    const { text, cost: charged } = await run(
      responses("claude-search", { tools: [search], stream: true, max_tool_calls: 3 }),
    );
    expect(world.provider.requests[0]?.body["tools"]).toEqual([{ ...expectedSearch, max_uses: 3 }]);
    expect(charged).toBe(cost(2, 10_000));
    expect(text).toContain('"type":"response.output_text.annotation.added"');
    expect(text).toContain(`"url":"${page.url}"`);
  });

  test("a chat client's options and its tool are sent, and the search is not charged if none was made", async () => {
    world.provider.script(message);
    const { type, ...approximate } = location;
    const options = { search_context_size: "low", user_location: { type, approximate } };
    const { allowed_domains: _, ...anywhere } = expectedSearch;
    const first = await run(chat("claude-search", { web_search_options: options }));
    const unsent = "web_search_options.search_context_size";
    expect([first.sent["tools"], first.dropped, first.cost]).toEqual([[anywhere], unsent, cost(2, 10_000)]);
    const { choices } = JSON.parse(first.text) as {
      choices: { message: { content: string; annotations: object[] } }[];
    };
    expect(choices[0]?.message).toMatchObject({
      content: "I look. Team A",
      annotations: [{ type: "url_citation", url_citation: { ...page, start_index: 8, end_index: 14 } }],
    });
    const { server_tool_use: _tools, ...usage } = messageUsage;
    world.provider.script(
      json({
        ...messageHead,
        stop_reason: "end_turn",
        content: [{ type: "text", text: "A" }],
        usage,
      } as never),
    );
    const second = await run(chat("claude-search", { tools: [{ type: "web_search" }] }));
    expect([second.sent["tools"], second.cost]).toEqual([
      [{ type: "web_search_20250305", name: "web_search", max_uses: 5 }],
      cost(0, 0),
    ]);
  });

  test("in a chat client's stream the sources are annotations", async () => {
    world.provider.script(messageStream);
    const { text, cost: charged } = await run(
      chat("claude-search", { web_search_options: {}, stream: true }),
    );
    expect(text).toContain(`"url_citation":{"url":"${page.url}"`);
    expect(charged).toBe(cost(2, 10_000));
  });

  test("a search that is forced is forced there", async () => {
    world.provider.script(message);
    const { sent } = await run(
      responses("claude-search", { tools: [search], tool_choice: { type: "web_search" } }),
    );
    expect(sent["tool_choice"]).toEqual({ type: "tool", name: "web_search" });
  });

  test("without a price, for a token budget without --tools, and beside a function of its name, it is dropped and named", async () => {
    const tools = [{ type: "function", ...own, parameters: {} }, search];
    world.provider.script(message);
    const plain = await run(responses("claude-plain", { tools }));
    expect([(plain.sent["tools"] as unknown[]).length, plain.dropped]).toEqual([1, "tools.web_search"]);
    world.provider.script(message);
    const frugal = await run(responses("claude-search", { tools }), budget);
    expect([(frugal.sent["tools"] as unknown[]).length, frugal.dropped]).toEqual([1, "tools.web_search"]);
    world.provider.script(message);
    const named = [{ type: "function", name: "web_search", parameters: {} }, search];
    const same = await run(responses("claude-search", { tools: named }));
    expect([(same.sent["tools"] as unknown[]).length, same.dropped]).toEqual([1, "tools.web_search"]);
    world.provider.script(message);
    const options = await run(chat("claude-plain", { web_search_options: {} }));
    expect([options.sent["tools"], options.dropped]).toEqual([undefined, "web_search_options"]);
  });

  test("is held for", async () => {
    const tools = [search];
    const held = async (model: string, more: JsonObject) => world.heldFor(responses(model, more));
    const difference =
      (await held("claude-search", { tools, max_tool_calls: 3 })) - (await held("claude-search", {}));
    expect(difference).toBeCloseTo(0.03, 2);
  });

  test("a fallback to it searches as it likes, although the first provider always searches", async () => {
    const { server_tool_use: _, ...usage } = messageUsage;
    const answer = {
      ...messageHead,
      stop_reason: "end_turn",
      content: [{ type: "text", text: "A" }],
      usage,
    };
    world.provider.script(({ path }) =>
      path.endsWith("/messages") ? json(answer as never) : openAiError(500, "no"),
    );
    const { cost: charged, sent } = await run(chat("searching-chat", { web_search_options: {} }));
    expect(sent["tools"]).toEqual([{ type: "web_search_20250305", name: "web_search", max_uses: 5 }]);
    expect(charged).toBe(cost(0, 0));
  });
});

describe("toward OpenAI", () => {
  const tool = {
    type: "web_search_20250305",
    name: "web_search",
    max_uses: 2,
    allowed_domains: ["news.example"],
    user_location: location,
  };

  test("a Messages client's search is sent, bounded, charged by the calls that are made, and cited", async () => {
    world.provider.script(response);
    const tools = [{ ...own, input_schema: { type: "object" } }, tool];
    const { sent, text, dropped, cost: charged } = await run(messages("gpt-search", { tools }));
    expect((sent["tools"] as JsonObject[])[1]).toEqual(search);
    expect(sent["max_tool_calls"]).toBe(2);
    expect(dropped).toBeNull();
    expect(charged).toBe(cost(1, 20_000));
    const { content } = JSON.parse(text) as { content: { citations?: object[] }[] };
    expect(content).toEqual([
      expect.objectContaining({
        text: "Team A",
        citations: [expect.objectContaining({ type: "web_search_result_location", ...page })],
      }),
    ]);
  });

  test("so in a stream, and a search that is forced is forced there", async () => {
    world.provider.script(responseStream);
    const {
      text,
      sent,
      cost: charged,
    } = await run(
      messages("gpt-search", {
        tools: [tool],
        tool_choice: { type: "tool", name: "web_search" },
        stream: true,
      }),
    );
    expect(sent["tool_choice"]).toEqual({ type: "web_search" });
    expect(charged).toBe(cost(1, 20_000));
    expect(text).toContain('"type":"citations_delta"');
    expect(text).toContain(`"url":"${page.url}"`);
  });

  test("blocked domains have no place there, and are named", async () => {
    world.provider.script(response);
    const { allowed_domains: _, ...anywhere } = tool;
    const tools = [{ ...anywhere, blocked_domains: ["x.example"] }];
    const { sent, dropped } = await run(messages("gpt-search", { tools }));
    expect(sent["tools"]).toEqual([{ type: "web_search", user_location: location }]);
    expect(dropped).toBe("tools[].blocked_domains");
  });
});
