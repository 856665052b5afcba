import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Json, JsonObject } from "../../src/base/json.ts";
import { billedFields } from "../../src/dialects/names/billed-fields.ts";
import { json } from "../support/answers.ts";
import { fixture } from "../support/fixtures.ts";
import { type Caller, World } from "./world.ts";

/** Fields that change what a call costs, or who answers it, pass with a price or with the operator's word. */
let world: World;
let caller: Caller;

/** What the documentation says of a field that turns on this tool, or none. */
function passesIf(tool: string | undefined): string {
  if (tool === undefined) return "allows it";
  return tool === "mcp" ? "| always |" : `price.${tool}`;
}

/** MCP has no fee at its vendors. */
const costly = billedFields.filter(({ tool }) => tool !== "mcp");

const allowed = billedFields.map(({ name }) => `"${name}"`).join(", ");

const tail = `
[providers.any]
kind = "openai-compatible"
base_url = "PROVIDER_URL/any/v1"
dialects = ["chat", "responses"]

[[models]]
id = "any-chat"
provider = "any"
max_output_tokens = 100
price = { input = 1.0, output = 2.0 }

[[models]]
id = "gpt-allowed"
provider = "any"
max_output_tokens = 100
price = { input = 1.0, output = 2.0 }
allow = [${allowed}, "google.cached_content", "modalities"]

[[models]]
id = "gpt-window"
provider = "any"
context_window = 1000
max_output_tokens = 100
price = { input = 1.0, output = 2.0 }
allow = ["multi_agent", "prompt_id", "route"]

[[models]]
id = "gpt-priced"
provider = "any"
max_output_tokens = 100
price = { input = 1.0, output = 2.0, web_search = 10.0, code_interpreter = 30.0, mcp = 1.0 }

[[models]]
id = "gpt-free"
provider = "any"
max_output_tokens = 100
free = true

[[models]]
id = "local-chat"
provider = "local"
price = { input = 1.0, output = 2.0 }
`;

beforeAll(async () => {
  world = await World.start({ tail });
  caller = await world.creditCaller(100);
});
beforeEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

const user = { role: "user", content: "Hello" };
const answer = JSON.parse(fixture("chat/text.json")) as JsonObject;

/** The status, and what the error names; what the provider was sent is in `world.provider`. */
async function outcome(model: string, changes: JsonObject, path = "/v1/chat/completions"): Promise<string> {
  world.provider.reset();
  const conversation: JsonObject = path.endsWith("/responses") ? { input: "Hello" } : { messages: [user] };
  const response = await world.ask(caller, { path, body: { model, ...conversation, ...changes } });
  const text = await response.text();
  const isSent = world.provider.requests.length > 0;
  expect(isSent).toBe(response.status === 200);
  if (response.status === 200) return "passes";
  const { error } = JSON.parse(text) as { error: { code: string; message: string; param?: string } };
  return `${response.status} ${error.param ?? ""}`;
}

/** What a client would send to ask for it. */
function asking(name: string): Json {
  if (name === "prompt") return { id: "pmpt_1" };
  if (name.startsWith("enable_") || name.startsWith("force_")) return true;
  return name.endsWith("_id") || name === "route" ? "x" : [{ id: "x" }];
}

/** Values that turn some fields off. A lenient provider ignores them where the field cannot be turned off. */
const switches = [
  ["enabled", false],
  ["enable", false],
  ["mode", "off"],
  ["type", "disabled"],
] as const;

describe("a field that may cost something", () => {
  for (const { name, effect, tool, off } of costly) {
    const value = asking(name);
    const isTemplate = effect === "template";
    const refusal = isTemplate ? `404 ${name === "prompt" ? "prompt.id" : name}` : `400 ${name}`;

    test(`is refused without a price and passes when allowed: ${name}`, async () => {
      for (const model of ["any-chat", "local-chat"]) {
        expect(await outcome(model, { [name]: value })).toBe(refusal);
        const empty = effect === "tool" || effect === "agents" ? [] : [{}];
        const turnedOff = off === undefined ? [] : [{ order: ["x"], [off[0]]: off[1] }];
        for (const nothing of [null, false, "", [], ...turnedOff, ...empty]) {
          if (name === "prompt" && nothing === "") continue;
          expect(await outcome(model, { [name]: nothing })).toBe("passes");
        }
        for (const [member, said] of switches) {
          if (member === off?.[0]) continue;
          expect(await outcome(model, { [name]: { order: ["x"], [member]: said } })).toBe(refusal);
        }
      }
      expect(await outcome("gpt-allowed", { [name]: value })).toBe("passes");
      expect(world.provider.requests[0]?.body[name]).toEqual(value);
      expect(await outcome("gpt-priced", { [name]: value })).toBe(tool === undefined ? refusal : "passes");
      const isFree = effect !== "routing" && effect !== "data" && !isTemplate;
      expect(await outcome("gpt-free", { [name]: value })).toBe(isFree ? "passes" : refusal);
    });

    test(`does not pass in extra_body, nor in another spelling: ${name}`, async () => {
      expect(await outcome("any-chat", { extra_body: { [name]: value } })).toBe(`400 extra_body.${name}`);
      const camel = name.replaceAll(/[_-]+(\w)/g, (_, letter: string) => letter.toUpperCase());
      const upper = name.toUpperCase();
      for (const spelled of new Set([camel, upper])) {
        if (spelled !== name) expect(await outcome("any-chat", { [spelled]: value })).toStartWith("40");
        if (spelled !== name)
          expect(await outcome("any-chat", { extra_body: { [spelled]: value } })).toStartWith("40");
      }
    });
  }

  test("does not pass within options that nobody knows", async () => {
    for (const [options, path] of [
      [{ vendor_options: { enable_search: true } }, "vendor_options.enable_search"],
      [{ extra_body: { dashscope: { enable_search: true } } }, "extra_body.dashscope.enable_search"],
      [{ x: [{ y: { cachedContent: "c" } }] }, "x[0].y.cachedContent"],
      [{ reasoning: { plugins: [{ id: "web" }] } }, "reasoning.plugins"],
      [{ thinking: { search_parameters: {} } }, "thinking.search_parameters"],
    ] as const) {
      expect(await outcome("local-chat", options as unknown as JsonObject)).toBe(`400 ${path}`);
    }
  });

  test("is refused among Google's own options, unless it is known to cost nothing", async () => {
    const thinking = { thinking_config: { include_thoughts: true }, thoughtTagMarker: "t" };
    for (const wrap of [
      (google: JsonObject): JsonObject => ({ google }),
      (google: JsonObject): JsonObject => ({ extra_body: { google } }),
    ]) {
      const at = "extra_body" in wrap({}) ? "extra_body.google" : "google";
      expect(await outcome("local-chat", wrap(thinking))).toBe("passes");
      expect(await outcome("local-chat", wrap({ cached_content: "cachedContents/1" }))).toBe(
        `400 ${at}.cached_content`,
      );
      expect(await outcome("local-chat", wrap({ ...thinking, something_new: {} }))).toBe(
        `400 ${at}.something_new`,
      );
      expect(await outcome("gpt-allowed", wrap({ cached_content: "cachedContents/1" }))).toBe("passes");
    }
  });

  test("is found in a body that is too large for the event loop", async () => {
    const messages = [{ role: "user", content: "a line of text\n".repeat(100_000) }];
    expect(await outcome("local-chat", { messages, route: "fallback" })).toBe("400 route");
    expect(await outcome("local-chat", { messages, x: { plugins: ["y"] } })).toBe("400 x.plugins");
  });

  test("is the caller's own word in what the caller defines", async () => {
    const words = { provider: "x", models: ["y"], route: "z", enable_search: true, prompt: { id: "p" } };
    const parameters = { type: "object", properties: words };
    for (const changes of [
      { metadata: words },
      { tools: [{ type: "function", function: { name: "f", parameters } }] },
      { response_format: { type: "json_schema", json_schema: { name: "s", schema: parameters } } },
      { messages: [{ ...user, provider: "x", models: ["y"] }] },
      ...[
        ...["models", "provider", "route", "preset", "guardrails", "prompt", "web_search", "caching"],
        ...["context_id", "agent_id", "assistant_id", "connectors"],
      ].map((word) => ({ chat_template_kwargs: { [word]: { id: "x" } } })),
      { documents: [words] },
      { prompt: "The text of a completion" },
    ] as JsonObject[]) {
      expect(await outcome("any-chat", changes)).toBe("passes");
    }
  });

  test("is left out where the request is translated, and named", async () => {
    const body = { model: "claude-test", messages: [user], provider: { order: ["x"] }, route: "fallback" };
    const response = await world.ask(caller, { path: "/v1/chat/completions", body });
    expect(response.status).toBe(200);
    expect(response.headers.get("x-sluice-dropped")).toBe("provider, route");
  });

  test("passes elsewhere: a field that nobody knows", async () => {
    const unknown = { seed: 1, top_a: 0.5, guided_json: { type: "object" }, x_new: { a: [1] } };
    expect(await outcome("local-chat", unknown)).toBe("passes");
    expect(world.provider.requests[0]?.body).toMatchObject(unknown);
  });
});

test("a field that turns a tool on is held and charged for as that tool", async () => {
  const before = (await world.chargesOf(caller)).length;
  expect(await outcome("gpt-priced", { web_search_options: {} })).toBe("passes");
  expect(await outcome("gpt-priced", {})).toBe("passes");
  const [searched, plain] = (await world.chargesOf(caller)).slice(before);
  expect((plain?.amount ?? 0) - (searched?.amount ?? 0)).toBe(10_000_000);
  const poor = await world.creditCaller(0.02);
  const body = { model: "gpt-priced", messages: [user], enable_code_interpreter: true };
  expect((await world.ask(poor, { path: "/v1/chat/completions", body })).status).toBe(402);
});

test("what has the provider run the model more than once may use more than its window, and what only chooses who runs it may not", async () => {
  const usage = { prompt_tokens: 5000, completion_tokens: 10, total_tokens: 5010 };
  const charged = async (fields: JsonObject) => {
    const before = (await world.chargesOf(caller)).length;
    world.provider.script(json({ ...answer, usage }));
    const body = { model: "gpt-window", messages: [user], ...fields };
    expect((await world.ask(caller, { path: "/v1/chat/completions", body })).status).toBe(200);
    return -((await world.chargesOf(caller))[before]?.amount ?? 0);
  };
  expect(await charged({ multi_agent: { enabled: true } })).toBe(5_020_000);
  expect(await charged({ prompt_id: "x" })).toBe(5_020_000);
  expect(await charged({ route: "fallback" })).toBeLessThan(1_000_000);
});

test("a refusal names the price that is missing, or how it is allowed", async () => {
  for (const { name, tool, effect } of costly) {
    const body = { model: "any-chat", messages: [user], [name]: asking(name) };
    const text = await (await world.ask(caller, { path: "/v1/chat/completions", body })).text();
    if (tool !== undefined) expect(text).toContain(`price.${tool}`);
    else if (effect === "tool") expect(text).toContain("has no price for");
    expect(JSON.parse(text).error.message).toContain(`allow = ["${name}"]`);
  }
});

test("several agents pass where the operator allows them, and a model's template where it is allowed", async () => {
  const path = "/v1/responses";
  for (const fields of [
    { multi_agent: { enabled: true } },
    { prompt: { id: "pmpt_1", version: "2" } },
  ] as const) {
    expect(await outcome("any-chat", fields, path)).toStartWith("40");
    expect(await outcome("gpt-allowed", fields, path)).toBe("passes");
  }
});

test("docs/reference/billable-features.md has every field", async () => {
  const docs = await Bun.file(new URL("../../docs/reference/billable-features.md", import.meta.url)).text();
  const section = docs.split("\n## ").find((part) => part.startsWith("Fields that decide")) ?? "";
  for (const { name, tool } of billedFields) {
    const row = section.split("\n").find((line) => line.startsWith("| ") && line.includes(`\`${name}\``));
    expect(row ?? "", name).toContain(passesIf(tool));
  }
});
