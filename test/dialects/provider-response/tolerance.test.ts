import { expect, test } from "bun:test";
import type { JsonObject } from "../../../src/base/json.ts";
import { MessagesStreamReader } from "../../../src/dialects/anthropic-messages/provider/stream-in.ts";
import { ChatStreamReader } from "../../../src/dialects/openai-chat/provider/stream-in.ts";
import { ResponsesStreamReader } from "../../../src/dialects/openai-responses/provider/stream-in.ts";
import type { StreamReader } from "../../../src/dialects/provider-response/stream-reader.ts";
import { answerIn, foundAfter } from "../../support/read-stream.ts";

const readers: readonly [string, () => StreamReader][] = [
  ["chat", () => new ChatStreamReader({ target: null })],
  ["messages", () => new MessagesStreamReader({ target: null })],
  ["responses", () => new ResponsesStreamReader({ target: null })],
];

const events = (...all: (JsonObject | string)[]) =>
  all.map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`).join("");

test.each(readers)("a %s stream counts data that is not JSON, which alone makes no answer", (_, reader) => {
  const found = foundAfter(reader(), events("out of order", "[1]"));
  expect(found.started).toBe(false);
  expect(found.failure).toBeNull();
  expect(found.takeProduced()).toBe("out of order[1]");
  const [read] = reader().read({ event: "", data: "out of order" });
  expect(() => [...answerIn(read === undefined ? [] : [read])]).toThrow("not a JSON object");
});

test.each(readers)("a %s stream counts text in other dialects' forms", (_, reader) => {
  const found = foundAfter(
    reader(),
    events(
      { choices: [{ index: 0, delta: { content: "chat" } }] },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: " messages" } },
      { candidates: [{ content: { parts: [{ text: " gemini" }] } }] },
    ),
  );
  expect(found.takeProduced()).toBe("chat messages gemini");
  expect(found.started).toBe(true);
});

test.each(readers)("a %s stream fails by an error in any form, and not by an empty one", (_, reader) => {
  expect(foundAfter(reader(), events({ error: { message: "out of luck" } })).failure?.message).toBe(
    "out of luck",
  );
  expect(foundAfter(reader(), events({ error: { code: "", message: "" } })).failure).toBeNull();
  expect(foundAfter(reader(), events({ error: null })).failure).toBeNull();
});

test("a chat stream is not complete while one of its choices goes on", () => {
  const choice = (index: number, finish: string | null) => ({
    choices: [{ index, delta: { content: "Hi" }, finish_reason: finish }],
    usage: { prompt_tokens: 1, completion_tokens: 2 },
  });
  const reader = new ChatStreamReader({ target: null });
  expect(foundAfter(reader, events(choice(0, "stop"))).isComplete).toBe(true);
  const found = foundAfter(
    new ChatStreamReader({ target: null }),
    events(choice(0, "stop"), choice(1, null)),
  );
  expect(found.isComplete).toBe(false);
  expect(found.usage).toBeNull();
});

test("a call of Messages that comes whole counts with its input", () => {
  const block = { type: "tool_use", id: "t", name: "look", input: { q: "a" } };
  const found = foundAfter(
    new MessagesStreamReader({ target: null }),
    events({ type: "content_block_start", index: 0, content_block: block }),
  );
  expect(found.takeProduced()).toBe('look{"q":"a"}');
});

test("a search in a chat stream is found whether or not the stream is translated", () => {
  const usage = { prompt_tokens: 1, completion_tokens: 2, num_search_queries: 3 };
  const found = foundAfter(new ChatStreamReader({ target: null }), events({ choices: [], usage }));
  expect(found.extras?.calls).toEqual({ web_search: 3 });
});
