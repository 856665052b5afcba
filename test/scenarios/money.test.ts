import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { cutBefore, json, openAiError, sse } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { answerFrom, fixture } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { readStream, StreamReader } from "../support/sse.ts";
import { tokenizerLoaded } from "../support/tokenizer.ts";
import { waitFor } from "../support/wait.ts";

interface Summary {
  credits: { balance: number; reserved: number; used: number; last_request_cost: number; remaining: number };
  tokens: { used: number; reserved: number; remaining: number | null; input: number; output: number };
  requests: { total: number };
}

let provider: ScriptedProvider;
let sluice: Sluice;

beforeAll(async () => {
  provider = startProvider();
  sluice = await startSluice({ config: configFor({ url: provider.url, head: "[server]\nheartbeat = 0.3" }) });
  await tokenizerLoaded(sluice, await sluice.createKey(), "local-test");
});
afterEach(() => provider.reset());
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

const ask = { messages: [{ role: "user", content: "Hello" }] };

/** By the tokenizer: the request, the fixtures' text, and its first two words. */
const helloTokens = 5;
const fixtureTokens = 13;
const twoWords = 4;

async function summaryOf(key: TestKey): Promise<Summary> {
  return (await (await sluice.request("/v1/usage", { key })).json()) as Summary;
}

/** The provider's figures at 1 and 2 USD per million tokens, in credits. */
function priced(input: number, output: number): number {
  return (input * 1 + output * 2) / 1_000_000;
}

function chatUsage(body: string): { prompt_tokens: number; completion_tokens: number } {
  return JSON.parse(body).usage;
}

describe("a call that completes", () => {
  test("is charged the provider's own figures, told in headers and in the summary", async () => {
    const key = await sluice.createKey();
    const response = await sluice.request("/v1/chat/completions", {
      key,
      body: { model: "gpt-test", ...ask },
    });
    expect(response.status).toBe(200);
    const usage = chatUsage(fixture("chat/text.json"));
    const cost = priced(usage.prompt_tokens, usage.completion_tokens);
    expect(Number(response.headers.get("x-sluice-cost"))).toBe(cost);
    expect(Number(response.headers.get("x-service-credit-remaining"))).toBe(10 - cost);
    const { credits, requests } = await summaryOf(key);
    expect(credits).toMatchObject({ used: cost, last_request_cost: cost, reserved: 0, balance: 10 - cost });
    expect(requests.total).toBe(1);
  });

  test("of a token-budget key is charged in tokens", async () => {
    const key = await sluice.createKey({ mode: "token_budget", budget: 100_000 });
    const response = await sluice.request("/v1/chat/completions", {
      key,
      body: { model: "gpt-test", ...ask },
    });
    const usage = chatUsage(fixture("chat/text.json"));
    const tokens = usage.prompt_tokens + usage.completion_tokens;
    expect(response.headers.get("x-sluice-cost")).toBe(String(tokens));
    expect(response.headers.get("x-ratelimit-remaining-tokens")).toBe(String(100_000 - tokens));
    expect((await summaryOf(key)).tokens).toMatchObject({
      used: tokens,
      remaining: 100_000 - tokens,
      reserved: 0,
    });
  });

  test.each([
    ["chat", "/v1/chat/completions", "gpt-test", 21, 9],
    ["responses", "/v1/responses", "gpt-test", 21, 9],
    ["messages", "/v1/messages", "claude-test", 25, 12],
  ])(
    "as a %s stream is in the summary as soon as its end has been read",
    async (_, path, model, input, output) => {
      const key = await sluice.createKey();
      const body = path.endsWith("responses")
        ? { model, input: "Hello", stream: true }
        : { model, ...ask, stream: true };
      await readStream(await sluice.request(path, { key, body }));
      const { credits, requests } = await summaryOf(key);
      expect(credits.last_request_cost).toBe(priced(input, output));
      expect(credits.used).toBe(credits.last_request_cost);
      expect(credits.reserved).toBe(0);
      expect(requests.total).toBe(1);
    },
  );

  test("tells a stream's cost in one comment before the end, to a client that asks for it", async () => {
    const key = await sluice.createKey();
    const { text } = await readStream(
      await sluice.request("/v1/chat/completions", {
        key,
        headers: { "x-sluice-cost": "comment" },
        body: { model: "gpt-test", stream: true, ...ask },
      }),
    );
    const cost = /^: x-sluice-cost: ([\d.]+)$/m.exec(text)?.[1];
    expect(Number(cost)).toBe((await summaryOf(key)).credits.last_request_cost);
    expect(text.indexOf(": x-sluice-cost")).toBeLessThan(text.indexOf("[DONE]"));
  });

  test("without the provider's figures is counted here", async () => {
    const key = await sluice.createKey();
    provider.script(answerFrom("chat/text-without-usage.sse"));
    await readStream(
      await sluice.request("/v1/chat/completions", {
        key,
        body: { model: "gpt-test", stream: true, ...ask },
      }),
    );
    const { tokens, credits } = await summaryOf(key);
    expect(tokens).toMatchObject({ input: helloTokens, output: fixtureTokens });
    expect(credits.used).toBe(priced(helloTokens, fixtureTokens));
  });

  test("with an explicit 0 from the provider is charged 0, if nothing was delivered", async () => {
    const key = await sluice.createKey();
    const answer = JSON.parse(fixture("chat/text.json"));
    const choices = [{ index: 0, message: { role: "assistant", content: "" }, finish_reason: "stop" }];
    const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    provider.script(json({ ...answer, choices, usage }));
    await sluice.request("/v1/chat/completions", { key, body: { model: "gpt-test", ...ask } });
    const { credits, requests } = await summaryOf(key);
    expect(credits.used).toBe(0);
    expect(requests.total).toBe(1);
  });
});

describe("a stream that its client leaves", () => {
  test("is charged for what was produced, without a usage record, and stopped upstream", async () => {
    const key = await sluice.createKey();
    provider.script(cutBefore(answerFrom("chat/text.sse"), '" the"', [{ stall: true }]));
    const reader = new StreamReader(
      await sluice.request("/v1/chat/completions", {
        key,
        body: { model: "gpt-test", stream: true, ...ask },
      }),
    );
    await reader.until(" keep");
    await reader.cancel();
    await waitFor(async () => (await summaryOf(key)).credits.reserved === 0, "the hold to end");
    const { credits, requests } = await summaryOf(key);
    expect(credits.used).toBe(priced(helloTokens, twoWords));
    expect(requests.total).toBe(0);
    expect(credits.last_request_cost).toBe(0);
    await waitFor(() => provider.aborted.length === 1, "the provider to see the end");
  });

  test("before anything was produced costs nothing", async () => {
    const key = await sluice.createKey();
    provider.script({ ...sse(""), steps: [{ stall: true }] });
    const leaving = new AbortController();
    const asked = sluice.request("/v1/chat/completions", {
      key,
      body: { model: "gpt-test", stream: true, ...ask },
      signal: leaving.signal,
    });
    await waitFor(() => provider.requests.length === 1, "the provider to be asked");
    expect((await summaryOf(key)).credits.reserved).toBeGreaterThan(0);
    leaving.abort();
    await asked.then((response) => response.body?.cancel()).catch(() => undefined);
    await waitFor(async () => (await summaryOf(key)).credits.reserved === 0, "the hold to end");
    expect((await summaryOf(key)).credits.used).toBe(0);
  });
});

describe("a provider that fails", () => {
  test("before any content is charged nothing", async () => {
    const key = await sluice.createKey();
    provider.script(openAiError(500, "boom"));
    const response = await sluice.request("/v1/chat/completions", {
      key,
      body: { model: "gpt-test", ...ask },
    });
    expect(response.status).toBe(502);
    const { credits, requests } = await summaryOf(key);
    expect(credits).toMatchObject({ used: 0, reserved: 0 });
    expect(requests.total).toBe(0);
  });

  test("after content is charged for what was produced, with a usage record", async () => {
    const key = await sluice.createKey();
    provider.script(cutBefore(answerFrom("chat/text.sse"), '"finish_reason":"stop"'));
    const { text } = await readStream(
      await sluice.request("/v1/chat/completions", {
        key,
        body: { model: "gpt-test", stream: true, ...ask },
      }),
    );
    expect(text).toContain('data: {"error":');
    expect(text).not.toContain("[DONE]");
    const { credits, requests } = await summaryOf(key);
    expect(credits.used).toBe(priced(helloTokens, fixtureTokens));
    expect(credits.reserved).toBe(0);
    expect(requests.total).toBe(1);
  });
});

describe("a balance", () => {
  test("below the hold is refused with 402, which says what was needed", async () => {
    const key = await sluice.createKey({ credit: 0.000001 });
    const response = await sluice.request("/v1/chat/completions", {
      key,
      body: { model: "gpt-test", ...ask },
    });
    expect(response.status).toBe(402);
    expect(response.headers.get("x-should-retry")).toBe("false");
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    expect(error.code).toBe("insufficient_credit");
    expect(error.message).toMatch(/\d/);
    expect(provider.requests).toHaveLength(0);
  });

  test("that another request holds is refused with 429 until that one ends", async () => {
    const key = await sluice.createKey({ credit: 0.01 });
    const gate = Promise.withResolvers<void>();
    provider.script({ ...answerFrom("chat/text.json"), before: [{ until: gate.promise }] });
    const body = { model: "gpt-test", ...ask, max_tokens: 4000 };
    const first = sluice.request("/v1/chat/completions", { key, body });
    await waitFor(() => provider.requests.length === 1, "the first to be asked");
    const second = await sluice.request("/v1/chat/completions", { key, body });
    expect(second.status).toBe(429);
    expect(second.headers.get("retry-after")).toBe("1");
    expect(await second.json()).toMatchObject({ error: { code: "balance_temporarily_reserved" } });
    gate.resolve();
    expect((await first).status).toBe(200);
    provider.script(null);
    expect((await sluice.request("/v1/chat/completions", { key, body })).status).toBe(200);
  });

  test("for 10 admits exactly 10 of 1,000 concurrent requests, and charges exactly those", async () => {
    const probe = await sluice.createKey();
    const gate = Promise.withResolvers<void>();
    provider.script({ ...answerFrom("chat/text.json"), before: [{ until: gate.promise }] });
    const body = { model: "gpt-test", ...ask, max_tokens: 1000 };
    const probing = sluice.request("/v1/chat/completions", { key: probe, body });
    await waitFor(() => provider.requests.length === 1, "the probe to be asked");
    const held = (await summaryOf(probe)).credits.reserved;

    const key = await sluice.createKey({ credit: Math.round(held * 10 * 1e9) / 1e9 });
    let answered = 0;
    const racing = Array.from({ length: 1000 }, async () => {
      const response = await sluice.request("/v1/chat/completions", { key, body });
      answered += 1;
      return response;
    });
    await waitFor(() => answered === 990, "all but ten to be refused");
    expect(provider.requests).toHaveLength(11);
    gate.resolve();
    await probing;
    const statuses = (await Promise.all(racing)).map((response) => response.status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(990);
    const usage = chatUsage(fixture("chat/text.json"));
    const { credits } = await summaryOf(key);
    expect(credits.used).toBeCloseTo(10 * priced(usage.prompt_tokens, usage.completion_tokens), 9);
    expect(credits.reserved).toBe(0);
  });
});
