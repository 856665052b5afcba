import { describe, expect, test } from "bun:test";
import { configSchema } from "../../src/config/schema.ts";
import { chatChunk } from "../../src/dialects/openai-chat/client/schema.ts";
import { cutAfter, cutBefore, drip, sse } from "../support/answers.ts";
import { answerFrom, fixture, fixtureText } from "../support/fixtures.ts";
import { dataOf, readStream, StreamReader } from "../support/sse.ts";
import { waitFor } from "../support/wait.ts";
import { chat, expectShape, generationRoutes, messagesRoute, responses } from "./requests.ts";
import { noneReserved, spentBy, usageOf } from "./usage.ts";
import { newKey, useWorld } from "./world.ts";

const world = useWorld();

interface Chunk {
  readonly object: string;
  readonly choices: {
    index: number;
    delta: { role?: string; content?: string };
    finish_reason: string | null;
  }[];
}

const streamed = (route: typeof chat) => ({ ...route.body, stream: true });
const openChat = (model = "gpt-test") =>
  world.sluice.request(chat.path, { key: world.credit, body: { ...streamed(chat), model } });

/** Passed through, and translated from a provider that speaks another dialect. */
const bothWays = ["gpt-test", "claude-test"];

describe("6.1 Streaming (chat completions)", () => {
  test("6.1.1 stream: true in the body gives a text/event-stream, on both origins", async () => {
    for (const key of world.both) {
      const response = await world.sluice.request(chat.path, { key, body: streamed(chat) });
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toStartWith("text/event-stream");
      expect((await readStream(response)).failure).toBeNull();
    }
  });

  test("6.1.2 each event is one line, data: and a JSON object", async () => {
    for (const model of bothWays) {
      const { frames } = await readStream(await openChat(model));
      for (const frame of frames.slice(0, -1)) expect(frame.raw).toMatch(/^data: \{.*\}$/);
    }
  });

  test("6.1.3 each object is a chat.completion.chunk with id, created, model and choices", async () => {
    for (const model of bothWays) {
      for (const chunk of dataOf(await readStream(await openChat(model)))) expectShape(chatChunk, chunk);
    }
  });

  test("6.1.4 6.1.5 6.1.6 choices have index, delta and finish_reason: first the role and no text, then text, null until the end", async () => {
    for (const model of bothWays) {
      const choices = dataOf<Chunk>(await readStream(await openChat(model))).flatMap(
        (chunk) => chunk.choices,
      );
      expect(choices[0]?.delta).toMatchObject({ role: "assistant", content: "" });
      expect(choices.every((choice) => choice.index === 0)).toBe(true);
      expect(choices.map((choice) => choice.delta.content ?? "").join("")).toBe(fixtureText);
      expect(choices.map((choice) => choice.finish_reason)).toEqual([
        ...choices.slice(1).map(() => null),
        "stop",
      ]);
    }
  });

  test("6.1.7 the stream ends with the literal line data: [DONE]", async () => {
    for (const model of bothWays) {
      expect((await readStream(await openChat(model))).text).toEndWith("\n\ndata: [DONE]\n\n");
    }
  });

  test("6.1.8 the stream is not buffered: provider bytes are forwarded as they arrive, in every dialect", async () => {
    for (const route of generationRoutes) {
      const release = Promise.withResolvers<void>();
      const whole = answerFrom(`${nameOf(route)}/text.sse`);
      const text = fixture(`${nameOf(route)}/text.sse`);
      const half = text.indexOf("navigable");
      world.provider.script({
        ...whole,
        steps: [{ write: text.slice(0, half) }, { until: release.promise }, { write: text.slice(half) }],
      });
      const response = await world.sluice.request(route.path, { key: world.credit, body: streamed(route) });
      const reader = new StreamReader(response);
      await reader.until("the");
      release.resolve();
      while ((await reader.nextChunk()) !== null);
      expect(reader.result().text).toContain("navigable");
    }
  });

  test("6.1.9 streaming responses carry Cache-Control: no-store", async () => {
    for (const route of generationRoutes) {
      const response = await world.sluice.request(route.path, { key: world.credit, body: streamed(route) });
      expect(response.headers.get("cache-control")).toBe("no-store");
      await readStream(response);
    }
  });

  test("6.1.10 a stream ends after 5 minutes in all, with an error inside the stream", async () => {
    expect(configSchema.properties.server.properties.request_timeout.default).toBe("5m");
    world.provider.script(
      drip(sse(fixture("chat/text.sse").repeat(20).replaceAll("data: [DONE]\n\n", "")), 100),
    );
    const body = { ...streamed(chat), model: "short-test" };
    const { text, failure } = await readStream(
      await world.sluice.request(chat.path, { key: world.credit, body }),
    );
    expect(failure).toBeNull();
    expect(text).not.toContain("[DONE]");
    expect(text.trimEnd().split("\n").at(-1)).toContain('"error":{');
    await waitFor(() => world.provider.aborted.length === 1, "the provider to be left");
  });
});

describe("6.2 Cancellation", () => {
  test("6.2.1 6.2.2 closing the connection cancels, and generation is stopped upstream", async () => {
    for (const route of generationRoutes) {
      world.provider.reset();
      const whole = answerFrom(`${nameOf(route)}/text.sse`);
      world.provider.script(cutAfter(whole, 1500, [{ stall: true }]));
      const leaving = new AbortController();
      const response = await world.sluice.request(route.path, {
        key: world.credit,
        body: streamed(route),
        signal: leaving.signal,
      });
      await new StreamReader(response).nextChunk();
      leaving.abort();
      await waitFor(() => world.provider.aborted.length === 1, "the provider to be left");
    }
  });

  test("6.2.3 6.2.4 tokens already produced are billed, and no usage record is written", async () => {
    for (const key of [await newKey(world), await newKey(world, { mode: "token_budget" })]) {
      world.provider.script(cutBefore(answerFrom("chat/text.sse"), '"stop"', [{ stall: true }]));
      const leaving = new AbortController();
      const response = await world.sluice.request(chat.path, {
        key,
        body: streamed(chat),
        signal: leaving.signal,
      });
      await new StreamReader(response).until("😀");
      leaving.abort();
      await noneReserved(world, key);
      const summary = await usageOf(world, key);
      // By the tokenizer, 5 tokens were asked and 13 were answered, at 1 and 2 USD per million.
      expect(await spentBy(world, key)).toBe(key.mode === "credit" ? (5 * 1 + 13 * 2) / 1_000_000 : 5 + 13);
      expect(summary.requests.total).toBe(0);
      expect(summary.tokens.total).toBe(0);
    }
  });

  test("6.2.3 a call that is cancelled before anything was produced costs nothing", async () => {
    const key = await newKey(world);
    world.provider.script(cutAfter(answerFrom("chat/text.sse"), 0, [{ stall: true }]));
    const leaving = new AbortController();
    const arrived = world.provider.nextRequest();
    const pending = world.sluice.request(chat.path, { key, body: streamed(chat), signal: leaving.signal });
    await arrived;
    leaving.abort();
    await pending.catch(() => {});
    await noneReserved(world, key);
    expect(await spentBy(world, key)).toBe(0);
  });
});

describe("6.3 Other streams", () => {
  test("6.3 the responses stream is named events from response.created to response.completed", async () => {
    const { frames, text } = await readStream(
      await world.sluice.request(responses.path, { key: world.credit, body: streamed(responses) }),
    );
    expect(frames.at(0)?.event).toBe("response.created");
    expect(frames.at(-1)?.event).toBe("response.completed");
    expect(text).toBe(fixture("responses/text.sse"));
  });

  test("6.3 the message stream is named events from message_start to message_stop", async () => {
    const { frames, text } = await readStream(
      await world.sluice.request(messagesRoute.path, { key: world.credit, body: streamed(messagesRoute) }),
    );
    expect(frames.at(0)?.event).toBe("message_start");
    expect(frames.at(-1)?.event).toBe("message_stop");
    expect(text).toBe(fixture("messages/text.sse"));
  });

  test("6.3 an error after the stream has begun is told in the dialect's own way, and never looks like an end", async () => {
    for (const route of generationRoutes) {
      // A pause before the reset, because a reset throws away what the other side has not read yet.
      for (const then of [[], [{ sleepMs: 50 }, { reset: true }]] as const) {
        world.provider.script(cutBefore(answerFrom(`${nameOf(route)}/text.sse`), "navigable", then));
        const response = await world.sluice.request(route.path, { key: world.credit, body: streamed(route) });
        const { frames, failure, text } = await readStream(response);
        expect(failure, "the client's stream itself ends properly").toBeNull();
        const last = frames.findLast((frame) => frame.data.startsWith("{"));
        const data = JSON.parse(last?.data ?? "{}");
        if (route === chat) {
          expect(data.error).toMatchObject({ code: "upstream_error", type: "api_error" });
          expect(text).not.toContain("[DONE]");
        } else if (route === responses) {
          expect(last?.event).toBe("response.failed");
          expect(data.response).toMatchObject({ status: "failed" });
        } else {
          expect(last?.event).toBe("error");
          expect(data).toMatchObject({ type: "error", error: { type: "api_error" } });
          expect(text).not.toContain("message_stop");
        }
      }
    }
  });
});

function nameOf(route: typeof chat): "chat" | "responses" | "messages" {
  if (route === chat) return "chat";
  return route === responses ? "responses" : "messages";
}
