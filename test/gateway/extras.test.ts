import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { json, sse } from "../support/answers.ts";
import { fixture } from "../support/fixtures.ts";
import type { ScriptedProvider } from "../support/provider.ts";
import { type Caller, World } from "./world.ts";

/** Tiers, hosted tools and audio cost more than the list price: they need a price, and are charged by it. */
let world: World;
let provider: ScriptedProvider;
let credit: Caller;
let budget: Caller;

const priced = `{ input = 1.0, output = 2.0, cached_input = 0.1, cache_write = 1.25, audio_input = 40.0,
  audio_output = 80.0, web_search = 10.0, web_fetch = 0.0, file_search = 2.5, code_interpreter = 30.0, code_execution = 4.0, shell = 30.0,
  tiers = { priority = { input = 3.0, output = 6.0 }, flex = { input = 0.5, output = 1.0 } } }`.replaceAll(
  "\n",
  " ",
);

const models = `
[[models]]
id = "gpt-priced"
provider = "openai"
max_output_tokens = 100
price = ${priced}

[[models]]
id = "claude-priced"
provider = "anthropic"
max_output_tokens = 100
price = ${priced}

[[models]]
id = "local-priced"
provider = "local"
max_output_tokens = 100
price = ${priced}

[[models]]
id = "gpt-sized"
provider = "openai"
max_output_tokens = 100
price = ${priced}
allow = ["memory_limit"]

[[models]]
id = "gpt-free"
provider = "openai"
max_output_tokens = 100
free = true
`;

beforeAll(async () => {
  world = await World.start({ tail: models });
  provider = world.provider;
  [credit, budget] = await Promise.all([
    world.creditCaller(1000),
    world.tokenCaller(1_000_000_000, { tools: true }),
  ]);
});
beforeEach(() => provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

const user = { role: "user", content: "Hello" };
const chat = { path: "/v1/chat/completions", body: { model: "gpt-priced", messages: [user] } };
const responses = { path: "/v1/responses", body: { model: "gpt-priced", input: "Hello" } };
const messages = {
  path: "/v1/messages",
  body: { model: "claude-priced", messages: [user], max_tokens: 100 },
};

interface Route {
  readonly path: string;
  readonly body: JsonObject;
}

const ask = (caller: Caller, { path, body }: Route, changes: JsonObject = {}) =>
  world.ask(caller, { path, body: { ...body, ...changes } });

/** What was charged to a key in all, in millionths of a credit. */
async function microSpent(caller: Caller): Promise<number> {
  const charges = await world.chargesOf(caller);
  return charges.reduce((sum, { amount }) => sum - amount, 0) / 1e3;
}

/** What a request costs, in millionths of a credit. */
async function microCost(route: Route, changes: JsonObject): Promise<number> {
  const before = await microSpent(credit);
  const response = await ask(credit, route, changes);
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return (await microSpent(credit)) - before;
}

/** What a request is held for, in credits, as its refusal says it to a key that has nothing. */
async function held(route: Route, changes: JsonObject): Promise<number> {
  const response = await ask(await world.creditCaller(0), route, changes);
  expect(response.status).toBe(402);
  const { error } = (await response.json()) as { error: { message: string } };
  return Number(/up to ([\d.e-]+) credits/.exec(error.message)?.[1]);
}

async function expectRefused(route: Route, changes: JsonObject, param: string, price: string) {
  provider.reset();
  for (const caller of [credit, budget]) {
    const response = await ask(caller, route, changes);
    const { error } = (await response.json()) as { error: { code: string; message: string; param?: string } };
    expect([response.status, error.code]).toEqual([400, "invalid_request"]);
    expect(error.message).toContain(param);
    expect(error.message).toContain(price);
  }
  await world.settled();
  expect(provider.requests).toEqual([]);
}

async function expectPasses(route: Route, changes: JsonObject): Promise<void> {
  provider.reset();
  const response = await ask(credit, route, changes);
  expect(response.status, await response.text()).toBe(200);
  expect(provider.requests.length).toBe(1);
}

const unpriced = (route: Route): Route => ({
  ...route,
  body: { ...route.body, model: route === messages ? "claude-test" : "gpt-test" },
});

const wholeChat = JSON.parse(fixture("chat/text.json")) as JsonObject;
const wholeResponse = JSON.parse(fixture("responses/text.json")) as JsonObject;
const wholeMessage = JSON.parse(fixture("messages/text.json")) as JsonObject;

/** The same tokens everywhere: 100 of input, 10 of output, 120 millionths at the list price. */
const chatUsage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
const responsesUsage = { input_tokens: 100, output_tokens: 10, total_tokens: 110 };
const messagesUsage = { input_tokens: 100, output_tokens: 10 };

test("what is not in the background passes", async () => {
  await expectPasses(responses, { background: false });
  await expectPasses(responses, { background: null });
});

test("what a provider with a lenient parser takes for the background is refused, and what xAI calls it", async () => {
  for (const background of [1, "true", "yes", [true], {}]) {
    await expectRefused(responses, { background }, "background", "`background` must be true or false.");
    await expectRefused(chat, { deferred: background }, "deferred", "`deferred` must be true or false.");
  }
});

test("an answer that is neither text nor speech has no price", async () => {
  for (const modalities of [["text", "image"], ["AUDIO"], ["video"], "image", [{ toString: 1 }]]) {
    await expectRefused(chat, { modalities }, "modalities", 'allow = ["modalities"]');
  }
  await expectRefused(unpriced(chat), { modalities: "audio" }, "modalities", "price.audio_output");
  await expectPasses(chat, { modalities: ["text"] });
  await expectPasses({ ...chat, body: { ...chat.body, model: "gpt-free" } }, { modalities: ["image"] });
});

describe("a service tier", () => {
  for (const route of [chat, responses, messages]) {
    test(`passes on ${route.path} when it is the usual one`, async () => {
      for (const tier of ["auto", "default", null])
        await expectPasses(unpriced(route), { service_tier: tier });
    });

    test(`without a price is refused on ${route.path}`, async () => {
      await expectRefused(
        unpriced(route),
        { service_tier: "priority" },
        "service_tier",
        "price.tiers.priority",
      );
      for (const tier of ["scale", "constructor", "__proto__"])
        await expectRefused(route, { service_tier: tier }, "service_tier", `price.tiers.${tier}`);
      await expectRefused(route, { service_tier: ["priority"] }, "service_tier", "a string");
    });
  }

  test("is charged by its price, whole and streamed, and by the one that the provider says it used", async () => {
    provider.script(json({ ...wholeChat, usage: chatUsage, service_tier: "priority" }));
    expect(await microCost(chat, { service_tier: "priority" })).toBe(360);
    expect(await microCost(chat, { service_tier: "auto" })).toBe(360);
    provider.script(json({ ...wholeChat, usage: chatUsage, service_tier: "default" }));
    expect(await microCost(chat, { service_tier: "priority" })).toBe(120);
    provider.script(json({ ...wholeChat, usage: chatUsage, service_tier: undefined }));
    expect(await microCost(chat, { service_tier: "flex" })).toBe(60);
    provider.script(json({ ...wholeResponse, usage: responsesUsage, service_tier: "flex" }));
    expect(await microCost(responses, { service_tier: "flex" })).toBe(60);
    const chunk = { ...wholeChat, object: "chat.completion.chunk", service_tier: "priority" };
    const content = {
      ...chunk,
      usage: null,
      choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: "stop" }],
    };
    const usage = { ...chunk, choices: [], usage: chatUsage };
    const events = [content, usage].map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
    provider.script(sse(`${events}data: [DONE]\n\n`));
    expect(await microCost(chat, { service_tier: "priority", stream: true })).toBe(360);
    provider.script(json({ ...wholeMessage, usage: { ...messagesUsage, service_tier: "priority" } }));
    expect(await microCost(messages, { service_tier: "auto" })).toBe(360);
  });

  test("is charged when the request is translated, too", async () => {
    provider.script(json({ ...wholeResponse, usage: responsesUsage, service_tier: "priority" }));
    const translated = { ...messages, body: { ...messages.body, model: "gpt-priced" } };
    expect(await microCost(translated, { service_tier: "priority" })).toBe(360);
    expect(provider.requests[0]?.body["service_tier"]).toBe("priority");
  });

  test("that no provider was asked for has no price: its field is dropped in a translation", async () => {
    provider.script(json({ ...wholeChat, usage: chatUsage, service_tier: undefined }));
    const translated = { ...messages, body: { ...messages.body, model: "local-priced" } };
    for (const speed of ["flex", "priority"]) expect(await microCost(translated, { speed })).toBe(120);
    expect(await microCost(translated, { speed: "flex", stream: true })).toBe(120);
    for (const { body } of provider.requests) expect(body["speed"]).toBeUndefined();
  });

  test("is held for at the higher price", async () => {
    const poor = await world.creditCaller(0.0005);
    const asked = (service_tier: string) => ask(poor, chat, { max_tokens: 100, service_tier });
    expect((await asked("priority")).status).toBe(402);
    expect((await asked("auto")).status).toBe(200);
  });

  test("is one of three fields that choose a price, and only one of them may", async () => {
    await expectRefused(messages, { speed: "fast" }, "speed", "price.tiers.fast");
    await expectRefused(messages, { inference_geo: "us" }, "inference_geo", "price.tiers.us");
    await expectPasses(messages, { inference_geo: "global", speed: "standard" });
    await expectRefused(messages, { speed: "flex", service_tier: "priority" }, "speed", "cannot be combined");
  });
});

describe("a hosted tool", () => {
  test("that the client runs is free", async () => {
    const free = ["bash_20250124", "text_editor_20250728", "memory_20250818", "computer_20250124"];
    const toolsets = ["computer_toolset_20260801", "browser_toolset_20260801"];
    for (const type of [...free, ...toolsets]) {
      const tools = [{ type, name: "x" }];
      await expectPasses(unpriced(messages), { tools });
      expect(provider.requests.at(-1)?.body["tools"], type).toEqual(tools);
    }
    // Only the family and a date: what a provider runs may begin with the same word.
    const plain = { name: "f", input_schema: { type: "object" } };
    const code = { type: "bash_code_execution_20260521", name: "x" };
    await expectPasses(unpriced(messages), { tools: [code, plain] });
    expect(provider.requests.at(-1)?.body["tools"]).toEqual([plain]);
    const own = [
      { type: "function", name: "f", parameters: {} },
      { type: "custom", name: "c" },
      { type: "local_shell" },
      { type: "apply_patch" },
      { type: "tool_search", execution: "client" },
      { type: "shell", environment: { type: "local" } },
      { type: "namespace", name: "n", tools: [{ type: "function", name: "g" }] },
    ];
    await expectPasses(unpriced(responses), { tools: own });
  });

  const containers = [
    ["container", "code_interpreter", (memory_limit: string | null) => ({ type: "auto", memory_limit })],
    ["environment", "shell", (memory_limit: string | null) => ({ type: "container_auto", memory_limit })],
  ] as const;
  for (const [member, type, container] of containers) {
    const tool = (memory_limit: string | null) => ({ type, [member]: container(memory_limit) });
    const path = `tools[0].${member}.memory_limit`;

    test(`has a price for the default size of its container only: ${type}`, async () => {
      for (const size of ["4g", "16g", "64g", "1024g", "1G", ""]) {
        await expectRefused(responses, { tools: [tool(size)] }, path, 'allow = ["memory_limit"]');
      }
      for (const size of ["1g", null]) {
        const tools = [tool(size)];
        await expectPasses(responses, { tools });
        expect(provider.requests.at(-1)?.body["tools"]).toEqual(tools);
      }
    });

    test(`has its container of any size where the operator allows it, or nothing costs: ${type}`, async () => {
      for (const model of ["gpt-sized", "gpt-free"]) {
        const tools = [tool("64g")];
        await expectPasses({ ...responses, body: { ...responses.body, model } }, { tools });
        expect(provider.requests.at(-1)?.body["tools"]).toEqual(tools);
      }
      // Dropped with the tool that has no price.
      const own = { type: "function", name: "f", parameters: {} };
      await expectPasses(unpriced(responses), { tools: [tool("64g"), own] });
      expect(provider.requests.at(-1)?.body["tools"]).toEqual([own]);
    });

    test(`is held to the size in a body that is too large for the event loop: ${type}`, async () => {
      const input = [{ role: "user", content: "a line of text\n".repeat(100_000) }];
      await expectRefused(responses, { input, tools: [tool("64g")] }, path, 'allow = ["memory_limit"]');
    });
  }

  test("passes on a model that is free", async () => {
    const free = { ...responses, body: { ...responses.body, model: "gpt-free" } };
    await expectPasses(free, { tools: [{ type: "web_search" }], service_tier: "priority" });
  });

  test("is left out of a translated request, and then needs no price", async () => {
    const translated = { ...responses, body: { ...responses.body, model: "claude-test" } };
    await expectPasses(translated, { tools: [{ type: "web_search" }, { type: "function", name: "f" }] });
    expect(JSON.stringify(provider.requests[0]?.body)).not.toContain("web_search");
  });

  const searches = [
    { type: "web_search_call", id: "ws_1", action: { type: "search", query: "x" } },
    { type: "web_search_call", id: "ws_2", action: { type: "open_page", url: "x" } },
    { type: "web_search_call", id: "ws_3", action: { type: "search", query: "y" } },
    { type: "file_search_call", id: "fs_1" },
  ];
  const searched = {
    ...wholeResponse,
    output: [...searches, ...(wholeResponse["output"] as JsonObject[])],
    usage: responsesUsage,
  };
  const tools = [{ type: "web_search" }, { type: "file_search", vector_store_ids: [] }];

  test("is charged by the call, on responses", async () => {
    provider.script(json(searched));
    expect(await microCost(responses, { tools })).toBe(120 + 20_000 + 2_500);
    const completed = { type: "response.completed", sequence_number: 9, response: searched };
    provider.script(
      sse(`${streamed({ type: "response.created", response: wholeResponse })}${streamed(completed)}`),
    );
    expect(await microCost(responses, { tools, stream: true })).toBe(120 + 20_000 + 2_500);
    const items = searches.map((item) => streamed({ type: "response.output_item.done", item })).join("");
    provider.script(sse(items + streamed({ ...completed, response: { ...searched, output: [] } })));
    expect(await microCost(responses, { tools, stream: true })).toBe(120 + 20_000 + 2_500);
  });

  test("is charged although the client left before the first word", async () => {
    const begun = [
      { type: "response.created", response: { ...wholeResponse, output: [] } },
      ...searches.map((item) => ({ type: "response.output_item.done", item })),
    ];
    const text = begun.map(streamed).join("");
    provider.script({ ...sse(text), steps: [{ write: text }, { stall: true }] });
    const before = await microSpent(credit);
    const leaving = new AbortController();
    const body = { ...responses.body, tools, stream: true };
    const answer = await world.ask(credit, { path: responses.path, body, signal: leaving.signal });
    await answer.body?.getReader().read();
    leaving.abort();
    const charged = (await microSpent(credit)) - before;
    // Two searches and one look into files; the rest is the input, as it was counted here.
    expect(charged).toBeGreaterThan(22_500);
    expect(charged).toBeLessThan(23_500);
  });

  test("is charged as it was held for where the provider's count cannot be", async () => {
    const web = { type: "web_search_20250305", name: "web_search" };
    const costs = [
      [10_000, [web], 100_000_000],
      [10_001, [{ ...web, max_uses: 3 }], 30_000],
      [1_000_000_000, [web], 50_000],
    ] as const;
    for (const [web_search_requests, tools, cost] of costs) {
      const usage = { ...messagesUsage, server_tool_use: { web_search_requests, web_fetch_requests: 1 } };
      provider.script(json({ ...wholeMessage, usage }));
      expect(await microCost(messages, { tools: [...tools] })).toBe(120 + cost);
      const basis = web_search_requests > 10_000 ? "estimated" : "measured";
      expect((await world.chargesOf(credit)).at(-1)?.basis).toBe(basis);
    }
  });

  test("is charged by the call, on messages", async () => {
    const server_tool_use = { web_search_requests: 3, web_fetch_requests: 1 };
    const content = [
      { type: "server_tool_use", id: "srvtoolu_1", name: "bash_code_execution", input: {} },
      ...(wholeMessage["content"] as JsonObject[]),
    ];
    const usage = { ...messagesUsage, server_tool_use };
    const offered = [
      { type: "web_search_20250305", name: "web_search", max_uses: 3 },
      { type: "web_fetch_20250910", name: "web_fetch" },
      { type: "code_execution_20250825", name: "code_execution" },
    ];
    provider.script(json({ ...wholeMessage, content, usage }));
    expect(await microCost(messages, { tools: offered })).toBe(120 + 30_000 + 4_000);
    const events = [
      { type: "message_start", message: { ...wholeMessage, content: [], usage: messagesUsage } },
      { type: "content_block_start", index: 0, content_block: content[0] },
      { type: "content_block_stop", index: 0 },
      { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "Hi" } },
      { type: "content_block_stop", index: 1 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage },
      { type: "message_stop" },
    ];
    provider.script(sse(events.map(streamed).join("")));
    expect(await microCost(messages, { tools: offered, stream: true })).toBe(120 + 30_000 + 4_000);
  });

  test("is charged once for a search beside the tools, on chat", async () => {
    provider.script(json({ ...wholeChat, usage: chatUsage }));
    expect(await microCost(chat, { web_search_options: {} })).toBe(120 + 10_000);
    provider.script(json({ ...wholeChat, usage: { ...chatUsage, num_sources_used: 4 } }));
    expect(await microCost(chat, { search_parameters: { mode: "on" } })).toBe(120 + 40_000);
  });

  test("is held for: the calls that the request allows up to a thousand, else five", async () => {
    const search = { type: "web_search_20250305", name: "web_search" };
    const heldCalls = async (...tools: JsonObject[]) =>
      Math.round(((await held(messages, { tools })) - (await held(messages, {}))) / 0.01);
    for (const [maxUses, calls] of [
      [undefined, 5],
      [-1, 5],
      [2.5, 5],
      ["3", 5],
      [0, 0],
      [1, 1],
      [4, 4],
      [6, 6],
      [999, 999],
      [1000, 1000],
      [1001, 1000],
      [1_000_000, 1000],
    ] as const) {
      expect(await heldCalls(maxUses === undefined ? search : { ...search, max_uses: maxUses })).toBe(calls);
    }
    const several = (first: number, second: number) =>
      heldCalls({ ...search, max_uses: first }, { ...search, max_uses: second });
    expect(await several(400, 599)).toBe(999);
    expect(await several(400, 600)).toBe(1000);
    expect(await several(401, 600)).toBe(1000);
  });

  test("may not use what was given to another key", async () => {
    const refused: readonly (readonly [JsonObject, string])[] = [
      [{ type: "file_search", vector_store_ids: ["vs_1"] }, "tools[0].vector_store_ids[0]"],
      [{ type: "code_interpreter", container: "cntr_1" }, "tools[0].container"],
      [
        { type: "code_interpreter", container: { type: "auto", file_ids: ["file-1"] } },
        "tools[0].container.file_ids[0]",
      ],
    ];
    for (const [tool, param] of refused) {
      const response = await ask(credit, responses, { tools: [tool] });
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ error: { code: "not_found", param } });
    }
    expect(provider.requests).toEqual([]);
  });
});

function streamed(event: JsonObject): string {
  return `event: ${String(event["type"])}\ndata: ${JSON.stringify(event)}\n\n`;
}

describe("audio", () => {
  const spoken = {
    role: "user",
    content: [{ type: "input_audio", input_audio: { data: "AAAA", format: "wav" } }],
  };
  const asked = { modalities: ["text", "audio"], audio: { voice: "alloy", format: "wav" } };

  test("needs a price, in and out", async () => {
    await expectRefused(
      unpriced(chat),
      { messages: [spoken] },
      "messages[0].content[0]",
      "price.audio_input",
    );
    await expectRefused(unpriced(chat), asked, "modalities", "price.audio_output");
    for (const field of ["input_audio", "audio_url"]) {
      const untyped = { role: "user", content: [{ [field]: { url: "https://example.com/a.wav" } }] };
      await expectRefused(unpriced(chat), { messages: [untyped] }, "content[0]", "price.audio_input");
    }
  });

  test("is charged by its tokens", async () => {
    const usage = {
      ...chatUsage,
      prompt_tokens_details: { audio_tokens: 60 },
      completion_tokens_details: { audio_tokens: 4 },
    };
    provider.script(json({ ...wholeChat, usage }));
    expect(await microCost(chat, { ...asked, messages: [spoken] })).toBe(40 + 2_400 + 12 + 320);
  });

  test("is charged as cached input where it was read from the cache", async () => {
    const details = { audio_tokens: 60, cached_tokens: 60, cached_tokens_details: { audio_tokens: 60 } };
    provider.script(json({ ...wholeChat, usage: { ...chatUsage, prompt_tokens_details: details } }));
    expect(await microCost(chat, { ...asked, messages: [spoken] })).toBe(40 + 6 + 20);
  });
});
