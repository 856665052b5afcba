import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { createKey } from "../../src/admin/keys/create-key.ts";
import { systemClock } from "../../src/base/clock.ts";
import type { JsonObject } from "../../src/base/json.ts";
import { costNano, readRates } from "../../src/base/money/rates.ts";
import { json } from "../support/answers.ts";
import { heldInput } from "../support/estimated.ts";
import { readStream } from "../support/sse.ts";
import { streamAnswer, wholeAnswer } from "./wire-answers.ts";
import { World } from "./world.ts";

/** Anthropic's advisor is a second model that the provider runs and bills in addition to the requested one. */

const model = (id: string, upstream: string, more: string, provider = "anthropic") => `
[[models]]
id = "${id}"
provider = "${provider}"
upstream_model = "${upstream}"
context_window = 200000
${more}
`;

const tail = [
  model("worker", "claude-worker", "max_output_tokens = 1000\nprice = { input = 1.0, output = 2.0 }"),
  model("sage", "claude-sage-9", "max_output_tokens = 400\nprice = { input = 10.0, output = 50.0 }"),
  model("gift", "claude-gift", "free = true"),
  model("unpriced", "claude-unpriced", ""),
  model("dear", "claude-dear", "price = { input = 1000000.0, output = 1000000.0 }"),
  `
[providers.other]
kind = "openai-compatible"
base_url = "PROVIDER_URL/other/v1"
dialects = ["messages"]

[[models]]
id = "anywhere"
price = { input = 1.0, output = 2.0 }
max_output_tokens = 1000
deployments = [{ provider = "anthropic" }, { provider = "other" }]

[[models]]
id = "sold-twice"
max_output_tokens = 400
price = { input = 10.0, output = 50.0 }
deployments = [{ provider = "anthropic" }, { provider = "other", price = { input = 20.0, output = 60.0 } }]
`,
  model("elsewhere", "sage-of-theirs", "price = { input = 100.0, output = 100.0 }", "openai"),
].join("");

let world: World;
beforeAll(async () => {
  world = await World.start({ tail });
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

const messages = [{ role: "user", content: "Hello" }];
const tool = (name: unknown, more: JsonObject = {}): JsonObject => ({
  ...{ type: "advisor_20260301", name: "advisor", model: name as string, ...more },
});
const bodyOf = (...tools: JsonObject[]): JsonObject => ({
  model: "worker",
  max_tokens: 1000,
  messages,
  tools,
});
const path = "/v1/messages";

const iteration = (name: string, input: number, output: number) => ({
  ...{ type: "advisor_message", model: name, input_tokens: input, output_tokens: output },
});
const usageOf = (...iterations: JsonObject[]) => ({
  input_tokens: 100,
  output_tokens: 10,
  iterations: [{ type: "message", input_tokens: 100, output_tokens: 10 }, ...iterations],
});

async function microCost(body: JsonObject, usage: JsonObject): Promise<number> {
  const caller = await world.creditCaller(100);
  const said = { text: "Hi", firstUsage: { input_tokens: 100, output_tokens: 1 }, usage };
  const answer = body["stream"] === true ? streamAnswer("messages", said) : wholeAnswer("messages", said);
  world.provider.script(answer);
  const response = await world.ask(caller, { path, body });
  expect(response.status).toBe(200);
  expect((await readStream(response)).failure).toBeNull();
  const charges = await world.chargesOf(caller);
  expect(charges.map(({ basis }) => basis)).toEqual(["measured"]);
  return -(charges[0]?.amount ?? 0) / 1000;
}

describe("an advisor", () => {
  for (const stream of [false, true]) {
    test(`costs the price of the model that the provider names${stream ? ", in a stream" : ""}`, async () => {
      const body = { ...bodyOf(tool("claude-sage-9")), ...(stream ? { stream: true } : {}) };
      expect(await microCost(body, usageOf())).toBe(120);
      const once = usageOf(iteration("claude-sage-9", 800, 30));
      expect(await microCost(body, once)).toBe(120 + 8_000 + 1_500);
      const twice = usageOf(iteration("claude-sage-9", 800, 30), iteration("claude-sage-9", 190_000, 70));
      expect(await microCost(body, twice)).toBe(120 + 1_908_000 + 5_000);
      expect(world.observed.at(-1)?.usage).toMatchObject({ inputTokens: 190_900, outputTokens: 110 });
    });
  }

  test("is told apart in what the ledger keeps of the charge, which explains it", async () => {
    const caller = await world.creditCaller();
    const usage = usageOf(iteration("claude-sage-9", 800, 30), { type: "compaction", input_tokens: 7 });
    world.provider.script(wholeAnswer("messages", { text: "Hi", usage: { ...usage } }));
    expect((await world.ask(caller, { path, body: bodyOf(tool("claude-sage-9")) })).status).toBe(200);
    await world.settled();
    const entries = await world.running.store.listEntries({ afterId: 0, limit: 9, keyId: caller.key.id });
    const charge = entries.find(({ kind }) => kind === "charge");
    expect(charge?.quantities).toEqual({ input: 107, output: 10, "sage/input": 800, "sage/output": 30 });
    const rates = readRates(charge?.rates ?? "");
    expect(costNano(rates, charge?.quantities ?? {})).toBe(-(charge?.amount ?? 0));
    expect(rates.picoUsd).toMatchObject({ input: 1e6, "sage/input": 1e7, "sage/output": 5e7 });
  });

  test("is known by its name here too, and by one with a date that only the provider knows", async () => {
    const body = bodyOf(tool("sage"));
    expect(await microCost(body, usageOf(iteration("sage", 10, 1)))).toBe(120 + 150);
    expect(await microCost(body, usageOf(iteration("claude-sage-9-20260301", 10, 1)))).toBe(120 + 150);
  });

  test("that nobody asked for costs as the call's own model, if it is not known", async () => {
    const usage = usageOf(iteration("claude-stranger", 10, 1));
    expect(await microCost(bodyOf(), usage)).toBe(132);
    expect(await microCost(bodyOf(), usageOf(iteration("claude-unpriced", 10, 1)))).toBe(132);
    expect(await microCost(bodyOf(), usageOf(iteration("claude-sage-9", 10, 1)))).toBe(120 + 150);
  });

  test("costs as much where the figures of the answer itself are counted here", async () => {
    const caller = await world.creditCaller();
    const {
      input_tokens: _,
      output_tokens: __,
      ...iterations
    } = usageOf(iteration("claude-sage-9", 800, 30));
    for (const [figures, own] of [
      [{ input_tokens: 100, output_tokens: "few" }, 100 + 2],
      [{ input_tokens: "few", output_tokens: 10 }, 5 + 20],
    ] as const) {
      world.provider.script(wholeAnswer("messages", { text: "Hi", usage: { ...figures, ...iterations } }));
      const { tools: ___, ...body } = bodyOf();
      expect((await world.ask(caller, { path, body })).status).toBe(200);
      const charge = (await world.chargesOf(caller)).at(-1);
      expect(charge).toMatchObject({ amount: -(own + 8_000 + 1_500) * 1000, basis: "estimated" });
    }
  });

  test("that is free costs nothing beside the call", async () => {
    expect(await microCost(bodyOf(tool("claude-gift")), usageOf(iteration("claude-gift", 10, 1)))).toBe(120);
  });

  test("costs a token budget its tokens", async () => {
    const caller = await world.tokenCaller(1_000_000);
    world.provider.script(
      wholeAnswer("messages", { text: "Hi", usage: usageOf(iteration("claude-sage-9", 800, 30)) }),
    );
    expect((await world.ask(caller, { path, body: bodyOf(tool("sage")) })).status).toBe(200);
    expect((await world.chargesOf(caller)).map(({ amount }) => amount)).toEqual([-940]);
  });

  test.each(["claude-stranger", "claude-unpriced", "", 7, null])("named %j is refused", async (name) => {
    for (const caller of [await world.creditCaller(), await world.tokenCaller(1_000_000)]) {
      const response = await world.ask(caller, { path, body: bodyOf(tool(name)) });
      expect(response.status).toBe(400);
      const { error } = (await response.json()) as { error: { message: string } };
      expect(error.message).toContain("tools[0].model");
    }
    expect(world.provider.requests).toEqual([]);
  });

  test("that the key may not use is refused", async () => {
    const spec = { mode: "credit" as const, creditNano: 1e9, models: ["worker"] };
    const issued = await createKey({ store: world.running.store, clock: systemClock }, spec);
    await world.gateway.catchUp();
    const refused = await world.ask(issued, { path, body: bodyOf(tool("claude-sage-9")) });
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({ error: { code: "key_disabled" } });
    expect(world.provider.requests).toEqual([]);
    world.provider.script(json({ type: "error", error: { type: "api_error", message: "No." } }));
    expect((await world.ask(issued, { path, body: bodyOf() })).status).toBe(502);
  });

  test("is held for: what it may read and write, as often as it may be asked", async () => {
    const heldMicros = async (body: JsonObject) => (await world.heldFor({ path, body })) * 1e6;
    for (const [more, times, output] of [
      [{}, 5, 400],
      [{ max_uses: 0 }, 0, 400],
      [{ max_uses: 2 }, 2, 400],
      [{ max_uses: 1000, max_tokens: 50 }, 1000, 50],
      [{ max_uses: 1001, max_tokens: 50 }, 1000, 50],
    ] as const) {
      const body = bodyOf(tool("sage", more));
      const input = heldInput(body);
      expect(await heldMicros(body)).toBeCloseTo(input + 2000 + times * (input * 10 + output * 50), 3);
    }
    // At one of the providers that may answer it costs more.
    const twice = { ...bodyOf(tool("sold-twice", { max_uses: 1 })), model: "anywhere" };
    expect(await heldMicros(twice)).toBeCloseTo(heldInput(twice) * 21 + 2000 + 400 * 60, 3);
    // The most that this one writes is not known.
    const body = bodyOf(tool("elsewhere", { max_uses: 1 }));
    expect(await heldMicros(body)).toBeCloseTo(heldInput(body) * 101 + 2000 + 1000 * 100, 3);
  });

  test("that would cost more than there can be is refused in words", async () => {
    for (const max_uses of [100, 1000]) {
      const body = { ...bodyOf(tool("dear", { max_uses, max_tokens: 100_000 })), max_tokens: 1 };
      const response = await world.ask(await world.creditCaller(), { path, body });
      expect(response.status).toBe(402);
      expect(await response.text()).toContain("more than 4000000 credits");
    }
  });

  test("has to be known at every provider that the request may reach", async () => {
    const ask = async (name: string) => {
      const body = { ...bodyOf(tool(name)), model: "anywhere" };
      return (await world.ask(await world.creditCaller(), { path, body })).status;
    };
    expect(await ask("claude-sage-9")).toBe(400);
    expect(await ask("sage")).toBe(200);
  });

  test("is left out of a translated request, and then needs no price", async () => {
    const usage = { input_tokens: 1, output_tokens: 1 };
    world.provider.script(wholeAnswer("responses", { text: "Hi", usage }));
    const body = { ...bodyOf(tool("claude-stranger")), model: "gpt-test" };
    const response = await world.ask(await world.creditCaller(), { path, body });
    expect(response.status).toBe(200);
    expect(world.provider.requests[0]?.text).not.toContain("advisor");
  });
});
