import { describe, expect, test } from "bun:test";
import { SseDecoder, type SseFrame } from "../../../src/dialects/sse/sse.ts";
import { type Golden, readGoldens, translationOf } from "../golden-file.ts";
import { bytesOf, requestOf } from "../golden-run.ts";

/** C76: providers that stream without being asked to, or answer a streaming request with a non-streaming response. */
const goldens = readGoldens();

describe("one JSON body where a stream was asked for becomes a stream (C76)", () => {
  for (const golden of goldens.filter(({ sections }) => sections.has("client receives"))) {
    test(golden.file, () => {
      const translation = translationOf(golden, requestOf(golden));
      const answer = JSON.parse(golden.sections.get("provider answers") ?? "");
      const stream = translation.stream();
      const text = stream.pushWhole(answer);
      expect(text + stream.end()).toBe(text);
      expect(stream.ended).toBe(true);
      const whole = translationOf(golden, requestOf(golden)).response(answer);
      expect(stream.found.usage).toEqual(whole.usage);
      expect(stream.found.takeProduced()).toBe(whole.produced);
      // A provider may bill thoughts that it does not show.
      const isBilled = (whole.usage?.outputTokens ?? 0) > 0;
      expect(stream.found.started).toBe(whole.produced !== "" || isBilled);
      expect(stream.terminal()).not.toBe("");
    });
  }
});

describe("a stream where one body was asked for becomes a body (C76)", () => {
  const streams = goldens.filter(({ sections }) => sections.has("provider streams"));
  const proper = streams.filter(
    ({ sections }) => !/event: error|"error":\{|response\.failed/.test(sections.get("client reads") ?? ""),
  );
  for (const golden of proper) {
    test(golden.file, () => {
      const collector = translationOf(golden, requestOf(golden)).collect();
      const stream = translationOf(golden, requestOf(golden)).stream();
      for (const frame of framesOf(golden)) {
        collector.push(frame);
        stream.push(frame);
      }
      const { body, produced, usage } = collector.end();
      stream.end();
      expect(body["object"] ?? body["type"]).toMatch(/^(chat\.completion|message|response)$/);
      // Interleaved calls are reported one after the other here, so the order may differ, but nothing else.
      expect([...produced].sort()).toEqual([...stream.found.takeProduced()].sort());
      expect(usage).toEqual(stream.found.usage);
    });
  }

  test("one that is cut short is an error", () => {
    for (const golden of streams.filter(({ title }) => title.includes("cut short"))) {
      const collector = translationOf(golden, requestOf(golden)).collect();
      expect(() => collector.end()).toThrow("before the response was complete");
    }
  });
});

function framesOf(golden: Golden): SseFrame[] {
  const decoder = new SseDecoder();
  const bytes = bytesOf(golden.sections.get("provider streams") ?? "");
  return [...decoder.push(bytes), ...decoder.end()];
}
