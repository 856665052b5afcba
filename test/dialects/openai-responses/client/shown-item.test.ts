import { expect, test } from "bun:test";
import type { ResponseItem } from "openai/resources/responses/responses";
import { shownItem } from "../../../../src/dialects/openai-responses/client/shown-item.ts";
import { describeItem } from "../../../../src/dialects/openai-responses/client/turn-items.ts";

const id = "item_1";
const status = "completed";
const image = { type: "input_image", image_url: "data:image/png;base64,AA==" } as const;
const call = { type: "function_call", call_id: "call_1", name: "look", arguments: "{}" } as const;
const output = { type: "function_call_output", call_id: "call_1", output: "a lock" } as const;
const custom = { type: "custom_tool_call", call_id: "call_2", name: "draw", input: "a lock" } as const;
const drawn = { type: "custom_tool_call_output", call_id: "call_2", output: "done" } as const;
const reasoning = { type: "reasoning", summary: [], encrypted_content: "x" } as const;

/** What a client may send, and what the official SDK's types say that a server lists. */
const cases: readonly [string, object, ResponseItem][] = [
  [
    "a text of the user",
    { role: "user", content: "Hello" },
    { id, type: "message", role: "user", status, content: [{ type: "input_text", text: "Hello" }] },
  ],
  [
    "a text of the assistant",
    { role: "assistant", content: "Hello" },
    {
      id,
      type: "message",
      role: "assistant",
      status,
      content: [{ type: "output_text", text: "Hello", annotations: [] }],
    },
  ],
  [
    "an image",
    { type: "message", role: "user", content: [image] },
    { id, type: "message", role: "user", status, content: [{ ...image, detail: "auto" }] },
  ],
  ["a call", call, { ...call, id, status }],
  ["a call whose status is null", { ...call, status: null }, { ...call, id, status }],
  ["a call that was not completed", { ...call, status: "incomplete" }, { ...call, id, status: "incomplete" }],
  ["what a call gave", output, { ...output, id, status }],
  [
    "an image that a call gave",
    { ...output, output: [image] },
    { ...output, id, status, output: [{ ...image, detail: "auto" }] },
  ],
  ["a custom call", custom, { ...custom, id, status }],
  ["what a custom call gave", drawn, { ...drawn, id, status }],
  ["reasoning, which needs no status", reasoning, { ...reasoning, id, summary: [] }],
];

test.each(cases)("%s is shown with what clients may leave out", (_, sent, shown) => {
  const item = describeItem(Buffer.from(JSON.stringify(sent)));
  expect<unknown>(shownItem({ ...item, id })).toEqual(shown);
});
