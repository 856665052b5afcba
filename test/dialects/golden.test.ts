import { describe, expect, test } from "bun:test";
import { SseDecoder } from "../../src/dialects/sse/sse.ts";
import { placeStep } from "../support/effort.ts";
import { type Golden, readGoldens } from "./golden-file.ts";
import { bytesOf, clientText, outcomeOf, requestOf } from "./golden-run.ts";

/** What is expected, as opposed to given. */
const outcomes = ["provider receives", "dropped", "refused", "client receives", "client reads"];

const goldens = readGoldens();

describe("each translation is as its file says", () => {
  for (const golden of goldens) {
    test(`${golden.title} (${golden.file})`, () => {
      const outcome = outcomeOf(golden);
      for (const section of outcomes) expect(outcome.get(section)).toBe(golden.sections.get(section));
      expect(outcome.size).toBeGreaterThan(0);
    });
  }
});

/** The same stream as other providers, proxies and networks would deliver it. */
const deliveries: Readonly<Record<string, (stream: string) => Uint8Array[]>> = {
  "byte by byte": (stream) => [...bytesOf(stream)].map((byte) => Uint8Array.of(byte)),
  "with CRLF": (stream) => [bytesOf(stream.replaceAll("\n", "\r\n"))],
  "with CRLF, byte by byte": (stream) =>
    [...bytesOf(stream.replaceAll("\n", "\r\n"))].map((byte) => Uint8Array.of(byte)),
  "with lone returns": (stream) => [bytesOf(stream.replaceAll("\n", "\r"))],
  "with comments everywhere": (stream) => [bytesOf(`: hello\n\n${stream.replaceAll("\n", "\n: busy\n")}`)],
  "frame by frame": (stream) => stream.split(/(?<=\n\n)/).map(bytesOf),
  "in pieces of seven bytes": (stream) => piecesOf(bytesOf(stream), 7),
  "without the last blank line": (stream) => [bytesOf(stream.trimEnd())],
};

function piecesOf(bytes: Uint8Array, size: number): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
  return pieces;
}

const streams = goldens.filter((golden) => golden.sections.has("provider streams"));

describe("C66 a stream is read the same however it is delivered", () => {
  for (const [delivery, cut] of Object.entries(deliveries)) {
    test(delivery, () => {
      for (const golden of streams) {
        const text = clientText(golden, requestOf(golden), cut(streamOf(golden)));
        expect(text, golden.file).toBe(golden.sections.get("client reads") ?? "");
      }
    });
  }

  test("split in two at every byte", () => {
    for (const golden of streams) {
      const bytes = bytesOf(streamOf(golden));
      const whole = framesOf([bytes]);
      for (let at = 1; at < bytes.length; at += placeStep) {
        expect(framesOf([bytes.subarray(0, at), bytes.subarray(at)]), golden.file).toBe(whole);
      }
    }
  });
});

function streamOf(golden: Golden): string {
  return golden.sections.get("provider streams") ?? "";
}

function framesOf(pieces: readonly Uint8Array[]): string {
  const decoder = new SseDecoder();
  return JSON.stringify([...pieces.flatMap((piece) => decoder.push(piece)), ...decoder.end()]);
}
