import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/base/json.ts";
import { MessagesStreamReader } from "../../../src/dialects/anthropic-messages/provider/stream-in.ts";
import { ChatStreamReader } from "../../../src/dialects/openai-chat/provider/stream-in.ts";
import { ResponsesStreamReader } from "../../../src/dialects/openai-responses/provider/stream-in.ts";
import type { StreamFindings } from "../../../src/dialects/provider-response/stream-findings.ts";
import type { StreamReader } from "../../../src/dialects/provider-response/stream-reader.ts";
import { seededRandom } from "../../support/random.ts";
import { foundAfter } from "../../support/read-stream.ts";

/** What is charged for a stream that breaks off after these events. */
function producedBy(reader: StreamReader, events: readonly JsonObject[]): string {
  const found = foundBy(reader, events);
  const produced = found.takeProduced();
  expect(found.started).toBe(produced !== "" || found.extras?.calls !== undefined || found.failure !== null);
  return produced;
}

function foundBy(reader: StreamReader, events: readonly JsonObject[]): StreamFindings {
  return foundAfter(reader, events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
}

describe("in a chat stream the text counts, wherever it is:", () => {
  const ofDelta = (delta: JsonObject) =>
    producedBy(new ChatStreamReader({ target: null }), [
      { id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: null }] },
    ]);
  const fn = { name: "f", arguments: "(a)" };

  test.each<[string, JsonObject, string]>([
    ["content", { role: "assistant", content: "Hi" }, "Hi"],
    ["reasoning", { reasoning_content: "Hm", content: null }, "Hm"],
    ["Copilot's reasoning", { reasoning_text: "Hm" }, "Hm"],
    ["a refusal", { refusal: "No" }, "No"],
    ["a call", { tool_calls: [{ index: 0, id: "call_1", type: "function", function: fn }] }, "f(a)"],
    ["a custom call", { tool_calls: [{ id: "call_1", custom: { name: "f", input: "x" } }] }, "fx"],
    ["a call of the older form", { function_call: fn }, "f(a)"],
    ["Mistral's parts", { content: [{ type: "text", text: "Hi" }] }, "Hi"],
    ["its thinking", { content: [{ type: "thinking", thinking: [{ type: "text", text: "Hm" }] }] }, "Hm"],
    ["details alone", { reasoning_details: [{ type: "reasoning.text", text: "Hm" }] }, "Hm"],
    ["details beside the reasoning", { reasoning: "Hm", reasoning_details: [{ text: "Hm" }] }, "Hm"],
    ["speech", { audio: { id: "audio_1", transcript: "Hello", data: "UklGRiQA" } }, "Hello"],
    ["but not sources", { annotations: [{ url_citation: { content: "quoted", title: "t" } }] }, ""],
  ])("%s", (_, delta, text) => {
    expect(ofDelta(delta)).toBe(text);
  });
});

describe("in a stream of Messages the text counts, wherever it is:", () => {
  const block = (content_block: JsonObject) => ({ type: "content_block_start", index: 0, content_block });
  const delta = (inner: JsonObject) => ({ type: "content_block_delta", index: 0, delta: inner });

  test.each<[string, JsonObject, string]>([
    ["a delta", delta({ type: "text_delta", text: "Hi" }), "Hi"],
    ["a compaction", delta({ type: "compaction_delta", content: "In short" }), "In short"],
    ["a block that begins with it", block({ type: "text", text: "Hi" }), "Hi"],
    ["a call", block({ type: "tool_use", id: "t", name: "f", input: {} }), "f"],
    ["but not a tool's result", block({ type: "web_search_tool_result", content: [{ title: "t" }] }), ""],
  ])("%s", (_, event, text) => {
    expect(producedBy(new MessagesStreamReader({ target: null }), [event])).toBe(text);
  });
});

describe("in a stream of Responses", () => {
  const events = (...all: JsonObject[]) => producedBy(new ResponsesStreamReader({ target: null }), all);
  const message = { type: "message", id: "m", content: [{ type: "output_text", text: "Hi" }] };
  const call = { type: "function_call", id: "fc", name: "f", arguments: "(a)" };
  const done = (output_index: number, item: JsonObject) => ({
    type: "response.output_item.done",
    output_index,
    item,
  });
  const delta = { type: "response.output_text.delta", output_index: 0, delta: "Hi" };

  test("the deltas of an item count, and not the item again", () => {
    expect(events(delta, done(0, message))).toBe("Hi");
  });

  test("an item that came without deltas counts as a whole, its name once", () => {
    const added = { type: "response.output_item.added", output_index: 1, item: { ...call, arguments: "" } };
    expect(events(delta, done(0, message), added, done(1, call))).toBe("Hif(a)");
    expect(events(done(0, message))).toBe("Hi");
  });

  test("each item counts once, in whatever events it comes, and whichever of them have its number", () => {
    const random = seededRandom(3);
    for (let round = 0; round < 300; round += 1) {
      const all: JsonObject[] = [];
      const texts = ["Sluices", "keep the canal", "navigable, if slowly."].map((text, index) => {
        const id = `m${index}`;
        const item = { type: "message", id, content: [{ type: "output_text", text }] };
        const add = (kind: string, more: JsonObject) => {
          const numbered = random.chance(0.5) ? { output_index: index } : {};
          all.push({ type: `response.${kind}`, item_id: id, ...numbered, ...more });
        };
        const isStreamed = random.chance(0.6);
        if (random.chance(0.6)) add("output_item.added", { item: { ...item, content: [] } });
        if (isStreamed) for (const delta of text) add("output_text.delta", { delta });
        if (random.chance(0.5)) add("output_text.done", { text });
        if (!isStreamed || random.chance(0.5)) add("output_item.done", { item });
        return text;
      });
      expect(events(...all)).toBe(texts.join(""));
    }
  });

  test("what follows a failure takes nothing from what came before it", () => {
    const delta = (text: string) => ({ type: "response.output_text.delta", output_index: 0, delta: text });
    const usage = { input_tokens: 9, output_tokens: 0 };
    const failed = { type: "response.failed", response: { id: "r", status: "failed", usage } };
    const whole = { type: "response.output_text.done", output_index: 0, text: "Sluices keep the canal" };
    expect(events(delta("Sluices"), delta(" keep"), failed, whole)).toBe("Sluices keep");
  });

  test("what a search has found does not count, but the search does", () => {
    const search = done(0, { type: "file_search_call", results: [{ text: "found" }] });
    const found = foundBy(new ResponsesStreamReader({ target: null }), [search]);
    expect(found.takeProduced()).toBe("");
    expect(found.started).toBe(true);
    expect(found.extras?.calls).toEqual({ file_search: 1 });
  });
});
