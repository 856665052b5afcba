import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { cacheSavingsNano, isToken } from "../../src/base/money/rates.ts";
import { audit } from "../../src/ledger/audit.ts";
import { onBothStores } from "./on-both-stores.ts";
import { hello, paths, streamAnswer, wholeAnswer } from "./wire-answers.ts";

const rates = "input = 1.0, output = 2.0, cached_input = 0.1, cache_write = 1.25, cache_write_24h = 2.5";
const tail = `
[[models]]
id = "keeping"
provider = "openai"
dialect = "responses"
max_output_tokens = 100
price = { ${rates}, tiers = { ultrafast = { input = 6.0, output = 12.0, cache_write = 7.5, cache_write_24h = 15.0 } } }
`;

/** 1,000 tokens of input: 400 written to the cache, 100 read from it. */
const usage = {
  ...{ input_tokens: 1000, output_tokens: 10, total_tokens: 1010 },
  input_tokens_details: { cached_tokens: 100, cache_write_tokens: 400 },
  output_tokens_details: { reasoning_tokens: 0 },
};

/** In millionths of a credit: 500 plain, 100 read, 400 written for a day or for minutes, 10 of output. */
const [day, minutes, ultrafast] = [500 + 10 + 1000 + 20, 500 + 10 + 500 + 20, 3000 + 600 + 6000 + 120];

onBothStores(tail, (world) => {
  async function costOf(client: "chat" | "responses" | "messages", answered: JsonObject, asked: object = {}) {
    const caller = await world().creditCaller();
    const text = { text: "Hi", usage };
    const isStream = "stream" in asked;
    const answer = isStream ? streamAnswer("responses", text) : wholeAnswer("responses", text);
    const changed = answer.steps.map((step) =>
      "write" in step ? { write: withFields(String(step.write), answered, isStream) } : step,
    );
    world().provider.script({ ...answer, steps: changed, framing: "chunked" });
    const body = hello(client, "keeping", { max_tokens: 100, ...asked });
    const response = await world().ask(caller, { path: paths[client], body });
    expect(response.status, await response.text()).toBe(200);
    const charges = await world().chargesOf(caller);
    return charges.reduce((sum, { amount }) => sum - amount, 0) / 1e3;
  }

  describe.each(["chat", "responses", "messages"] as const)("a client of %s", (client) => {
    test("pays for writes that stay for 24 hours what they cost, whole and streamed", async () => {
      for (const asked of [{}, { stream: true }]) {
        expect(await costOf(client, { prompt_cache_retention: "24h" }, asked)).toBe(day);
        expect(await costOf(client, { prompt_cache_retention: "in_memory" }, asked)).toBe(minutes);
        expect(await costOf(client, {}, asked)).toBe(minutes);
      }
      expect((await audit(world().running.store, { deep: true })).differences).toEqual([]);
    });
  });

  test("the ultrafast tier has its own price of them", async () => {
    const answered = { prompt_cache_retention: "24h", service_tier: "ultrafast" };
    expect(await costOf("responses", answered, { service_tier: "ultrafast" })).toBe(ultrafast);
  });
});

test("writes for 24 hours are tokens, and what they cost more is no saving", () => {
  expect(isToken("cache_write_24h")).toBe(true);
  const picoUsd = { input: 1000, cache_write_24h: 2500 };
  expect(cacheSavingsNano({ picoUsd, microUsdPerCredit: 1_000_000 }, { cache_write_24h: 1_000_000 })).toBe(
    -1_500_000,
  );
});

/** Adds fields to the response, in each event of a stream that has one. */
function withFields(text: string, fields: JsonObject, isStream: boolean): string {
  const members = JSON.stringify(fields).slice(1, -1);
  if (members === "") return text;
  return isStream
    ? text.replaceAll('"object":"response",', `"object":"response",${members},`)
    : text.replace("{", `{${members},`);
}
