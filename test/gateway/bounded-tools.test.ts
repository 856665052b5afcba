import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { type Caller, World } from "./world.ts";

/** Calls of hosted tools are held for, so the provider is sent the same bound. */
let world: World;
let caller: Caller;

const price =
  "price = { input = 1.0, output = 2.0, web_search = 10.0, web_fetch = 1.0, code_interpreter = 30.0 }";
const tail = ["gpt:openai", "claude:anthropic"]
  .map((model) => model.split(":"))
  .map(
    ([id, provider]) =>
      `[[models]]\nid = "${id}-searching"\nprovider = "${provider}"\nmax_output_tokens = 100\n${price}\n`,
  )
  .join("\n");

beforeAll(async () => {
  world = await World.start({ head: '[responses]\nstate = "provider"', tail });
  caller = await world.creditCaller(100);
});
beforeEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

async function sent(path: string, body: object): Promise<Readonly<Record<string, unknown>>> {
  world.provider.reset();
  const response = await world.ask(caller, { path, body });
  expect(response.status, await response.text()).toBe(200);
  return (world.provider.requests[0]?.body ?? {}) as Record<string, unknown>;
}

function messageWith(content: string, tools: readonly object[]): object {
  return { model: "claude-searching", max_tokens: 10, messages: [{ role: "user", content }], tools };
}

/** A body with it is patched on another thread. */
const large = "Hello ".repeat(200_000);

const own = { type: "function", name: "own", parameters: {} };

test.each([
  [{ tools: [{ type: "web_search" }, own] }, 5],
  [{ tools: [{ type: "web_search" }, { type: "code_interpreter", container: { type: "auto" } }] }, 10],
  [{ tools: [{ type: "web_search" }], max_tool_calls: 3 }, 3],
  [{ tools: [{ type: "web_search" }], max_tool_calls: null }, 5],
  [{ tools: [{ type: "web_search" }], max_tool_calls: "1000" }, 5],
  [{ tools: [{ type: "web_search" }], max_tool_calls: -1 }, 5],
  [{ tools: [{ type: "web_search" }], max_tool_calls: 1_000_000 }, 1000],
  [{ tools: [{ type: "web_search", max_uses: 1 }], max_tool_calls: 3 }, 1],
  [{ tools: [own] }, undefined],
])("a response's hosted tools are bounded as they are held: %j", async (more, most) => {
  for (const input of ["Hello", large]) {
    const body = await sent("/v1/responses", { model: "gpt-searching", input, ...more });
    expect(body["max_tool_calls"]).toBe(most as number);
    expect(body["tools"]).toEqual(more.tools);
  }
});

test.each([
  ["a small one", "Hello"],
  ["one that is patched on another thread", large],
])("each hosted tool of a message that takes a bound is bounded as it is held: %s", async (_, content) => {
  const search = { type: "web_search_20250305", name: "web_search" };
  const fetching = { type: "web_fetch_20250910", name: "web_fetch", max_uses: 2 };
  const client = { name: "own", input_schema: { type: "object" } };
  const tools = [search, fetching, client, { ...fetching, max_uses: "100" }, { ...search, max_uses: 1e9 }];
  const body = await sent("/v1/messages", messageWith(content, tools));
  const bounded = { max_uses: 5 };
  expect(body["tools"]).toEqual([
    { ...search, ...bounded },
    fetching,
    client,
    { ...fetching, ...bounded },
    { ...search, max_uses: 1000 },
  ]);
  expect(body["messages"]).toEqual([{ role: "user", content }]);
});

test("a bound that Messages does not have, and that lowers the hold, is sent as the one that it has", async () => {
  const search = { type: "web_search_20250305", name: "web_search" };
  const body = await sent("/v1/messages", { ...messageWith("Hello", [search]), max_tool_calls: 1 });
  expect(body["tools"]).toEqual([{ ...search, max_uses: 1 }]);
});

test("a request with two lists of tools is rejected, because the provider could read the other one", async () => {
  const response = await fetch(`${world.running.url}/v1/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${caller.secret}` },
    body: '{"model":"gpt-searching","input":"Hello","tools":[],"tools":[{"type":"web_search"}]}',
  });
  expect(response.status).toBe(400);
});
