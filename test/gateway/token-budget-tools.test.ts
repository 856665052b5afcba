import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { updateKey } from "../../src/admin/keys/change-key.ts";
import { systemClock } from "../../src/base/clock.ts";
import type { JsonObject } from "../../src/base/json.ts";
import { type Caller, World } from "./world.ts";

/** A token budget pays for no tool calls, so the operator decides by key whether tools that cost money are sent. */
let world: World;
let plain: Caller;
let allowed: Caller;
let credit: Caller;

const tail = `
[[models]]
id = "gpt-priced"
provider = "openai"
max_output_tokens = 100
price = { input = 1.0, output = 2.0, web_search = 10.0, tool_search = 0.0, mcp = 1.0 }

[[models]]
id = "gpt-feeless"
provider = "openai"
max_output_tokens = 100
price = { input = 1.0, output = 2.0, web_search = 10.0 }
allow = ["tools.x_search"]

[[models]]
id = "gpt-free"
provider = "openai"
max_output_tokens = 100
free = true
`;

beforeAll(async () => {
  world = await World.start({ tail });
  [plain, allowed, credit] = await Promise.all([
    world.tokenCaller(1_000_000_000),
    world.tokenCaller(1_000_000_000, { tools: true }),
    world.creditCaller(100),
  ]);
});
beforeEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

const own = { type: "function", name: "f", parameters: {} };
const search = { type: "web_search" };
const mcp = { type: "mcp", server_label: "x", server_url: "https://x.example" };

/** The tools that the provider got, and the names of those that it did not get. */
async function toolsSent(
  caller: Caller,
  tools: readonly JsonObject[],
  model = "gpt-priced",
  input?: unknown,
) {
  world.provider.reset();
  const body = { model, input: input ?? "Hello", tools };
  const response = await world.ask(caller, { path: "/v1/responses", body });
  expect(response.status, await response.text()).toBe(200);
  return [world.provider.requests[0]?.body["tools"], response.headers.get("x-sluice-dropped")] as unknown[];
}

async function refusal(caller: Caller, path: string, body: JsonObject): Promise<string> {
  world.provider.reset();
  const response = await world.ask(caller, { path, body: { model: "gpt-priced", ...body } });
  const { error } = (await response.json()) as { error: { message: string } };
  expect(response.status).toBe(400);
  expect(world.provider.requests).toEqual([]);
  return error.message;
}

describe("a tool that costs money", () => {
  test("is dropped for a token-budget key, and sent for one with --tools and for a credit key", async () => {
    const tools = [own, search];
    expect(await toolsSent(plain, tools)).toEqual([[own], "tools.web_search"]);
    expect(await toolsSent(allowed, tools)).toEqual([tools, null]);
    expect(await toolsSent(credit, tools)).toEqual([tools, null]);
  });

  test("is dropped from a body that is too large for the event loop, too", async () => {
    const input = [{ role: "user", content: "a line of text\n".repeat(100_000) }];
    expect(await toolsSent(plain, [own, search], "gpt-priced", input)).toEqual([[own], "tools.web_search"]);
    expect(await toolsSent(allowed, [own, search], "gpt-priced", input)).toEqual([[own, search], null]);
  });

  test("still needs a price with --tools", async () => {
    expect(await toolsSent(allowed, [own, search, { type: "shell" }])).toEqual([
      [own, search],
      "tools.shell",
    ]);
  });

  test("is rejected where it is needed, and the error names the key's option", async () => {
    const advice = "ask the operator to set `--tools` on this key.";
    const forced = { input: "Hello", tools: [own, search], tool_choice: search };
    expect(await refusal(plain, "/v1/responses", forced)).toEndWith(advice);
    expect(await refusal(plain, "/v1/responses", { input: "Hello", tools: [search] })).toEndWith(advice);
    const chat = { messages: [{ role: "user", content: "Hello" }], web_search_options: {} };
    const message = await refusal(plain, "/v1/chat/completions", chat);
    expect(message).toStartWith("`web_search_options` runs");
    expect(message).toEndWith(advice);
    const response = await world.ask(allowed, {
      path: "/v1/chat/completions",
      body: { model: "gpt-priced", ...chat },
    });
    expect(response.status).toBe(200);
  });

  test("follows the key while it runs", async () => {
    const caller = await world.tokenCaller(1_000_000);
    const set = async (tools: boolean) => {
      await updateKey({ store: world.running.store, clock: systemClock }, caller.key.id, { tools });
      await world.gateway.catchUp();
    };
    await set(true);
    expect(await toolsSent(caller, [own, search])).toEqual([[own, search], null]);
    await set(false);
    expect(await toolsSent(caller, [own, search])).toEqual([[own], "tools.web_search"]);
  });
});

test("a tool that costs nothing, or that the model allows, passes for every token-budget key", async () => {
  expect(await toolsSent(plain, [own, { type: "tool_search" }])).toEqual([
    [own, { type: "tool_search" }],
    null,
  ]);
  expect(await toolsSent(plain, [search], "gpt-free")).toEqual([[search], null]);
  const tools = [mcp, { type: "x_search" }];
  expect(await toolsSent(plain, tools, "gpt-feeless")).toEqual([tools, null]);
  // Where the operator charges for it, it costs money.
  expect(await toolsSent(plain, [own, mcp])).toEqual([[own], "tools.mcp"]);
});
