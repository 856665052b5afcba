import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { type Caller, World } from "./world.ts";

/** A tool that the provider would run, and that has no price, is left out and named if the model can do without it. */
let world: World;
let caller: Caller;

const tail = `
[[models]]
id = "gpt-allowed"
provider = "openai"
max_output_tokens = 100
price = { input = 1.0, output = 2.0 }
allow = ["tools.x_search", "tools.google_search"]

[[models]]
id = "gpt-searching"
provider = "openai"
max_output_tokens = 100
price = { input = 1.0, output = 2.0, web_search = 10.0 }

[[models]]
id = "gpt-tool-search"
provider = "openai"
max_output_tokens = 100
price = { input = 1.0, output = 2.0, tool_search = 0.0 }

[[models]]
id = "claude-wide"
provider = "anthropic"
max_output_tokens = 100
price = { input = 1.0, output = 2.0 }

[[models]]
id = "gpt-mixed"
max_output_tokens = 100
price = { input = 1.0, output = 2.0, web_search = 10.0 }
[[models.deployments]]
provider = "openai"
[[models.deployments]]
provider = "openai"
upstream_model = "gpt-other"
price = { input = 1.0, output = 2.0 }
`;

beforeAll(async () => {
  world = await World.start({ head: '[responses]\nstate = "provider"', tail });
  caller = await world.creditCaller(100);
});
beforeEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

const user = { role: "user", content: "Hello" };
const chat = { path: "/v1/chat/completions", body: { model: "gpt-test", messages: [user] } };
const responses = { path: "/v1/responses", body: { model: "gpt-test", input: "Hello" } };
const messages = { path: "/v1/messages", body: { model: "claude-test", messages: [user], max_tokens: 100 } };

interface Route {
  readonly path: string;
  readonly body: JsonObject;
}

const own = { type: "custom", name: "own", custom: { name: "own" }, input_schema: {} };

/** What the provider got, and what was reported to the client as dropped. */
async function sent({ path, body }: Route, changes: JsonObject) {
  world.provider.reset();
  const response = await world.ask(caller, { path, body: { ...body, ...changes } });
  expect(response.status, await response.text()).toBe(200);
  const [request] = world.provider.requests;
  return { body: request?.body ?? {}, dropped: response.headers.get("x-sluice-dropped") };
}

async function refused({ path, body }: Route, changes: JsonObject) {
  world.provider.reset();
  const response = await world.ask(caller, { path, body: { ...body, ...changes } });
  const { error } = (await response.json()) as { error: { code: string; message: string; param?: string } };
  expect([response.status, error.code]).toEqual([400, "invalid_request"]);
  expect(world.provider.requests).toEqual([]);
  await world.settled();
  return error;
}

describe("a tool without a price that is offered", () => {
  const types: readonly (readonly [Route, string])[] = [
    [responses, "web_search"],
    [responses, "web_search_preview"],
    [responses, "web_search_preview_2025_03_11"],
    [responses, "code_interpreter"],
    [responses, "file_search"],
    [responses, "computer_use_preview"],
    [responses, "image_generation"],
    [responses, "shell"],
    [responses, "tool_search"],
    [responses, "programmatic_tool_calling"],
    [responses, "Web_Search"],
    [messages, "web_search_20250305"],
    [messages, "web_fetch_20250910"],
    [messages, "code_execution_20250825"],
    [messages, "tool_search_tool_regex_20251119"],
    [chat, "web_search"],
    [chat, "openrouter:web_search"],
    [chat, "builtin_function"],
  ];
  for (const [route, type] of types) {
    test(`is left out and named: ${type} on ${route.path}`, async () => {
      const { body, dropped } = await sent(route, { tools: [own, { type }] });
      expect(body["tools"]).toEqual([own]);
      expect(dropped).toBe(`tools.${type}`);
    });
  }

  test("is refused if no other tool is left, and the error names the prices to add", async () => {
    for (const route of [chat, responses]) {
      for (const tool_choice of ["auto", null]) {
        const tools = [{ type: "web_search" }, { type: "code_interpreter" }, { type: "x_search" }];
        const { message, param } = await refused(route, { tools, tool_choice });
        expect(param).toBe("tools");
        expect(message).toContain('"web_search", "code_interpreter", "x_search"');
        expect(message).toEndWith(
          'set `price.web_search` and `price.code_interpreter` and `allow = ["tools.x_search"]`.',
        );
      }
    }
    const search = { type: "web_search_20250305", name: "web_search" };
    expect((await refused(messages, { tools: [search] })).message).toEndWith("set `price.web_search`.");
    const late = { type: "additional_tools", role: "developer", tools: [{ type: "web_search" }] };
    expect((await refused(responses, { input: [late] })).param).toBe("tools");
  });

  test("is not MCP, which has no fee at its vendors", async () => {
    const mcp = { type: "mcp", server_label: "x", server_url: "https://x.example" };
    expect(await sent(responses, { tools: [mcp] })).toMatchObject({ body: { tools: [mcp] }, dropped: null });
    const servers = { mcp_servers: [{ type: "url", url: "https://x.example", name: "x" }] };
    const tools = [{ type: "mcp_toolset", mcp_server_name: "x" }];
    expect(await sent(messages, { ...servers, tools })).toMatchObject({
      body: { ...servers, tools },
      dropped: null,
    });
  });

  test("takes along what the model would only find by it", async () => {
    const weather = { name: "weather", input_schema: { type: "object" } };
    const toolset = { type: "mcp_toolset", mcp_server_name: "x" };
    const configs = { a: { enabled: true }, b: {} };
    const deferred = [
      { type: "tool_search_tool_regex_20251119", name: "tool_search" },
      { ...weather, defer_loading: true },
      { ...own, defer_loading: false },
      {
        ...toolset,
        default_config: { defer_loading: true },
        configs: { a: { enabled: true, defer_loading: true }, b: { defer_loading: true } },
      },
    ];
    expect(await sent(messages, { tools: deferred })).toMatchObject({
      body: {
        tools: [weather, { ...own, defer_loading: false }, { ...toolset, default_config: {}, configs }],
      },
      dropped: "tools.tool_search_tool_regex_20251119, tools.defer_loading",
    });
    const namespace = { type: "namespace", name: "n", tools: [{ ...own, defer_loading: true }] };
    expect(await sent(responses, { tools: [{ type: "tool_search" }, namespace] })).toMatchObject({
      body: { tools: [{ ...namespace, tools: [own] }] },
      dropped: "tools.tool_search, tools.defer_loading",
    });
  });

  test("leaves alone what another tool still needs", async () => {
    const deferred = { ...own, defer_loading: true };
    const searching = { ...responses, body: { ...responses.body, model: "gpt-tool-search" } };
    const tools = [{ type: "tool_search" }, deferred];
    expect(await sent(searching, { tools: [...tools, { type: "web_search" }] })).toMatchObject({
      body: { tools },
      dropped: "tools.web_search",
    });
    // The client searches by itself.
    expect(await sent(messages, { tools: [deferred, { type: "web_search_20250305" }] })).toMatchObject({
      body: { tools: [deferred] },
      dropped: "tools.web_search_20250305",
    });
  });

  test("takes along what only its code can call, and the skills that it runs", async () => {
    const code = { type: "code_execution_20250825", name: "code_execution" };
    const called = { ...own, allowed_callers: ["code_execution_20250825"] };
    const direct = { ...own, allowed_callers: ["direct"] };
    const skills = [{ type: "anthropic", skill_id: "pptx", version: "latest" }];
    const names = "tools.code_execution_20250825, tools.allowed_callers, container.skills";
    const { body, dropped } = await sent(messages, { tools: [code, called, direct], container: { skills } });
    expect([body["tools"], body["container"], dropped]).toEqual([[own, direct], undefined, names]);
    const reused = await sent(messages, { tools: [code, own], container: { skills, other: 1 } });
    expect(reused.body["container"]).toEqual({ other: 1 });
    const programmatic = { type: "programmatic_tool_calling" };
    const calling = { ...own, allowed_callers: ["direct", "programmatic"] };
    expect(await sent(responses, { tools: [programmatic, calling] })).toMatchObject({
      body: { tools: [own] },
      dropped: "tools.programmatic_tool_calling, tools.allowed_callers",
    });
  });

  test("takes the same along in a body that is too large for the event loop", async () => {
    const properties = Object.fromEntries(Array.from({ length: 3000 }, (_, n) => [`name${n}`, {}]));
    const plain = { ...own, input_schema: { type: "object", properties } };
    const large = { ...user, content: "a line of text\n".repeat(100_000) };
    const code = { type: "code_execution_20250825", name: "code_execution" };
    const container = { skills: [{ type: "anthropic", skill_id: "pptx" }] };
    const tools = [plain, code, { ...plain, allowed_callers: ["code_execution_20250825"] }];
    const { body, dropped } = await sent(messages, {
      model: "claude-wide",
      messages: [large],
      tools,
      container,
    });
    expect(dropped).toBe("tools.code_execution_20250825, tools.allowed_callers, container.skills");
    expect([body["tools"], body["container"]]).toEqual([[plain, plain], undefined]);
  });

  test("is left out wherever it stands, and no other byte is changed", async () => {
    const namespace = { type: "namespace", name: "n", tools: [own, { type: "image_generation" }] };
    const emptied = { type: "namespace", name: "m", tools: [{ type: "web_search" }] };
    const tools = [{ type: "web_search" }, own, namespace, emptied];
    const late = { type: "additional_tools", role: "developer", tools };
    const input = `[${JSON.stringify(late)}, {"role":"user", "content":"x", "n":1.0}]`;
    const text = `{"model":"gpt-test", "input":${input},"temperature":1.0}`;
    const response = await fetch(`${world.running.url}/v1/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${caller.secret}` },
      body: text,
    });
    expect(response.headers.get("x-sluice-dropped")).toBe("tools.web_search, tools.image_generation");
    const kept = { ...late, tools: [own, { ...namespace, tools: [own] }] };
    expect(world.provider.requests[0]?.text).toBe(
      text.replace(JSON.stringify(late), JSON.stringify(kept)).replace("gpt-test", "gpt-upstream"),
    );
  });

  test("is left out of a body that is too large for the event loop", async () => {
    const input = [{ role: "user", content: "a line of text\n".repeat(100_000) }];
    const large = { ...responses, body: { model: "gpt-allowed" } };
    const { body, dropped } = await sent(large, { input, tools: [own, { type: "web_search" }] });
    expect(body).toEqual({ model: "gpt-allowed", input, tools: [own] });
    expect(dropped).toBe("tools.web_search");
  });

  test("may be one that has no type, or stands beside a function in the same object", async () => {
    const plain = { type: "function", function: { name: "f", parameters: {} } };
    expect(await sent(chat, { tools: [plain, { google_search: {} }] })).toEqual({
      body: { ...chat.body, model: "gpt-upstream", tools: [plain] },
      dropped: "tools.google_search",
    });
    const both = { ...plain, google_search: {}, codeExecution: true, retrieval: [1], note: "x", off: false };
    expect(await sent(chat, { tools: [both] })).toEqual({
      body: { ...chat.body, model: "gpt-upstream", tools: [{ ...plain, note: "x", off: false }] },
      dropped: "tools.google_search, tools.codeExecution, tools.retrieval",
    });
    const untyped = await sent(responses, { tools: [own, { type: ["web_search"] }] });
    expect(untyped.body["tools"]).toEqual([own]);
    const { body } = await sent(chat, { tools: [{ function: { name: "f" } }, {}] });
    expect(body["tools"]).toEqual([{ function: { name: "f" } }, {}]);
    // An empty type says as little as none.
    const empty = {
      tools: [
        { type: "", function: { name: "f" } },
        { type: "", google_search: {} },
      ],
    };
    expect(await sent(chat, empty)).toMatchObject({
      body: { tools: empty.tools.slice(0, 1) },
      dropped: "tools.google_search",
    });
    const named = { tools: [{ name: "f", input_schema: { type: "object" } }] };
    expect(await sent(messages, named)).toMatchObject({ body: named, dropped: null });
  });

  test("is sent where it has a price, or where the operator allows it", async () => {
    const tools = [own, { type: "x_search" }, { type: "web_search" }];
    const at = (model: string) => sent({ ...responses, body: { ...responses.body, model } }, { tools });
    expect(await at("gpt-allowed")).toMatchObject({
      dropped: "tools.web_search",
      body: { tools: tools.slice(0, 2) },
    });
    expect(await at("gpt-searching")).toMatchObject({
      dropped: "tools.x_search",
      body: { tools: [own, tools[2]] },
    });
  });

  test("is left out if a deployment that may answer has no price for it", async () => {
    const mixed = { ...responses, body: { ...responses.body, model: "gpt-mixed" } };
    expect((await sent(mixed, { tools: [own, { type: "web_search" }] })).dropped).toBe("tools.web_search");
  });

  test("is charged for nothing, and held for nothing", async () => {
    const before = await world.chargesOf(caller);
    await sent(responses, { tools: [own, { type: "web_search" }] });
    await sent(responses, { tools: [own] });
    const [offered, plain] = (await world.chargesOf(caller)).slice(before.length);
    expect(offered).toEqual(plain as never);
  });

  test("replays under its idempotency key like any other", async () => {
    const headers = { "idempotency-key": "offered" };
    const body = { ...responses.body, tools: [own, { type: "web_search" }] };
    const first = await world.ask(caller, { path: responses.path, body, headers });
    const second = await world.ask(caller, { path: responses.path, body, headers });
    expect(second.headers.get("idempotent-replayed")).toBe("true");
    expect(await second.text()).toBe(await first.text());
    expect(world.provider.requests.length).toBe(1);
  });
});

describe("a tool without a price that is forced", () => {
  const search = { type: "web_search" };
  const claudes = { type: "web_search_20250305", name: "web_search" };
  const cases: readonly (readonly [Route, JsonObject])[] = [
    [responses, { tools: [own, search], tool_choice: { type: "web_search" } }],
    [responses, { tools: [own, search], tool_choice: { type: "web_search_preview" } }],
    [responses, { tools: [own, { type: "shell" }], tool_choice: { type: "shell" } }],
    [responses, { tools: [search], tool_choice: "required" }],
    [
      responses,
      { tools: [own, search], tool_choice: { type: "allowed_tools", mode: "auto", tools: [search] } },
    ],
    [chat, { tools: [search], tool_choice: "required" }],
    [
      chat,
      { tools: [own, search], tool_choice: { type: "allowed_tools", allowed_tools: { tools: [search] } } },
    ],
    [messages, { tools: [own, claudes], tool_choice: { type: "tool", name: "web_search" } }],
    [messages, { tools: [claudes], tool_choice: { type: "any" } }],
  ];
  for (const [route, changes] of cases) {
    test(`is refused: ${JSON.stringify(changes["tool_choice"])} on ${route.path}`, async () => {
      const { message } = await refused(route, changes);
      expect(message).toContain("tool_choice");
      expect(message).toContain(
        JSON.stringify(changes["tool_choice"]).includes("shell") ? "price.shell" : "price.web_search",
      );
    });
  }

  test("is none where another can be chosen", async () => {
    const choice = { type: "allowed_tools", mode: "auto", tools: [{ type: "custom", name: "own" }, search] };
    const { body } = await sent(responses, { tools: [own, search, { type: "shell" }], tool_choice: choice });
    expect(body["tool_choice"]).toEqual({ ...choice, tools: choice.tools.slice(0, 1) });
    const other = { type: "tool", name: "own" };
    const forced = await sent(messages, { tools: [own, claudes], tool_choice: other });
    expect(forced).toMatchObject({
      body: { tool_choice: other, tools: [own] },
      dropped: `tools.${claudes.type}`,
    });
    for (const tool_choice of ["required", "auto", "none"]) {
      expect((await sent(responses, { tools: [own, search], tool_choice })).body["tool_choice"]).toBe(
        tool_choice,
      );
    }
  });

  test("is one that a message defines, too, which would be left without it", async () => {
    const tool = { type: "tool_definition", definition: claudes };
    const added = { role: "user", content: [{ type: "tool_addition", tool }] };
    const { message } = await refused(messages, { messages: [user, added] });
    expect(message).toContain("messages[1].content[0].tool.definition.type");
    expect(message).toContain("price.web_search");
  });
});
