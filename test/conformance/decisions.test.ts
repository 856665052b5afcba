import { describe, expect, test } from "bun:test";
import type { ErrorCode } from "../../src/base/errors.ts";
import { anthropicError, drip, openAiError, sse } from "../support/answers.ts";
import { answerFrom, fixture } from "../support/fixtures.ts";
import { readStream, StreamReader } from "../support/sse.ts";
import { waitFor } from "../support/wait.ts";
import {
  type Body,
  chat,
  countTokens,
  expectError,
  generationRoutes,
  messagesRoute,
  responses,
} from "./requests.ts";
import { spentBy, usageOf } from "./usage.ts";
import { newKey, spareModel, useWorld } from "./world.ts";

const world = useWorld({ head: "[server]\nanonymous_rpm = 100000\nheartbeat = 0.2", hasSpares: true });

describe("what the interface leaves open", () => {
  test("5 checks run in order, and the first that refuses is the one that is told", async () => {
    const limited = await newKey(world, { rpm: 1 });
    const scoped = await newKey(world, { provider: "anthropic" });
    const poor = await newKey(world, { credit: 0.0001 });
    await waitFor(
      async () => (await world.sluice.request("/v1/usage", { key: limited })).status === 429,
      "an empty bucket",
    );
    const used = { "idempotency-key": "used" };
    await world.sluice.request(chat.path, {
      key: poor,
      body: { ...chat.body, max_tokens: 1 },
      headers: used,
    });
    const steps: [ErrorCode, Parameters<typeof world.sluice.request>[1] & { body: Body }][] = [
      ["invalid_credentials", { key: { ...limited, key: "slu_x" }, body: {} }],
      ["invalid_credentials", { key: limited, origin: "/token", body: {} }],
      ["rate_limit_exceeded", { key: limited, body: {} }],
      ["invalid_request", { key: scoped, body: { model: "none" } }],
      ["model_not_found", { key: scoped, body: { ...chat.body, model: "none", max_tokens: 9999 } }],
      ["key_disabled", { key: scoped, body: { ...chat.body, max_tokens: 9999 } }],
      ["invalid_request", { key: poor, body: { ...chat.body, max_tokens: 9999 }, headers: used }],
      ["idempotency_conflict", { key: poor, body: { ...chat.body, max_tokens: 4000 }, headers: used }],
      ["insufficient_credit", { key: poor, body: { ...chat.body, max_tokens: 4000 } }],
    ];
    const sent = world.provider.requests.length;
    for (const [code, options] of steps)
      await expectError(await world.sluice.request(chat.path, options), code, "A");
    expect(world.provider.requests.length).toBe(sent);
  });

  test("5 a disabled key on the wrong origin is told of the origin first", async () => {
    const key = await newKey(world);
    await world.sluice.cliJson("keys", "disable", key.id);
    const ask = (origin: "" | "/token") => world.sluice.request(chat.path, { key, origin, body: chat.body });
    await waitFor(async () => (await ask("")).status === 403, "the key to be disabled");
    await expectError(await ask("/token"), "invalid_credentials", "A");
  });

  test("2.8 messages of the role system are accepted with an anthropic-beta header, which is forwarded", async () => {
    const messages = [
      { role: "user", content: "x" },
      { role: "system", content: "y" },
    ];
    for (const route of [messagesRoute, countTokens]) {
      const body = { ...route.body, messages };
      await expectError(
        await world.sluice.request(route.path, { key: world.credit, body }),
        "invalid_request",
        "B",
      );
      const headers = { "anthropic-beta": "some-beta-2026-01-01" };
      const response = await world.sluice.request(route.path, { key: world.credit, body, headers });
      expect(response.status).toBe(200);
      expect(world.provider.requests.at(-1)?.headers["anthropic-beta"]).toBe("some-beta-2026-01-01");
    }
  });

  test("4.3 tools sent to a model without them are refused, in every dialect", async () => {
    for (const route of generationRoutes) {
      const body = { ...route.body, model: "local-test", tools: [{ type: "function", name: "f" }] };
      await expectError(
        await world.sluice.request(route.path, { key: world.credit, body }),
        "invalid_request",
        route.format,
      );
    }
  });

  test("4.8 a stored response is replayed after a restart, and a failed outcome runs again", async () => {
    const key = await newKey(world);
    const ask = (name: string, path = chat.path, body = chat.body) =>
      world.sluice.request(path, { key, body, headers: { "idempotency-key": name } });
    world.provider.script(openAiError(400, "the provider does not like it"));
    await expectError(await ask("failing"), "invalid_request", "A");
    world.provider.script(null);
    expect((await ask("failing")).headers.get("idempotent-replayed")).toBeNull();
    const first = await (await ask("kept")).text();
    const spent = await spentBy(world, key);
    await world.sluice.kill9();
    await world.sluice.restart();
    const again = await ask("kept");
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(await again.text()).toBe(first);
    expect(await spentBy(world, key)).toBe(spent);
    const elsewhere = await ask("kept", responses.path, responses.body);
    expect(elsewhere.status).toBe(200);
    expect(elsewhere.headers.get("idempotent-replayed")).toBeNull();
  });

  test("7.2 a provider's refusal of the request keeps the provider's message", async () => {
    for (const status of [400, 413, 422]) {
      world.provider.script(openAiError(status, "you may not say that"));
      for (const route of [chat, responses]) {
        const body = { ...route.body, model: spareModel() };
        const refused = await world.sluice.request(route.path, { key: world.credit, body });
        expect((await expectError(refused, "invalid_request", "A")).message).toContain(
          "you may not say that",
        );
      }
      world.provider.script(anthropicError(status, "invalid_request_error", "you may not say that"));
      const body = { ...messagesRoute.body, model: spareModel() };
      const refused = await world.sluice.request(messagesRoute.path, { key: world.credit, body });
      expect((await expectError(refused, "invalid_request", "B")).message).toContain("you may not say that");
    }
  });

  test("6.3 the charge is there once the end of a stream was read, whatever happens to the gateway", async () => {
    const key = await newKey(world);
    for (const [index, route] of generationRoutes.entries()) {
      const response = await world.sluice.request(route.path, { key, body: { ...route.body, stream: true } });
      await readStream(response);
      await world.sluice.kill9();
      await world.sluice.restart();
      expect((await usageOf(world, key)).requests.total).toBe(index + 1);
    }
  });

  test("6.3 a silent provider's stream gets heartbeats between events, in each dialect's way", async () => {
    for (const [route, name, beat] of [
      [chat, "chat/text.sse", ": keepalive"],
      [responses, "responses/text.sse", "event: keepalive"],
      [messagesRoute, "messages/text.sse", "event: ping"],
    ] as const) {
      const events = fixture(name).split(/(?<=\n\n)/);
      const silence = Promise.withResolvers<void>();
      world.provider.script({
        ...sse(""),
        steps: [
          { write: events.slice(0, 3).join("") },
          { until: silence.promise },
          { write: events.slice(3).join("") },
        ],
      });
      const body = { ...route.body, stream: true, stream_options: { include_usage: true } };
      const reader = new StreamReader(await world.sluice.request(route.path, { key: world.credit, body }));
      const own = fixture(name).split(beat).length - 1;
      const beats = () => reader.result().frames.filter(({ raw }) => raw.startsWith(beat)).length;
      while (beats() < own + 2) if ((await reader.nextChunk()) === null) throw new Error("the stream ended");
      silence.resolve();
      while ((await reader.nextChunk()) !== null);
      const { text } = reader.result();
      const others = text.split(/(?<=\n\n)/).filter((event) => !event.startsWith(beat));
      expect(others.join("")).toBe(events.filter((event) => !event.startsWith(beat)).join(""));
    }
  });

  test("6.1.8 many streams at once are each forwarded whole", async () => {
    world.provider.script(drip(answerFrom("chat/text.sse"), 5));
    const body = { ...chat.body, stream: true, stream_options: { include_usage: true } };
    const streams = Array.from({ length: 100 }, async () => {
      const { text } = await readStream(await world.sluice.request(chat.path, { key: world.token, body }));
      // Heartbeats are soon here, and a busy machine may let one be due.
      return text.replaceAll(": keepalive\n\n", "");
    });
    expect(new Set(await Promise.all(streams))).toEqual(new Set([fixture("chat/text.sse")]));
  });

  test("3 a key that is topped up by a command can spend it while the server runs", async () => {
    const key = await newKey(world, { credit: 0.000001 });
    const ask = async () => (await world.sluice.request(chat.path, { key, body: chat.body })).status;
    expect(await ask()).toBe(402);
    await world.sluice.cliJson("keys", "topup", key.id, "5");
    await waitFor(async () => (await ask()) === 200, "the top-up to be there");
  });
});
