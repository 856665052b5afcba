import { expect, test } from "bun:test";
import { SseTranscoder } from "../../../src/vendors/bedrock/sse-transcoder.ts";
import { encodeChunk, encodeEvent, encodeException, encodeMessage } from "./encode-message.ts";

function transcode(...pieces: readonly Uint8Array[]): string {
  const transcoder = new SseTranscoder();
  const texts = pieces.map((piece) => Buffer.from(transcoder.push(piece)).toString());
  transcoder.end();
  return texts.join("");
}

test("Converse's events keep their names and payloads (B14)", () => {
  expect(
    transcode(
      encodeEvent("messageStart", { role: "assistant" }),
      encodeEvent("contentBlockDelta", { contentBlockIndex: 0, delta: { text: "Hi" }, p: "abc" }),
      encodeEvent("contentBlockDelta", { contentBlockIndex: 0, delta: { text: " you" }, p: "abcde" }),
    ),
  ).toBe(
    'event: messageStart\ndata: {"role":"assistant"}\n\n' +
      'event: contentBlockDelta\ndata: {"contentBlockIndex":0,"delta":{"text":"Hi"},"p":"abc"}\n\n' +
      'event: contentBlockDelta\ndata: {"contentBlockIndex":0,"delta":{"text":" you"},"p":"abcde"}\n\n',
  );
});

test("InvokeModel's chunks become the events of Messages that they hold, and others are dropped (B16)", () => {
  const ping = { type: "ping" };
  const late = { index: 0, type: "content_block_stop" };
  const reordered = encodeEvent("chunk", {
    p: "abc",
    bytes: Buffer.from(JSON.stringify(late)).toString("base64"),
  });
  expect(
    transcode(encodeChunk(ping), reordered, encodeChunk({ index: 0 }), encodeEvent("chunk", { p: "a" })),
  ).toBe(
    `event: ping\ndata: ${JSON.stringify(ping)}\n\nevent: content_block_stop\ndata: ${JSON.stringify(late)}\n\n`,
  );
});

test("an event with too many values to be parsed is not dropped: whoever reads it rejects it", () => {
  const huge = { x: Array.from({ length: 100_001 }, () => 0), type: "content_block_delta" };
  expect(transcode(encodeChunk(huge))).toBe(`event: \ndata: ${JSON.stringify(huge)}\n\n`);
});

const failures = [
  ["throttlingException", "rate_limit_error"],
  ["serviceUnavailableException", "overloaded_error"],
  ["validationException", "invalid_request_error"],
  ["modelStreamErrorException", "api_error"],
  ["internalServerException", "api_error"],
] as const;
for (const [name, type] of failures) {
  test(`B52: ${name} becomes an error event of the type ${type}`, () => {
    const error = { type, code: name, message: "Too many tokens" };
    expect(
      transcode(encodeChunk({ type: "ping" }), encodeException(name, { message: "Too many tokens" })),
    ).toEndWith(`event: error\ndata: ${JSON.stringify({ type: "error", error })}\n\n`);
  });
}

test("an error without a payload is told by its headers, and one without any words in ours (B14)", () => {
  const told = { ":message-type": "error", ":error-code": "Internal", ":error-message": "It broke" };
  expect(transcode(encodeChunk({ type: "ping" }), encodeMessage(told, ""))).toContain(
    '{"type":"api_error","code":"Internal","message":"It broke"}',
  );
  expect(
    transcode(encodeChunk({ type: "ping" }), encodeMessage({ ":message-type": "exception" }, "{}")),
  ).toContain("The provider reported an error.");
});

test("messages of an unknown kind are skipped (B14)", () => {
  expect(transcode(encodeMessage({ ":message-type": "future" }, "{}"), encodeMessage({}, "{}"))).toBe("");
});

test("an event stays in one piece when its JSON has line ends, and when its name has", () => {
  const headers = { ":message-type": "event", ":event-type": "message\nStop" };
  expect(transcode(encodeMessage(headers, '{\r\n "stopReason":\n "end_turn"}'))).toBe(
    'event: messageStop\ndata: {   "stopReason":  "end_turn"}\n\n',
  );
});

test("the events are the same wherever the frames are cut (T11)", () => {
  const stream = Buffer.concat([
    encodeEvent("messageStart", { role: "assistant" }),
    encodeChunk({ type: "ping" }),
    encodeException("throttlingException", { message: "m".repeat(300) }),
  ]);
  const whole = transcode(stream);
  for (let cut = 1; cut < stream.length; cut += 1) {
    expect(transcode(stream.subarray(0, cut), stream.subarray(cut))).toBe(whole);
  }
});

test("a stream that ends within a message is cut short (B13)", () => {
  const transcoder = new SseTranscoder();
  transcoder.push(encodeEvent("messageStop", {}).subarray(0, 20));
  expect(() => transcoder.end()).toThrow("closed before the response was complete");
});

test("a failure before any event is a refusal, and nothing behind it counts (B52)", () => {
  const transcoder = new SseTranscoder();
  const refused = encodeException("throttlingException", { message: "Too many tokens" });
  expect(transcoder.push(Buffer.concat([refused, encodeChunk({ type: "ping" })]))).toHaveLength(0);
  expect(transcoder.error?.name).toBe("throttlingException");
  expect(Buffer.from(transcoder.error?.body ?? []).toString()).toBe('{"message":"Too many tokens"}');
});
