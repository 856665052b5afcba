import { expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { audit } from "../../src/ledger/audit.ts";
import { json, sse } from "../support/answers.ts";
import { fixture } from "../support/fixtures.ts";
import { onBothStores } from "./on-both-stores.ts";
import type { Caller } from "./world.ts";

/** Perplexity's models search in each request, for a fee in addition to their tokens. */
const tail = `
[[models]]
id = "sonar"
provider = "local"
max_output_tokens = 100
price = { input = 1.0, output = 1.0, requests = { low = 5.0, medium = 8.0, high = 12.0 } }

[[models]]
id = "flat"
provider = "local"
max_output_tokens = 100
price = { input = 1.0, output = 1.0, requests = 5.0 }
`;

const user = { role: "user", content: "Hello" };
const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
const answer = { ...(JSON.parse(fixture("chat/text.json")) as JsonObject), usage };
const chat = { model: "sonar", messages: [user] };
const sized = (size: unknown, more: JsonObject = {}) =>
  ({ web_search_options: { search_context_size: size, ...more } }) as JsonObject;

onBothStores(tail, (world) => {
  const ask = (caller: Caller, body: JsonObject, path = "/v1/chat/completions") =>
    world().ask(caller, { path, body });

  /** What a request costs a new key, in millionths of a credit. */
  async function microCost(body: JsonObject, path?: string): Promise<number> {
    const caller = await world().creditCaller(10);
    const response = await ask(caller, body, path);
    expect(response.status, await response.text()).toBe(200);
    const charges = await world().chargesOf(caller);
    return charges.reduce((sum, { amount }) => sum - amount, 0) / 1e3;
  }

  test("each request costs its fee and its tokens, by the size of its search", async () => {
    world().provider.script(json(answer));
    expect(await microCost(chat)).toBe(5110);
    expect(await microCost({ ...chat, ...sized("low") })).toBe(5110);
    expect(await microCost({ ...chat, ...sized("medium") })).toBe(8110);
    expect(await microCost({ ...chat, ...sized("high", { search_type: "fast" }) })).toBe(12_110);
    expect(await microCost({ ...chat, ...sized(null) })).toBe(5110);
    expect(await microCost({ ...chat, model: "flat" })).toBe(5110);
    expect((await audit(world().running.store, { deep: true })).differences).toEqual([]);
  });

  test("searches that the provider reports cost no more than the fee", async () => {
    world().provider.script(json({ ...answer, usage: { ...usage, num_search_queries: 3 } }));
    expect(await microCost({ ...chat, ...sized("high") })).toBe(12_110);
  });

  test("a stream and a request of an Anthropic client cost the fee, too", async () => {
    const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "sonar" };
    const choices = [{ index: 0, delta: { role: "assistant", content: "Hi" }, finish_reason: "stop" }];
    world().provider.script(
      sse(
        `data: ${JSON.stringify({ ...chunk, choices })}\n\ndata: ${JSON.stringify({ ...chunk, choices: [], usage })}\n\ndata: [DONE]\n\n`,
      ),
    );
    expect(await microCost({ ...chat, stream: true, ...sized("medium") })).toBe(8110);
    world().provider.script(json(answer));
    expect(await microCost({ ...chat, max_tokens: 50 }, "/v1/messages")).toBe(5110);
  });

  test("the hold covers the fee", async () => {
    const path = "/v1/chat/completions";
    const small = await world().heldFor({ path, body: chat });
    const large = await world().heldFor({ path, body: { ...chat, ...sized("high") } });
    expect(small).toBeGreaterThan(0.005);
    expect(large - small).toBeGreaterThan(0.0069);
  });

  test("a failed request costs nothing", async () => {
    world().provider.script(json({ error: { message: "no" } }, { status: 500 }));
    const caller = await world().creditCaller(10);
    expect((await ask(caller, chat)).status).toBe(502);
    expect(await world().chargesOf(caller)).toEqual([]);
  });

  test("a token budget is charged for the tokens alone", async () => {
    const caller = await world().tokenCaller(1_000_000);
    world().provider.script(json(answer));
    expect((await ask(caller, { ...chat, ...sized("high") })).status).toBe(200);
    expect((await world().chargesOf(caller)).map(({ amount }) => amount)).toEqual([-110]);
  });

  test.each([
    [sized("huge"), "web_search_options.search_context_size"],
    [sized(1), "web_search_options.search_context_size"],
    [sized("low", { search_type: "pro" }), "web_search_options.search_type"],
    [{ extra_body: sized("high") }, "extra_body.web_search_options"],
    [{ webSearchOptions: { search_context_size: "high" } }, "webSearchOptions"],
  ] as const)("%j is rejected, because its fee is not known", async (changes, param) => {
    const caller = await world().creditCaller(10);
    const response = await ask(caller, { ...chat, ...changes } as JsonObject);
    const { error } = (await response.json()) as { error: { param?: string } };
    expect([response.status, error.param]).toEqual([400, param]);
    expect(world().provider.requests).toEqual([]);
  });
});
