import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { chat, countTokens, expectError, messagesRoute, type Route, responses } from "./requests.ts";
import { newKey, useWorld } from "./world.ts";

const world = useWorld();

const ask = (route: Route, change: JsonObject) =>
  world.sluice.request(route.path, { key: world.credit, body: { ...route.body, ...change } });

async function expectOnly(route: Route, field: string, good: unknown[], bad: unknown[]): Promise<void> {
  for (const value of good)
    expect((await ask(route, { [field]: value } as JsonObject)).status, `${field} ${value}`).toBe(200);
  for (const value of bad) {
    await expectError(await ask(route, { [field]: value } as JsonObject), "invalid_request", route.format);
  }
}

describe("8. Limits", () => {
  test("8 max_tokens is at least 1 on chat completions and messages, max_output_tokens on responses", async () => {
    await expectOnly(chat, "max_tokens", [1], [0, -1]);
    await expectOnly(chat, "max_completion_tokens", [1], [0]);
    await expectOnly(messagesRoute, "max_tokens", [1], [0, -1]);
    await expectOnly(responses, "max_output_tokens", [1], [0, -1]);
  });

  test("8 output cap: chat completions and responses refuse a larger request, messages caps it", async () => {
    await expectOnly(chat, "max_tokens", [4096], [4097]);
    await expectOnly(chat, "max_completion_tokens", [4096], [4097]);
    await expectOnly(responses, "max_output_tokens", [4096], [4097]);
    await expectOnly(messagesRoute, "max_tokens", [4096, 4097], []);
    expect(world.provider.requests.at(-1)?.body["max_tokens"]).toBe(4096);
  });

  test("8 max_tokens is 1024 by default on messages", async () => {
    const { max_tokens: _, ...body } = messagesRoute.body;
    await world.sluice.request(messagesRoute.path, { key: world.credit, body });
    expect(world.provider.requests[0]?.body["max_tokens"]).toBe(1024);
  });

  test("8 temperature is 0 to 2 and top_p 0 to 1 on chat completions", async () => {
    await expectOnly(chat, "temperature", [0, 2], [-0.01, 2.01]);
    await expectOnly(chat, "top_p", [0, 1], [-0.01, 1.01]);
  });

  test("8 the stop array has at most 4 items", async () => {
    await expectOnly(chat, "stop", [["a", "b", "c", "d"]], [["a", "b", "c", "d", "e"]]);
  });

  test("8 messages has at least 1 item", async () => {
    for (const route of [chat, messagesRoute, countTokens]) await expectOnly(route, "messages", [], [[]]);
  });

  test("8 requests per minute are limited per key, told as rpm_limit and in headers on all authenticated routes", async () => {
    const key = await newKey(world, { rpm: 1000 });
    const free = await newKey(world);
    const summary = async (of: typeof key) =>
      (await (await world.sluice.request("/v1/usage", { key: of })).json()) as { key: JsonObject };
    expect((await summary(key)).key["rpm_limit"]).toBe(1000);
    expect((await summary(free)).key["rpm_limit"]).toBeNull();
    for (const path of ["/v1/models", "/v1/usage"]) {
      const { headers } = await world.sluice.request(path, { key });
      expect(headers.get("x-ratelimit-limit-requests")).toBe("1000");
      expect(Number(headers.get("x-ratelimit-remaining-requests"))).toBeWithin(900, 1000);
    }
    for (const route of [chat, responses, messagesRoute, countTokens]) {
      const { headers } = await world.sluice.request(route.path, { key, body: route.body });
      expect(headers.get("x-ratelimit-limit-requests")).toBe("1000");
    }
  });

  test("8 a body above the configured size is an invalid request", async () => {
    const body = JSON.stringify({ ...chat.body, padding: "x".repeat(40_000_000) });
    const refused = await world.sluice.request(chat.path, { key: world.credit, body });
    expect((await expectError(refused, "invalid_request", "A")).message).toMatch(/32|33554432|large/i);
  });
});
