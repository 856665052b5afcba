import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import type { BodyDialectName } from "../support/body-dialects.ts";
import { heldInput } from "../support/estimated.ts";
import { readStream } from "../support/sse.ts";
import { hello, paths, streamAnswer, usageOf, wholeAnswer } from "./wire-answers.ts";
import { World } from "./world.ts";

/** Requests for which a provider runs the model several times, and reports the sum. */

const price =
  "{ input = 1.0, output = 2.0, cached_input = 0.1, cache_write = 1.25, web_search = 10.0, web_fetch = 10.0 }";

const models = ["openai", "anthropic"].map(
  (provider) => `
[[models]]
id = "${provider}-rounds"
provider = "${provider}"
context_window = 200000
max_output_tokens = 1000
price = ${price}

[[models]]
id = "${provider}-agents"
provider = "${provider}"
context_window = 200000
max_output_tokens = 1000
price = ${price}
allow = ["multi_agent"]

[[models]]
id = "${provider}-free"
provider = "${provider}"
context_window = 200000
max_output_tokens = 1000
free = true
`,
);

let world: World;
beforeAll(async () => {
  world = await World.start({ tail: models.join("") });
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

const nano = (input: number, output: number) => input * 1_000 + output * 2_000;
const limits = { chat: "max_tokens", responses: "max_output_tokens", messages: "max_tokens" } as const;
const modelOf = (client: BodyDialectName) => (client === "messages" ? "anthropic-rounds" : "openai-rounds");

function bodyOf(client: BodyDialectName, more: JsonObject): JsonObject {
  return hello(client, modelOf(client), { [limits[client]]: 1000, ...more }) as JsonObject;
}

/** What is charged for a request whose answer reports these figures. */
async function charged(client: BodyDialectName, more: JsonObject, input: number, output: number) {
  const caller = await world.creditCaller(2000);
  const said = { text: "Hi", usage: usageOf(client, input, output) };
  const stream = more["stream"] === true;
  world.provider.script(stream ? streamAnswer(client, said) : wholeAnswer(client, said));
  const response = await world.ask(caller, { path: paths[client], body: bodyOf(client, more) });
  expect(response.status).toBe(200);
  expect((await readStream(response)).failure).toBeNull();
  return world.chargesOf(caller);
}

const measured = (amount: number) => [
  { amount: -amount, basis: "measured" as const, outcome: "completed" as const },
];

const rounds: readonly (readonly [string, BodyDialectName, JsonObject])[] = [
  ["a search", "responses", { tools: [{ type: "web_search" }] }],
  ["a search", "messages", { tools: [{ type: "web_search_20250305", name: "web_search" }] }],
  ["a search beside the tools", "chat", { tools: [{ type: "web_search" }] }],
  ["compaction", "responses", { context_management: [{ type: "compaction", compact_threshold: 1000 }] }],
  ["compaction", "messages", { context_management: { edits: [{ type: "compact_20260112" }] } }],
  ["compaction on demand", "messages", { compaction: { type: "summarize" } }],
];

describe.each(rounds)("with %s on %s", (_, client, asked) => {
  for (const stream of [false, true]) {
    test(`sums above the window are believed${stream ? ", in a stream" : ""}`, async () => {
      const more = { ...asked, ...(stream ? { stream: true } : {}) };
      expect(await charged(client, more, 450_000, 10)).toEqual(measured(nano(450_000, 10)));
      expect(await charged(client, more, 10, 250_000)).toEqual(measured(nano(10, 250_000)));
      expect(await charged(client, more, 1_000_000_000, 10)).toEqual(measured(nano(1_000_000_000, 10)));
    });
  }

  test("but not what nothing in the world can have used", async () => {
    const [charge] = await charged(client, asked, 1_000_000_001, 10);
    const held = heldInput(bodyOf(client, asked));
    expect(charge).toEqual({ amount: -nano(held, 10), basis: "estimated", outcome: "completed" });
  });
});

const single: readonly (readonly [BodyDialectName, JsonObject])[] = [
  ["chat", {}],
  ["chat", { tools: [{ type: "function", function: { name: "f" } }] }],
  ["responses", { tools: [{ type: "function", name: "f", parameters: {} }] }],
  ["responses", { multi_agent: { enabled: false } }],
  ["responses", { multi_agent: false, context_management: null }],
  ["responses", { context_management: [] }],
  ["messages", { context_management: { edits: [{ type: "clear_tool_uses_20250919" }] } }],
  ["messages", { compaction: null, service_tier: "auto" }],
];

test.each(single)("one round of %s with %j is not believed above the window", async (client, more) => {
  const held = heldInput(bodyOf(client, more));
  const [charge] = await charged(client, more, 450_000, 10);
  expect(charge).toEqual({ amount: -nano(held, 10), basis: "estimated", outcome: "completed" });
  expect(await charged(client, more, 200_000, 10)).toEqual(measured(nano(200_000, 10)));
});

const leftOut: readonly (readonly [string, JsonObject])[] = [
  ["compaction", { context_management: { edits: [{ type: "compact_20260112" }] } }],
  ["a fetch", { tools: [{ type: "web_fetch_20250910", name: "web_fetch" }] }],
];

test.each(leftOut)(
  "%s is held for, but not where it is left out of a translated request",
  async (_, asked) => {
    const held = (model: string, more: JsonObject) =>
      world.heldFor({ path: paths.messages, body: { ...bodyOf("messages", more), model } });
    expect(await held("anthropic-rounds", asked)).toBeGreaterThan(1.9 * (await held("anthropic-rounds", {})));
    expect(await held("openai-rounds", asked)).toBeLessThan(1.5 * (await held("openai-rounds", {})));
  },
);

test("what is not believed is charged as what costs most of it, up to what was held for", async () => {
  const input = heldInput(bodyOf("messages", {}));
  const cases: readonly (readonly [JsonObject, number])[] = [
    [{ cache_creation_input_tokens: 300_000 }, input * 1_250],
    [{ input_tokens: 300_000, cache_creation_input_tokens: 4 }, 4 * 1_250 + (input - 4) * 1_000],
    [{ input_tokens: 4, cache_read_input_tokens: 300_000 }, 4 * 1_000 + (input - 4) * 100],
  ];
  for (const [figures, amount] of cases) {
    const caller = await world.creditCaller();
    const usage = { input_tokens: 0, output_tokens: 10, ...figures };
    world.provider.script(wholeAnswer("messages", { text: "Hi", usage }));
    const response = await world.ask(caller, { path: paths.messages, body: bodyOf("messages", {}) });
    expect(response.status).toBe(200);
    const [charge] = await world.chargesOf(caller);
    expect(charge?.amount).toBe(-amount - 20_000);
  }
});

describe("several agents", () => {
  const ask = async (more: JsonObject) => {
    const body = { ...bodyOf("responses", { multi_agent: { enabled: true } }), ...more };
    return world.ask(await world.creditCaller(), { path: paths.responses, body });
  };

  test.each([true, {}, { enabled: true }, { enabled: "yes" }, "on", 1])(
    "asked for by %j are refused: their hold would cover one",
    async (multi_agent) => {
      const response = await ask({ multi_agent });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { param: "multi_agent" } });
      expect(world.provider.requests).toEqual([]);
    },
  );

  test("are refused under a name that some would read so", async () => {
    const response = await ask({ multi_agent: null, Multi_Agent: {} });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param: "Multi_Agent" } });
  });

  test("that the operator allows are believed above the window", async () => {
    const caller = await world.creditCaller(100);
    const said = { text: "Hi", usage: usageOf("responses", 1_000_000, 10) };
    world.provider.script(wholeAnswer("responses", said));
    const body = { ...bodyOf("responses", { multi_agent: { enabled: true } }), model: "openai-agents" };
    expect((await world.ask(caller, { path: paths.responses, body })).status).toBe(200);
    expect(await world.chargesOf(caller)).toEqual(measured(nano(1_000_000, 10)));
  });

  test("pass where nothing costs, and where they are left out of a translated request", async () => {
    for (const model of ["openai-free", "anthropic-rounds"]) {
      const dialect = model === "openai-free" ? "responses" : "messages";
      world.provider.script(wholeAnswer(dialect, { text: "Hi", usage: usageOf(dialect, 10, 5) }));
      const response = await ask({ model });
      expect(response.status, await response.text()).toBe(200);
    }
    expect(world.provider.requests.map(({ body }) => "multi_agent" in body)).toEqual([true, false]);
  });
});
