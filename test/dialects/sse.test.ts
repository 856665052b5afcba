import { describe, expect, spyOn, test } from "bun:test";
import { SseDecoder, type SseFrame } from "../../src/dialects/sse/sse.ts";
import { seededRandom } from "../support/random.ts";

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

describe("bytes become the same frames (C66)", () => {
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

test("a byte order mark in front of an event is no part of it", () => {
  const events = bytes('data: {"a":1}\n\n\uFEFFdata: {"b":1}\n\n');
  expect(decode([events]).map(({ data }) => data)).toEqual(['{"a":1}', '{"b":1}']);
});

describe("blank lines, comments and empty objects", () => {
  const nothings = ["\n", "\r\n", "\r", ": x\n\n", ": x\r", ":de{[\r\n\r\n", "id: 3\n", "data: {}\n\n"];
  const somethings = [
    'data: {"a":1}\n\n',
    'event: e\ndata:{"b":\ndata: []}\n\n',
    'event: e\r\ndata: {"c":"x"}\r\n\r\n',
    'data:{"d":\ndata:[]}\r\r',
  ];
  const said = (all: readonly string[]) => all.filter((data) => data.includes('"'));
  const feedsAlone = (piece: string) => !piece.includes("\r");

  test.each([true, false])(
    "say nothing, wherever the bytes are split (some lines end in CR: %p)",
    (returns) => {
      const random = seededRandom(7);
      const kinds = [nothings, somethings].map((all) => (returns ? all : all.filter(feedsAlone)));
      for (let round = 0; round < 300; round += 1) {
        const pieces = Array.from({ length: 12 }, () =>
          random.pick(kinds[random.chance(0.8) ? 0 : 1] ?? nothings),
        );
        // The last piece ends an event that a nothing has begun.
        const text = `${pieces.join("")}\n\n`;
        const expected = pieces.filter((piece) => somethings.includes(piece));
        const whole = bytes(text);
        const at = random.below(whole.length);
        const frames = decode([whole.subarray(0, at), whole.subarray(at)]);
        const decoded = said(frames.map(({ data }) => data));
        expect(decoded, JSON.stringify(text)).toHaveLength(expected.length);
      }
    },
  );

  test.each(["\n", "\r\n", ": x\n\n"])("%j: a megabyte of them is read in a few steps", (nothing) => {
    const many = bytes(nothing.repeat(1_000_000 / nothing.length));
    const last = bytes('data: {"a":1}\n\n');
    const events = Buffer.concat([many, last]);
    const decoder = new SseDecoder();
    const [slices, subarrays] = [spyOn(String.prototype, "slice"), spyOn(Uint8Array.prototype, "subarray")];
    const frames = decoder.push(events);
    const steps = slices.mock.calls.length + subarrays.mock.calls.length;
    slices.mockRestore();
    subarrays.mockRestore();
    expect(frames).toEqual([{ event: "", data: '{"a":1}' }]);
    expect(steps).toBeLessThan(40);
  });
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
