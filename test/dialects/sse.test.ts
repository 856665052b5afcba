import { describe, expect, test } from "bun:test";
import type { SseFrame } from "../../src/dialects/sse/frame.ts";
import { rawEvents } from "../../src/dialects/sse/raw-events.ts";
import { SseDecoder } from "../../src/dialects/sse/sse.ts";

function decode(pieces: readonly Uint8Array[]): SseFrame[] {
  const decoder = new SseDecoder();
  return [...pieces.flatMap((piece) => decoder.push(piece)), ...decoder.end()];
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Everything that C66 names, in one body: what a frame is must not depend on how the bytes arrive. */
const body =
  "\uFEFF: a comment first\n\n" +
  'event: greeting\ndata: {"text":"Grüße, 世界 👩‍👩‍👧"}\n\n' +
  "data:no space\r\n\r\n" +
  "id: 7\rretry: 100\rdata: lone returns\r\r" +
  "data: first\ndata:  second, indented\ndata\n\n" +
  "event: nameless and without data\n\n" +
  ": comment between\ndata: [DONE]\r\n\r\n" +
  "data: no blank line after this";

const frames: SseFrame[] = [
  { event: "greeting", data: '{"text":"Grüße, 世界 👩‍👩‍👧"}' },
  { event: "", data: "no space" },
  { event: "", data: "lone returns" },
  { event: "", data: "first\n second, indented\n" },
  { event: "", data: "[DONE]" },
  { event: "", data: "no blank line after this" },
];

describe("C66 bytes become the same frames", () => {
  test("in one piece", () => {
    expect(decode([bytes(body)])).toEqual(frames);
  });

  test("split in two at every byte", () => {
    const whole = bytes(body);
    for (let at = 0; at <= whole.length; at += 1) {
      expect(decode([whole.subarray(0, at), whole.subarray(at)])).toEqual(frames);
    }
  });

  test("byte by byte", () => {
    expect(decode([...bytes(body)].map((byte) => Uint8Array.of(byte)))).toEqual(frames);
  });

  test("with every line end as CRLF or as a lone CR", () => {
    const plain = body.replaceAll("\r\n", "\n").replaceAll("\r", "\n");
    for (const end of ["\n", "\r\n", "\r"]) {
      const whole = bytes(plain.replaceAll("\n", end));
      expect(decode([whole])).toEqual(frames);
      expect(decode([...whole].map((byte) => Uint8Array.of(byte)))).toEqual(frames);
    }
  });
});

test("a passthrough reads the same data in whole events as the decoder does", () => {
  const events = bytes(body.replace("\uFEFF", ""));
  const data = [...rawEvents(events)].map((event) => event.data).filter((text) => text !== "");
  expect(data).toEqual(frames.map((frame) => frame.data));
});

test("an event of more than 8 MiB is refused, in one line or in many", () => {
  const megabyte = "x".repeat(1024 * 1024);
  const line = new SseDecoder();
  line.push(bytes("data: "));
  expect(() => {
    for (let i = 0; i < 9; i += 1) line.push(bytes(megabyte));
  }).toThrow("8 MiB");
  const lines = new SseDecoder();
  expect(() => {
    for (let i = 0; i < 9; i += 1) lines.push(bytes(`data: ${megabyte}\n`));
  }).toThrow("8 MiB");
});

test("a long line in many small pieces costs no more than its length", () => {
  const decoder = new SseDecoder();
  const piece = bytes("y".repeat(64));
  decoder.push(bytes("data: "));
  for (let i = 0; i < 100_000; i += 1) decoder.push(piece);
  expect(decoder.end()[0]?.data.length).toBe(6_400_000);
});
