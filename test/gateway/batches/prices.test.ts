import { beforeEach, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/base/json.ts";
import { json } from "../../support/answers.ts";
import { onBothStores } from "../on-both-stores.ts";
import { usageOf, wholeAnswer } from "../wire-answers.ts";
import type { Caller, World } from "../world.ts";
import { BatchClient, type ShownBatch } from "./batch-world.ts";

/** In millionths of a credit: 1,000 tokens of input, 400 of them cached, and 10 of output, at each tier's rates. */
const micros = { usual: 660, flex: 330, priority: 1980, batch: 132 };

const rates = (input: number) => `{ input = ${input}, output = ${2 * input}, cached_input = ${input / 10} }`;
const usual = rates(1).slice(1, -1);
const flex = `flex = ${rates(0.5)}, priority = ${rates(3)}`;
const batch = `batch = ${rates(0.2)}`;

const model = (id: string, provider: string, tiers: string, more = "") => `
[[models]]
id = "${id}"
provider = "${provider}"
max_output_tokens = 100
${more}
price = { ${usual}, tiers = { ${tiers} } }
`;

const tail = [
  model("flexible", "openai", flex, 'batch_tier = "flex"'),
  model("plain", "openai", flex),
  model("gift", "anthropic", batch),
  model("both", "openai", `${flex}, ${batch}`, 'batch_tier = "flex"'),
  model("none", "openai", flex, 'batch = "off"'),
  `
[[models]]
id = "embedding"
provider = "openai"
serves = ["embeddings"]
price = { input = 1.0, output = 0.0, tiers = { batch = { input = 0.5, output = 0.0 } } }
`,
].join("");

const chatAnswer = (tier: string | null) =>
  json({
    ...{ id: "chatcmpl-1", object: "chat.completion", created: 1, model: "m" },
    choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
    usage: {
      ...{ prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010 },
      prompt_tokens_details: { cached_tokens: 400 },
    },
    ...(tier === null ? {} : { service_tier: tier }),
  });
const messagesAnswer = (usage: JsonObject = {}) =>
  json({
    ...{ id: "msg_1", type: "message", role: "assistant", model: "m", stop_reason: "end_turn" },
    content: [{ type: "text", text: "Hi" }],
    usage: { input_tokens: 600, cache_read_input_tokens: 400, output_tokens: 10, ...usage },
  });

onBothStores(tail, (world) => {
  let caller: Caller;
  let client: BatchClient;
  beforeEach(async () => {
    caller = await world().creditCaller();
    client = BatchClient.of(world(), caller);
  });

  const body = (fields: JsonObject): JsonObject => ({
    ...{ model: "flexible", max_tokens: 50, messages: [{ role: "user", content: "Hello" }] },
    ...fields,
  });
  /** What a batch with this one line costs, and what its provider was sent. */
  async function run(fields: JsonObject, endpoint?: string): Promise<[ShownBatch, number, JsonObject]> {
    const ended = await client.untilEnded((await client.create([{ body: body(fields) }], endpoint)).id);
    const charges = await world().chargesOf(caller);
    const paid = charges.reduce((sum, { amount }) => sum - amount, 0);
    const [request] = world().provider.requests;
    return [ended, paid / 1000, request?.body ?? {}];
  }

  test.each([
    [{}, "flex", "flex", micros.flex],
    [{}, "flex", null, micros.flex],
    [{}, "flex", "default", micros.usual],
    [{ service_tier: null }, null, null, micros.usual],
    [{ service_tier: "default" }, "default", "default", micros.usual],
    [{ service_tier: "priority" }, "priority", "priority", micros.priority],
    [{ model: "plain" }, undefined, null, micros.usual],
    [{ model: "plain", service_tier: "flex" }, "flex", "flex", micros.flex],
    // No provider decides that a request is a line.
    [{ model: "plain" }, undefined, "batch", micros.usual],
    [{ model: "both" }, "flex", "flex", micros.batch],
    [{ model: "both" }, "flex", "default", micros.batch],
    [{ model: "both", service_tier: "priority" }, "priority", "priority", micros.priority],
    [{ model: "both", service_tier: "default" }, "default", "default", micros.usual],
    [{ model: "both", service_tier: "auto" }, "auto", "default", micros.usual],
    [{ model: "both", service_tier: "auto" }, "auto", "priority", micros.priority],
    [{ model: "both", service_tier: "auto" }, "auto", null, micros.usual],
    [{ model: "both", service_tier: null }, null, null, micros.batch],
  ])(
    "a line with %j goes up with the tier %p, is served as %p and costs %d",
    async (fields, sent, served, cost) => {
      world().provider.script(chatAnswer(served));
      const [ended, paid, request] = await run(fields);
      expect([ended.request_counts.completed, request["service_tier"], paid]).toEqual([1, sent, cost]);
      expect(ended.sluice.charged).toBe(cost / 1_000_000);
    },
  );

  test("a line of another format goes up with its model's tier, too", async () => {
    const usage = { ...usageOf("responses", 1000, 10), service_tier: "flex" };
    world().provider.script(wholeAnswer("responses", { text: "Hi", usage }));
    const [, paid, request] = await run({}, "/v1/messages");
    expect([request["service_tier"], paid]).toEqual(["flex", 510]);
  });

  test("a price of batches is charged without a change of the request, by name in the ledger", async () => {
    world().provider.script(messagesAnswer({ service_tier: "standard" }));
    const [ended, paid, request] = await run({ model: "gift" }, "/v1/messages");
    expect([request["service_tier"], paid]).toEqual([undefined, micros.batch]);
    const [result] = await client.results(ended);
    const found = await world().running.store.reports.exchange(result?.response?.request_id ?? "", null);
    expect(found?.entries.map(({ rates }) => JSON.parse(rates ?? "{}").tiers)).toEqual([["batch"]]);
  });

  test("a line that may cost less than its usual price is held for less", async () => {
    // At the usual price, 50 tokens of output alone would be held at 100 millionths.
    caller = await world().creditCaller(0.00009);
    client = BatchClient.of(world(), caller);
    world().provider.script(messagesAnswer({ input_tokens: 10, cache_read_input_tokens: 0 }));
    const [ended, paid] = await run({ model: "gift" }, "/v1/messages");
    expect([ended.request_counts.completed, paid]).toEqual([1, 6]);
  });

  test("a line of embeddings has the price of batches", async () => {
    const data = [{ object: "embedding", index: 0, embedding: [0.5] }];
    const usage = { prompt_tokens: 1000, total_tokens: 1000 };
    world().provider.script(json({ object: "list", data, model: "m", usage }));
    const line = { model: "embedding", input: "Hello", max_tokens: undefined, messages: undefined };
    const [ended, paid] = await run(line as unknown as JsonObject, "/v1/embeddings");
    expect([ended.request_counts.completed, paid]).toEqual([1, 500]);
  });

  describe("outside of batches", () => {
    const ask = async (asking: World, fields: JsonObject, answer = chatAnswer(null)) => {
      asking.provider.script(answer);
      const response = await asking.ask(caller, { path: "/v1/chat/completions", body: body(fields) });
      return [response.status, (await response.json()) as JsonObject] as const;
    };

    test("a request goes up without a tier, and costs the usual price", async () => {
      for (const served of [null, "batch"]) {
        expect((await ask(world(), { model: "both" }, chatAnswer(served)))[0]).toBe(200);
      }
      const paid = (await world().chargesOf(caller)).map(({ amount }) => -amount / 1000);
      expect(paid).toEqual([micros.usual, micros.usual]);
      expect(world().provider.requests[0]?.body["service_tier"]).toBeUndefined();
    });

    test("no client gets the price of batches by its name", async () => {
      const [status, answer] = await ask(world(), { model: "both", service_tier: "batch" });
      expect([status, answer["error"]]).toMatchObject([400, { param: "service_tier" }]);
      const [ended] = await run({ model: "both", service_tier: "batch" });
      expect(ended.request_counts.failed).toBe(1);
      expect(world().provider.requests).toEqual([]);
    });

    test("a model that is off in batches answers requests, and rejects lines", async () => {
      expect((await ask(world(), { model: "none" }))[0]).toBe(200);
      const [ended] = await run({ model: "none" });
      const [result] = await client.results(ended);
      expect(result?.response?.status_code).toBe(400);
      expect(result?.response?.body["error"]).toMatchObject({ code: "invalid_request", param: "model" });
      expect(await world().chargesOf(caller)).toHaveLength(1);
    });
  });
});
