import { expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { StreamedItems } from "../../src/dialects/openai-responses/client/streamed-items.ts";
import { PassthroughRelayer } from "../../src/gateway/response/passthrough-relayer.ts";

/** What a stored response keeps of the stream that it came in. */

const item = { id: "msg_1", type: "message", content: [{ type: "output_text", text: "One two" }] };
const event = (type: string, more: JsonObject) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
const delta = (text: string, number: number) =>
  event("response.output_text.delta", { output_index: 0, delta: text, sequence_number: number });
const ended = (output: JsonObject[]) =>
  event("response.completed", {
    response: { id: "resp_1", status: "completed", output, usage: { input_tokens: 1, output_tokens: 2 } },
  });

function relayed(...chunks: readonly string[]): PassthroughRelayer {
  const streamed = new StreamedItems();
  const call = { dialect: "responses", hideUsage: false, requestId: "req_1", model: "m" } as const;
  const relayer = new PassthroughRelayer({ ...call, atSeconds: 1, streamed });
  for (const chunk of chunks) relayer.push(Buffer.from(chunk));
  return relayer;
}

test("a stream that ends with all of its items can be stored by its end", () => {
  const { endedIds } = relayed(delta("One", 1), delta(" two", 2), ended([item]));
  expect(endedIds).toEqual({ id: "resp_1", items: ["msg_1"] });
});

test("a stream that ends without its items cannot, and they are collected as they pass", () => {
  const done = event("response.output_item.done", { output_index: 0, item });
  const whole = [delta("One", 1), delta(" two", 2), delta(" three", 3) + done, delta(" four", 4), ended([])];
  for (const chunks of [whole, [whole.join("")]]) {
    const { endedIds, streamed } = relayed(...chunks);
    expect(endedIds).toBeNull();
    expect(streamed?.all()).toMatchObject([{ id: "msg_1" }]);
  }
});

test("a large item is collected once it has been parsed elsewhere", () => {
  const large = { ...item, content: [{ type: "output_text", text: "x".repeat(300_000) }] };
  const done = { type: "response.output_item.done", output_index: 0, item: large };
  const relayer = relayed(delta("One", 1), delta(" two", 2), event(done.type, done));
  expect(relayer.largeEvent).not.toBeNull();
  relayer.resume({ json: done, isCut: false });
  expect(relayer.streamed?.all()).toMatchObject([{ id: "msg_1" }]);
});
