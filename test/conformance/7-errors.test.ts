import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { anthropicError, hangUp, json, openAiError, redirect, silence, text } from "../support/answers.ts";
import { answerFrom } from "../support/fixtures.ts";
import { waitFor } from "../support/wait.ts";
import { chat, expectError, generationRoutes, messagesRoute, responses } from "./requests.ts";
import { noneReserved, spentBy } from "./usage.ts";
import { newKey, spareModel, useWorld } from "./world.ts";

const world = useWorld({ hasSpares: true });

const ask = (route: typeof chat, change: JsonObject = {}, headers: Record<string, string> = {}) =>
  world.sluice.request(route.path, { key: world.credit, body: { ...route.body, ...change }, headers });

describe("7.1 Envelopes", () => {
  test("7.1 chat completions, responses, models and usage use the Format A envelope", async () => {
    for (const path of ["/v1/models", "/v1/models/gpt-test", "/v1/usage"]) {
      const headers = { authorization: "Bearer x", "anthropic-version": "2023-06-01" };
      await expectError(await world.sluice.request(path, { headers }), "invalid_credentials", "A");
      const wrong = await world.sluice.request(path, { headers, method: "DELETE" });
      await expectError(wrong, "method_not_allowed", "A");
    }
    for (const route of [chat, responses])
      await expectError(await ask(route, { model: "none" }), "model_not_found", "A");
  });

  test("7.1 messages and count_tokens use the Format B envelope, with the native error types", async () => {
    const typeOf = async (response: Response) => {
      const body = (await response.json()) as { type: string; error: { type: string } };
      expect(body.type).toBe("error");
      return [response.status, body.error.type];
    };
    expect(await typeOf(await ask(messagesRoute, { messages: [] }))).toEqual([400, "invalid_request_error"]);
    expect(await typeOf(await world.sluice.request(messagesRoute.path, { body: {} }))).toEqual([
      401,
      "authentication_error",
    ]);
    expect(await typeOf(await ask(messagesRoute, { model: "none" }))).toEqual([404, "not_found_error"]);
    const poor = await newKey(world, { credit: 0.000001 });
    const unpaid = await world.sluice.request(messagesRoute.path, { key: poor, body: messagesRoute.body });
    expect(await typeOf(unpaid)).toEqual([402, "billing_error"]);
    const scoped = await newKey(world, { provider: "openai" });
    const foreign = await world.sluice.request(messagesRoute.path, { key: scoped, body: messagesRoute.body });
    expect(await typeOf(foreign)).toEqual([403, "permission_error"]);
    world.provider.script(anthropicError(529, "overloaded_error", "busy"));
    expect(await typeOf(await ask(messagesRoute, { model: spareModel() }))).toEqual([
      503,
      "overloaded_error",
    ]);
    expect(await typeOf(await ask(messagesRoute, { model: "dead-test" }))).toEqual([502, "api_error"]);
    world.provider.script(silence());
    expect(await typeOf(await ask(messagesRoute, { model: spareModel("slow") }))).toEqual([
      504,
      "timeout_error",
    ]);
  });

  test("7.1 429 and 503 carry Retry-After, the provider's own where it gave one", async () => {
    for (const route of generationRoutes) {
      world.provider.script(openAiError(503, "busy", null, { "retry-after": "7" }));
      const refused = await ask(route, { model: spareModel() });
      const { response } = await expectError(refused, "service_unavailable", route.format);
      expect(response.headers.get("retry-after")).toBe("7");
    }
  });
});

describe("7.2 Codes", () => {
  test("7.2 invalid_credentials: key missing, malformed or revoked", async () => {
    await expectError(await world.sluice.request(chat.path, { body: chat.body }), "invalid_credentials", "A");
  });

  test("7.2 key_expired: key has expired", async () => {
    const key = await newKey(world, { expires: "2s" });
    const request = () => world.sluice.request(chat.path, { key, body: chat.body });
    await waitFor(async () => (await request()).status === 403, "the key to expire");
    await expectError(await request(), "key_expired", "A");
  });

  test("7.2 key_disabled: key disabled, or scoped to a different provider than the requested model", async () => {
    const key = await newKey(world, { provider: "local" });
    await expectError(await world.sluice.request(chat.path, { key, body: chat.body }), "key_disabled", "A");
  });

  test("7.2 rate_limit_exceeded: per-key requests-per-minute limit exceeded, on every authenticated route", async () => {
    const key = await newKey(world, { rpm: 2 });
    const request = () => world.sluice.request("/v1/usage", { key });
    await waitFor(async () => (await request()).status === 429, "the bucket to be empty");
    const { response } = await expectError(await request(), "rate_limit_exceeded", "A");
    expect(Number(response.headers.get("retry-after"))).toBeWithin(1, 31);
    expect(response.headers.get("x-ratelimit-limit-requests")).toBe("2");
    expect(response.headers.get("x-ratelimit-remaining-requests")).toBe("0");
    for (const route of generationRoutes) {
      const refused = await world.sluice.request(route.path, { key, body: route.body });
      await expectError(refused, "rate_limit_exceeded", route.format);
    }
    await expectError(await world.sluice.request("/v1/models", { key }), "rate_limit_exceeded", "A");
    expect(world.provider.requests).toEqual([]);
  });

  test("7.2 balance_temporarily_reserved: another in-flight request is reserving the key's available balance", async () => {
    const key = await newKey(world, { credit: 0.003 });
    const release = Promise.withResolvers<void>();
    world.provider.script({ ...answerFrom("messages/text.json"), before: [{ until: release.promise }] });
    const arrived = world.provider.nextRequest();
    const body = { ...messagesRoute.body, max_tokens: 1000 };
    const first = world.sluice.request(messagesRoute.path, { key, body });
    await arrived;
    const second = await world.sluice.request(messagesRoute.path, { key, body });
    await expectError(second, "balance_temporarily_reserved", "B");
    release.resolve();
    expect((await first).status).toBe(200);
  });

  test("7.2 limit_reached: the token budget for the period is used up", async () => {
    const key = await newKey(world, { mode: "token_budget", budget: 500, period: "day" });
    const usage = { prompt_tokens: 400, completion_tokens: 100, total_tokens: 500 };
    const answer = JSON.parse(Buffer.from(bytesOfFixture()).toString());
    world.provider.script(json({ ...answer, usage }));
    const request = () => world.sluice.request(chat.path, { key, body: { ...chat.body, max_tokens: 50 } });
    expect((await request()).status).toBe(200);
    const { response } = await expectError(await request(), "limit_reached", "A");
    expect(Number(response.headers.get("retry-after"))).toBeWithin(1, 86_401);
    expect(response.headers.get("x-should-retry")).toBe("false");
  });

  test("7.2 insufficient_credit: not enough available credit or tokens to start the request", async () => {
    const credit = await newKey(world, { credit: 0.0005 });
    const token = await newKey(world, { mode: "token_budget", budget: 500 });
    for (const key of [credit, token]) {
      const body = { ...chat.body, max_tokens: 1000 };
      const refused = await world.sluice.request(chat.path, { key, body });
      expect((await expectError(refused, "insufficient_credit", "A")).message).toMatch(/\d/);
      expect((await world.sluice.request(chat.path, { key, body: { ...body, max_tokens: 50 } })).status).toBe(
        200,
      );
    }
  });

  test("7.2 invalid_request: missing model, empty messages, malformed tool_calls, and bodies that are none", async () => {
    const { model: _, ...withoutModel } = chat.body;
    const bad = {
      messages: [{ role: "assistant", tool_calls: [{ id: "c", type: "function", function: { name: "" } }] }],
    };
    for (const [body, param] of [
      [withoutModel, "model"],
      [{ ...chat.body, messages: [] }, "messages"],
      [{ ...chat.body, ...bad }, "messages[0].tool_calls[0].function.name"],
    ] as const) {
      const refused = await world.sluice.request(chat.path, { key: world.credit, body });
      expect((await expectError(refused, "invalid_request", "A")).param).toBe(param);
    }
    const deep = `{"model":"gpt-test","messages":[{"role":"user","content":"x"}],"x":${"[".repeat(70)}${"]".repeat(70)}}`;
    const notUtf8 = new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]);
    for (const body of [
      "",
      "nonsense",
      "[]",
      "null",
      '{"model":NaN}',
      '{"model":"a","model":"b"}',
      deep,
      notUtf8,
    ]) {
      for (const { path, format } of generationRoutes) {
        const refused = await world.sluice.request(path, {
          key: world.credit,
          body,
          headers: { "content-type": "text/plain" },
        });
        await expectError(refused, "invalid_request", format);
      }
    }
    expect(world.provider.requests).toEqual([]);
  });

  test("7.2 model_not_found: model id is not in the catalog", async () => {
    for (const route of generationRoutes)
      await expectError(await ask(route, { model: "none" }), "model_not_found", route.format);
  });

  test("7.2 context_length_exceeded: input beyond the window, by estimate or by the provider's word", async () => {
    const content = "many words ".repeat(20_000);
    await expectError(
      await ask(chat, { model: "local-test", messages: [{ role: "user", content }] }),
      "context_length_exceeded",
      "A",
    );
    expect(world.provider.requests).toEqual([]);
    world.provider.script(
      openAiError(400, "This model's maximum context length is 200000 tokens.", "context_length_exceeded"),
    );
    for (const route of [chat, responses])
      await expectError(await ask(route), "context_length_exceeded", "A");
    world.provider.script(
      anthropicError(400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum"),
    );
    const { message } = await expectError(await ask(messagesRoute), "context_length_exceeded", "B");
    expect(message).toBe("prompt is too long: 250000 tokens > 200000 maximum");
  });

  test("7.2 provider_unavailable: the provider cannot be reached", async () => {
    for (const route of generationRoutes) {
      for (const stream of [false, true]) {
        await expectError(
          await ask(route, { model: "dead-test", stream }),
          "provider_unavailable",
          route.format,
        );
      }
    }
  });

  test("7.2 upstream_error: the provider returned an error, an invalid response or timed out", async () => {
    const key = await newKey(world);
    for (const answer of [
      openAiError(500, "secret detail of the provider's account"),
      openAiError(401, "Incorrect API key provided: sk-upstream-openai-canary"),
      openAiError(403, "not allowed"),
      openAiError(404, "no such model"),
      text("<html>busy</html>", "text/html"),
      text('{"id":', "application/json"),
      json({ error: { message: "broken", type: "server_error" } }),
      redirect("http://127.0.0.1:9/"),
    ]) {
      for (const stream of [false, true]) {
        for (const route of generationRoutes) {
          world.provider.script(answer);
          const model = spareModel();
          const refused = await world.sluice.request(route.path, {
            key,
            body: { ...route.body, model, stream },
          });
          const { message } = await expectError(refused, "upstream_error", route.format);
          expect(message).not.toMatch(/canary|secret|sk-/);
        }
      }
    }
    world.provider.script(silence());
    for (const route of [chat, responses]) {
      await expectError(await ask(route, { model: spareModel("slow") }), "upstream_error", "A");
    }
    await noneReserved(world, key);
    expect(await spentBy(world, key)).toBe(0);
  });

  test("7.2 upstream_timeout: the provider took too long, on messages", async () => {
    world.provider.script(silence());
    for (const stream of [false, true]) {
      await expectError(
        await ask(messagesRoute, { model: spareModel("slow"), stream }),
        "upstream_timeout",
        "B",
      );
    }
  });

  test("7.2 409: the idempotency key conflicts with another request, or duplicates one in flight", async () => {
    for (const route of generationRoutes) {
      const headers = { "idempotency-key": `conflict ${route.path}` };
      expect((await ask(route, {}, headers)).status).toBe(200);
      await expectError(await ask(route, { user: "other" }, headers), "idempotency_conflict", route.format);
      const release = Promise.withResolvers<void>();
      const usual = world.provider.nextRequest();
      world.provider.script(async () => {
        await release.promise;
        return openAiError(400, "broken");
      });
      const pending = ask(route, {}, { "idempotency-key": `flying ${route.path}` });
      await usual;
      const duplicate = await ask(route, {}, { "idempotency-key": `flying ${route.path}` });
      await expectError(duplicate, "idempotency_in_flight", route.format);
      release.resolve();
      await pending;
      world.provider.script(null);
      expect((await ask(route, {}, { "idempotency-key": `flying ${route.path}` })).status).toBe(200);
    }
  });

  test("7.2 503 service_unavailable: the provider is overloaded", async () => {
    for (const status of [429, 503, 529]) {
      world.provider.script(openAiError(status, "busy"));
      for (const route of generationRoutes) {
        await expectError(await ask(route, { model: spareModel() }), "service_unavailable", route.format);
      }
    }
  });

  test("7.2 502: a provider that hangs up before it answers", async () => {
    world.provider.script(hangUp());
    for (const route of generationRoutes) {
      const response = await ask(route, { model: spareModel() });
      expect(response.status).toBe(502);
    }
  });
});

describe("7.3 Retry rules", () => {
  test("7.3 what must not be retried says so to the official clients, and the rest does not", async () => {
    const { response } = await expectError(
      await ask(chat, { model: "dead-test" }),
      "provider_unavailable",
      "A",
    );
    expect(response.headers.get("x-should-retry")).toBeNull();
    const poor = await newKey(world, { credit: 0.000001 });
    const unpaid = await world.sluice.request(chat.path, { key: poor, body: chat.body });
    expect(unpaid.headers.get("x-should-retry")).toBe("false");
  });
});

function bytesOfFixture(): Uint8Array {
  const [step] = answerFrom("chat/text.json").steps;
  if (step === undefined || !("write" in step)) throw new Error("the fixture has a body");
  return Buffer.from(step.write);
}
