import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { countTokensResponse } from "../../src/dialects/anthropic-messages/client/schema.ts";
import { modelList } from "../../src/gateway/endpoints/models-schema.ts";
import { usageSummary } from "../../src/gateway/endpoints/usage-schema.ts";
import { openAiError } from "../support/answers.ts";
import { readStream } from "../support/sse.ts";
import {
  chat,
  countTokens,
  expectError,
  expectShape,
  generationRoutes,
  messagesRoute,
  postRoutes,
  responses,
} from "./requests.ts";
import { spentBy, usageOf } from "./usage.ts";
import { newKey, useWorld } from "./world.ts";

const world = useWorld();

async function modelIds(response: Response): Promise<string[]> {
  const list = (await response.json()) as { data: { id: string }[] };
  return list.data.map((model) => model.id);
}

describe("4. Endpoints", () => {
  test("4 every response carries x-request-id, a new one each time, also 404, 405 and refusals before any route", async () => {
    const seen = new Set<string>();
    const note = (response: Response) => {
      const id = response.headers.get("x-request-id") ?? "";
      expect(id, response.url).toMatch(/^req_\w{20,}$/);
      expect(seen.has(id)).toBe(false);
      seen.add(id);
    };
    for (const origin of ["", "/token"] as const) {
      for (const path of ["/v1/models", "/v1/usage", "/v1/nowhere", "/", "/v1/chat/completions"]) {
        note(await world.sluice.request(path, { origin, headers: { "x-request-id": "mine" } }));
      }
    }
    for (const key of world.both) {
      for (const { path, body } of postRoutes) note(await world.sluice.request(path, { key, body }));
      for (const { path, body } of generationRoutes) {
        const streamed = await world.sluice.request(path, { key, body: { ...body, stream: true } });
        note(streamed);
        await readStream(streamed);
      }
    }
    for (const path of ["/openapi.json", "/healthz", "/readyz"]) note(await world.sluice.request(path));
    note(await world.sluice.request(chat.path, { key: world.credit, body: "not json" }));
  });

  test("4.1 the six routes exist on both origins, with these methods and no others", async () => {
    for (const origin of ["", "/token"] as const) {
      for (const path of ["/v1/models", "/v1/usage"]) {
        await expectError(
          await world.sluice.request(path, { origin, method: "POST" }),
          "method_not_allowed",
          "A",
        );
      }
      for (const { path, format } of postRoutes) {
        await expectError(await world.sluice.request(path, { origin }), "method_not_allowed", format);
      }
      await expectError(await world.sluice.request("/v1/nowhere", { origin }), "not_found", "A");
    }
  });

  test("4.2 without a credential, the response is the public catalog", async () => {
    for (const origin of ["", "/token"] as const) {
      const response = await world.sluice.request("/v1/models", { origin });
      expect(response.status).toBe(200);
      const ids = await modelIds(response);
      expect(ids).toContain("gpt-test");
      expect(ids).not.toContain("hidden-test");
    }
  });

  test("4.2 with a valid credential, the list is filtered to the key's provider scope and entitlements", async () => {
    const scoped = await newKey(world, { provider: "anthropic" });
    const entitled = await newKey(world, { mode: "token_budget", models: ["gpt-test", "local-test"] });
    expect(await modelIds(await world.sluice.request("/v1/models", { key: scoped }))).toEqual([
      "claude-test",
    ]);
    expect(await modelIds(await world.sluice.request("/v1/models", { key: entitled }))).toEqual([
      "gpt-test",
      "local-test",
    ]);
    expect(await modelIds(await world.sluice.request("/v1/models", { key: world.credit }))).toContain(
      "hidden-test",
    );
    const headerKey = await world.sluice.request("/v1/models", { headers: { "x-api-key": scoped.key } });
    expect(await modelIds(headerKey)).toEqual(["claude-test"]);
  });

  test("4.2 with a supplied but invalid credential, the request fails and does not fall back to the public catalog", async () => {
    for (const origin of ["", "/token"] as const) {
      for (const headers of [
        { authorization: "Bearer slu_wrong" },
        { authorization: "Bearer " },
        { authorization: "Basic abc" },
        { authorization: "" },
        { "x-api-key": "slu_wrong" },
        { "x-api-key": "" },
      ] as Record<string, string>[]) {
        const response = await world.sluice.request("/v1/models", { origin, headers });
        await expectError(response, "invalid_credentials", "A");
      }
    }
  });

  test("4.2 the answer is a model list, in JSON", async () => {
    const response = await world.sluice.request("/v1/models");
    expect(response.headers.get("content-type")).toStartWith("application/json");
    expectShape(modelList, await response.json());
  });

  test("4.3 4.4 4.5 the answer is JSON when stream is false or absent, and text/event-stream when it is true", async () => {
    for (const key of world.both) {
      for (const { path, body } of generationRoutes) {
        for (const plain of [body, { ...body, stream: false }]) {
          const whole = await world.sluice.request(path, { key, body: plain });
          expect(whole.headers.get("content-type")).toStartWith("application/json");
          expect((await whole.json()) as JsonObject).toHaveProperty("id");
        }
        const streamed = await world.sluice.request(path, { key, body: { ...body, stream: true } });
        expect(streamed.headers.get("content-type")).toStartWith("text/event-stream");
        expect((await readStream(streamed)).frames.length).toBeGreaterThan(3);
      }
    }
  });

  test("4.3 4.4 4.5 an Idempotency-Key of 1 to 255 characters is accepted, and of no other length", async () => {
    for (const { path, body, format } of generationRoutes) {
      for (const length of [1, 255]) {
        const headers = { "idempotency-key": `${path.at(-1)}`.repeat(length) };
        expect((await world.sluice.request(path, { key: world.credit, body, headers })).status).toBe(200);
      }
      for (const length of [0, 256]) {
        const headers = { "idempotency-key": "x".repeat(length) };
        await expectError(
          await world.sluice.request(path, { key: world.credit, body, headers }),
          "invalid_request",
          format,
        );
      }
    }
  });

  test("4.3 model availability, tool support and output limits depend on the key and the chosen model", async () => {
    const tools = [{ type: "function", function: { name: "f", parameters: {} } }];
    const ask = (change: JsonObject) =>
      world.sluice.request(chat.path, { key: world.credit, body: { ...chat.body, ...change } });
    expect((await ask({ tools })).status).toBe(200);
    await expectError(await ask({ tools, model: "local-test" }), "invalid_request", "A");
    expect((await ask({ max_tokens: 2000 })).status).toBe(200);
    await expectError(await ask({ max_tokens: 2000, model: "local-test" }), "invalid_request", "A");
  });

  test("4.5 when max_tokens is omitted it is 1024, and the effective value is capped at the model's published limit", async () => {
    const sent = async (change: JsonObject) => {
      const { max_tokens: _, ...body } = messagesRoute.body;
      await world.sluice.request(messagesRoute.path, { key: world.credit, body: { ...body, ...change } });
      return world.provider.requests.at(-1)?.body["max_tokens"];
    };
    expect(await sent({})).toBe(1024);
    expect(await sent({ max_tokens: 50 })).toBe(50);
    expect(await sent({ max_tokens: 4096 })).toBe(4096);
    expect(await sent({ max_tokens: 1_000_000 })).toBe(4096);
  });

  test("4.5 4.6 compat-version is optional, and is what a Format B provider is told", async () => {
    for (const { path, body } of [messagesRoute, countTokens]) {
      const versionFor = async (headers: Record<string, string>) => {
        expect((await world.sluice.request(path, { key: world.credit, body, headers })).status).toBe(200);
        return world.provider.requests.at(-1)?.headers["anthropic-version"];
      };
      expect(await versionFor({})).toBe("2023-06-01");
      expect(await versionFor({ "compat-version": "2026-10-21" })).toBe("2026-10-21");
      expect(await versionFor({ "anthropic-version": "2026-10-21" })).toBe("2026-10-21");
    }
  });

  test("4.6 count_tokens returns an estimate or the provider's count, creates no response and deducts nothing", async () => {
    const key = await newKey(world);
    const before = await usageOf(world, key);
    const exact = await world.sluice.request(countTokens.path, { key, body: countTokens.body });
    expect(exact.headers.get("x-sluice-count")).toBe("exact");
    const counted = (await exact.json()) as JsonObject;
    expectShape(countTokensResponse, counted);
    expect(counted).toEqual({ input_tokens: 25 });
    const estimated = await world.sluice.request(countTokens.path, {
      key,
      body: { ...countTokens.body, model: "gpt-test" },
    });
    expect(estimated.headers.get("x-sluice-count")).toBe("estimate");
    expect(((await estimated.json()) as { input_tokens: number }).input_tokens).toBeGreaterThan(0);
    expect(world.provider.requests.map(({ path }) => path)).toEqual(["/anthropic/v1/messages/count_tokens"]);
    expect(await usageOf(world, key)).toEqual(before);
  });

  test("4.6 count_tokens falls back to its own estimate when the provider cannot count", async () => {
    world.provider.script(openAiError(500, "broken"));
    const response = await world.sluice.request(countTokens.path, {
      key: world.credit,
      body: countTokens.body,
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("x-sluice-count")).toBe("estimate");
  });

  test("4.7 the usage summary covers status, mode, scope, rate limit, totals and balance", async () => {
    const key = await newKey(world, { label: "mine", provider: "openai", rpm: 5000, credit: 2 });
    await (await world.sluice.request(chat.path, { key, body: chat.body })).arrayBuffer();
    const summary = await usageOf(world, key);
    expectShape(usageSummary, summary);
    expect(summary.key).toEqual({
      prefix: key.key.slice(0, 12),
      label: "mine",
      status: "active",
      mode: "credit",
      provider_scope: "openai",
      rpm_limit: 5000,
    });
    // 21 input tokens at 1 and 9 output tokens at 2 USD per million.
    expect(summary.credits).toEqual({
      total_purchased: 2,
      balance: 1.999961,
      reserved: 0,
      used: 0.000039,
      remaining: 1.999961,
      remaining_usd: 1.999961,
      last_request_cost: 0.000039,
      today_spend: 0.000039,
      lifetime_spend: 0.000039,
    });
    expect(summary.tokens).toMatchObject({ budget: null, remaining: null, input: 21, output: 9, total: 30 });
    expect(summary.requests).toEqual({ total: 1 });
  });

  test("4.7 a token key's summary has its budget and zeros for credits", async () => {
    const key = await newKey(world, { mode: "token_budget", budget: 5000 });
    await (
      await world.sluice.request(responses.path, { key, body: { ...responses.body, max_output_tokens: 50 } })
    ).arrayBuffer();
    const summary = await usageOf(world, key);
    expect(summary.tokens).toEqual({
      budget: 5000,
      used: 30,
      reserved: 0,
      remaining: 4970,
      input: 21,
      output: 9,
      total: 30,
    });
    expect(Object.values(summary.credits).every((amount) => amount === 0)).toBe(true);
  });

  test("4.7 x-service-credit-remaining is returned for credit keys and x-ratelimit-remaining-tokens for token keys", async () => {
    const credit = await world.sluice.request("/v1/usage", { key: world.credit });
    const { credits } = (await credit.json()) as { credits: { remaining: number } };
    expect(Number(credit.headers.get("x-service-credit-remaining"))).toBe(credits.remaining);
    expect(credit.headers.get("x-ratelimit-remaining-tokens")).toBeNull();
    const token = await world.sluice.request("/v1/usage", { key: world.token });
    const { tokens } = (await token.json()) as { tokens: { remaining: number } };
    expect(Number(token.headers.get("x-ratelimit-remaining-tokens"))).toBe(tokens.remaining);
    expect(token.headers.get("x-service-credit-remaining")).toBeNull();
  });

  test("4.8 a POST that is retried with the same Idempotency-Key is answered again from store, once charged", async () => {
    for (const key of [await newKey(world), await newKey(world, { mode: "token_budget" })]) {
      for (const { path, body } of generationRoutes) {
        for (const stream of [false, true]) {
          const headers = { "idempotency-key": `${path} ${stream}` };
          const ask = () => world.sluice.request(path, { key, body: { ...body, stream }, headers });
          const first = await ask();
          const firstBytes = await first.arrayBuffer();
          expect(first.headers.get("idempotent-replayed")).toBeNull();
          const spent = await spentBy(world, key);
          const sent = world.provider.requests.length;
          const second = await ask();
          expect(second.headers.get("idempotent-replayed")).toBe("true");
          expect(second.headers.get("content-type")).toBe(first.headers.get("content-type"));
          expect(Buffer.from(await second.arrayBuffer())).toEqual(Buffer.from(firstBytes));
          expect(await spentBy(world, key)).toBe(spent);
          expect(world.provider.requests.length).toBe(sent);
        }
      }
    }
  });
});
