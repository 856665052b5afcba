import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isObject, type Json, type JsonObject, tryParse } from "../../src/base/json.ts";
import { collectorOf } from "../../src/content/body-collector.ts";
import { joinerOf } from "../../src/content/join/stream-joiner.ts";

/** What a stream is joined to, as the thread does it: event by event. */
function joined(format: string, stream: string): Json {
  const collector = collectorOf({ kind: "events", format }, 1_000_000);
  const source = Buffer.from(stream);
  for (let start = 0; start < source.length; start += 97) collector.add(source.subarray(start, start + 97));
  const body = collector.end();
  return body?.kind === "value" ? body.value : null;
}

const fixtures = join(import.meta.dir, "../support/fixtures");

/** The recorded streams of vendors. */
function streamsOf(dialect: string): readonly (readonly [string, string])[] {
  const names = readdirSync(join(fixtures, dialect), { recursive: true }).map(String);
  return names
    .filter((name) => name.endsWith(".sse"))
    .map((name) => [name, readFileSync(join(fixtures, dialect, name), "utf8")] as const);
}

for (const dialect of ["chat", "messages", "responses"]) {
  for (const [name, stream] of streamsOf(dialect)) {
    test(`${dialect} ${name}: what repeats is joined as if every event were parsed`, () => {
      const joiner = joinerOf(dialect);
      for (const [, data = ""] of stream.matchAll(/^data: ?(.*)$/gm)) {
        const event = tryParse(data);
        if (isObject(event)) joiner.add(event, "");
      }
      const whole = joiner.joined();
      expect(joined(dialect, stream)).toEqual(whole);
      expect(whole).not.toBeNull();
    });
  }
}

const chat = (...deltas: JsonObject[]) =>
  deltas
    .map(
      (delta) =>
        `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta }] })}\n\n`,
    )
    .join("");

test("tool calls of a chat stream are joined by their places", () => {
  const stream = chat(
    { role: "assistant", content: null },
    { tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "one", arguments: "" } }] },
    { tool_calls: [{ index: 0, function: { arguments: '{"x":' } }] },
    { tool_calls: [{ index: 1, id: "b", type: "function", function: { name: "two", arguments: "{}" } }] },
    { tool_calls: [{ index: 0, function: { arguments: "1}" } }] },
  );
  expect(joined("chat", stream)).toEqual({
    id: "c",
    object: "chat.completion",
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: null,
          tool_calls: [
            { id: "a", type: "function", function: { name: "one", arguments: '{"x":1}' } },
            { id: "b", type: "function", function: { name: "two", arguments: "{}" } },
          ],
        },
      },
    ],
  });
});

test("texts that need escapes, and reasoning, are joined to what they say", () => {
  const stream = chat(
    { reasoning_content: "so " },
    { reasoning_content: 'a "quote"' },
    { content: "line\n" },
    { content: "é" },
    { content: "é" },
  );
  expect(joined("chat", stream)).toMatchObject({
    choices: [{ message: { reasoning_content: 'so a "quote"', content: "line\néé" } }],
  });
});

test("blocks of a message are joined by their kinds", () => {
  const event = (type: string, more: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
  const delta = (index: number, value: object) => event("content_block_delta", { index, delta: value });
  const start = (index: number, block: object) =>
    event("content_block_start", { index, content_block: block });
  const stream = [
    event("message_start", {
      message: { id: "m", type: "message", role: "assistant", content: [], usage: { input_tokens: 3 } },
    }),
    start(0, { type: "thinking", thinking: "", signature: "" }),
    delta(0, { type: "thinking_delta", thinking: "let me " }),
    delta(0, { type: "thinking_delta", thinking: "see" }),
    delta(0, { type: "signature_delta", signature: "sig" }),
    start(1, { type: "text", text: "" }),
    delta(1, { type: "text_delta", text: "It is" }),
    delta(1, { type: "citations_delta", citation: { cited_text: "x" } }),
    delta(1, { type: "text_delta", text: " 4." }),
    start(2, { type: "tool_use", id: "t", name: "add", input: {} }),
    delta(2, { type: "input_json_delta", partial_json: '{"a":' }),
    delta(2, { type: "input_json_delta", partial_json: "2}" }),
    event("message_delta", { delta: { stop_reason: "tool_use" }, usage: { output_tokens: 9 } }),
    event("message_stop", {}),
  ].join("");
  expect(joined("messages", stream)).toEqual({
    id: "m",
    type: "message",
    role: "assistant",
    content: [
      { type: "thinking", thinking: "let me see", signature: "sig" },
      { type: "text", text: "It is 4.", citations: [{ cited_text: "x" }] },
      { type: "tool_use", id: "t", name: "add", input: { a: 2 } },
    ],
    stop_reason: "tool_use",
    usage: { input_tokens: 3, output_tokens: 9 },
  });
});

test("a response that breaks has the items that came, and the text of the one that did not end", () => {
  const event = (type: string, more: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
  const stream = [
    event("response.created", { response: { id: "r", status: "in_progress", output: [] } }),
    event("response.output_item.done", {
      output_index: 0,
      item: { type: "reasoning", id: "a", summary: [] },
    }),
    event("response.output_item.added", { output_index: 1, item: { type: "message", id: "b", content: [] } }),
    event("response.output_text.delta", { output_index: 1, content_index: 0, delta: "half a " }),
    event("response.output_text.delta", { output_index: 1, content_index: 0, delta: "sentence" }),
    event("response.output_item.added", {
      output_index: 2,
      item: { type: "function_call", id: "c", arguments: "" },
    }),
    event("response.function_call_arguments.delta", { output_index: 2, delta: '{"x"' }),
  ].join("");
  expect(joined("responses", stream)).toEqual({
    id: "r",
    status: "in_progress",
    output: [
      { type: "reasoning", id: "a", summary: [] },
      { type: "message", id: "b", content: [{ type: "output_text", text: "half a sentence" }] },
      { type: "function_call", id: "c", arguments: '{"x"' },
    ],
  });
});

test("what is no stream, or has nothing in it, is nothing", () => {
  for (const dialect of ["chat", "messages", "responses", "metered"]) {
    expect(joined(dialect, "")).toBeNull();
    expect(joined(dialect, ": keepalive\n\ndata: [DONE]\n\n")).toBeNull();
  }
});

test("a Gemini stream is joined to one response, thoughts apart from what is said", () => {
  const stream = readFileSync(join(fixtures, "gemini/tools.sse"), "utf8");
  const { candidates, usageMetadata, modelVersion } = joined("gemini", stream) as {
    candidates: { content: { role: string; parts: JsonObject[] }; finishReason: string }[];
    usageMetadata: JsonObject;
    modelVersion: string;
  };
  const [first] = candidates;
  expect(candidates).toHaveLength(1);
  expect(first).toMatchObject({ finishReason: "STOP", content: { role: "model" } });
  const kinds = first?.content.parts.map((part) =>
    part["functionCall"] === undefined ? part["thought"] : "call",
  );
  expect(kinds?.slice(0, 3)).toEqual([true, "call", "call"]);
  expect([usageMetadata["candidatesTokenCount"], modelVersion]).toEqual([31, "gemini-3.1-pro-preview"]);
  const part = (text: string, more = {}) =>
    `data: ${JSON.stringify({ candidates: [{ index: 0, content: { parts: [{ text, ...more }] } }] })}\n\n`;
  expect(joined("gemini", part("a") + part("b") + part("so", { thought: true }) + part("c"))).toMatchObject({
    candidates: [{ content: { parts: [{ text: "ab" }, { text: "so", thought: true }, { text: "c" }] } }],
  });
  const failed = 'data: {"error":{"code":503,"message":"overloaded"}}\n\n';
  expect(joined("gemini", part("a") + failed)).toMatchObject({ error: { code: 503 }, candidates: [{}] });
});

test("a Converse stream is joined to one response", () => {
  const stream = (name: string) => readFileSync(join(fixtures, `converse/${name}.sse`), "utf8");
  expect(joined("converse", stream("tools"))).toEqual({
    output: {
      message: {
        role: "assistant",
        content: [
          { toolUse: { toolUseId: "tooluse_Kq2x", name: "get_weather", input: { city: "Zürich" } } },
          { toolUse: { toolUseId: "tooluse_9bPd", name: "get_time", input: {} } },
        ],
      },
    },
    stopReason: "tool_use",
    usage: { inputTokens: 61, outputTokens: 31, totalTokens: 92 },
    metrics: { latencyMs: 812 },
  });
  expect(joined("converse", stream("reasoning"))).toMatchObject({
    output: {
      message: {
        content: [
          {
            reasoningContent: {
              reasoningText: {
                text: expect.stringMatching(/^Water finds its level/),
                signature: "EqkBCkYIBxgCKkDf+/==",
              },
            },
          },
          { text: expect.any(String) },
        ],
      },
    },
  });
  const broken = 'event: error\ndata: {"type":"error","error":{"message":"overloaded"}}\n\n';
  expect(joined("converse", broken)).toEqual({ error: { message: "overloaded" } });
});
