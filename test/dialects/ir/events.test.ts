import { expect, test } from "bun:test";
import { EventCollector } from "../../../src/dialects/ir/events.ts";
import type { IrResponse } from "../../../src/dialects/ir/ir.ts";
import { eventsOf } from "../ir-events.ts";

test("the events of a response are collected into the same response, with what it cites", () => {
  const page = { url: "https://a.example/sky", title: "Sky", citedText: "Blue.", span: { start: 0, end: 3 } };
  const response: IrResponse = {
    blocks: [
      { type: "reasoning", parts: ["a", "b"], signature: { maker: "chat" } },
      { type: "text", text: "The sky", citations: [page, { ...page, span: null }] },
      { type: "text", text: " is blue." },
      { type: "refusal", text: "No more." },
      { type: "tool_call", id: "call_1", kind: "function", namespace: null, name: "look", input: "{}" },
    ],
    finish: { reason: "tool_calls", stopSequence: null, explanation: null },
    usage: null,
    serviceTier: "default",
  };
  const collector = new EventCollector();
  for (const event of eventsOf(response)) collector.push(event);
  expect(collector.response()).toEqual(response);
});
