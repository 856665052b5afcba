import { expect, spyOn, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { StreamReader } from "../../src/dialects/provider-response/stream-reader.ts";
import { bytesOf } from "../../src/gateway/exchange/client-call.ts";
import { PassthroughRelayer } from "../../src/gateway/response/passthrough-relayer.ts";
import { seededRandom } from "../support/random.ts";

const usage = {
  inputTokens: 1,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 1,
  reasoningTokens: 0,
};

/** Finds what the events say. */
class ObedientReader extends StreamReader {
  protected readEvent(event: JsonObject): void {
    const { text, do: action } = event;
    if (action === "drop") this.emit({ type: "usage", usage, isAlone: true });
    this.emitWritten(typeof text === "string" ? text : "", 0);
    if (action === "hold") this.emit({ type: "end" });
  }

  protected readEnd(): void {}
}

function newRelayer(): PassthroughRelayer {
  const call = { dialect: "chat", hideUsage: true, requestId: "req_1", model: "m", atSeconds: 1 } as const;
  return new PassthroughRelayer({ ...call, reader: new ObedientReader(false) });
}

const texts = ["plain", "naïve", "— dash", "日本語", "🙂", "\ufeff", "\ufffd"];

test("whatever the bytes are, dropped events are cut out and nothing leaves from the held one on", () => {
  const random = seededRandom(20);
  for (let run = 0; run < 500; run += 1) {
    const lineEnd = random.pick(["\n", "\n", "\r\n"]);
    const events = Array.from({ length: 1 + random.below(12) }, () => {
      const action = random.chance(0.3) ? "drop" : random.chance(0.05) ? "hold" : "forward";
      const name = random.pick(["", `event: e${lineEnd}`, `: comment${lineEnd}${lineEnd}`, lineEnd]);
      const json = JSON.stringify({ do: action, text: random.pick(texts) });
      return { action, text: `${name}data: ${json}${lineEnd}${lineEnd}` };
    });
    const end = events.findIndex(({ action }) => action === "hold");
    const before = end === -1 ? events : events.slice(0, end);
    const relayer = newRelayer();
    const leaving = relayer.push(Buffer.from(events.map(({ text }) => text).join("")));
    const held = relayer.terminal();
    const expected = before.filter(({ action }) => action !== "drop").map(({ text }) => text);
    // Content behind the end would not be charged.
    const last = end === -1 ? [] : [events[end]?.text ?? ""];
    const counted = [...before, ...events.slice(before.length, before.length + last.length)];
    // A comment or a blank line in front of an event may count as a part of it or not: it says nothing.
    expect(dataIn(textOf(leaving))).toEqual(dataIn(expected.join("")));
    expect(dataIn(textOf(held))).toEqual(dataIn(last.join("")));
    expect(relayer.found.takeProduced()).toBe(counted.map(({ text }) => textIn(text)).join(""));
  }
});

function textOf(piece: Uint8Array | string): string {
  return Buffer.from(bytesOf(piece)).toString();
}

function dataIn(events: string): string[] {
  return events.split(/[\r\n]+/).filter((line) => line.startsWith("data"));
}

function textIn(event: string): string {
  return JSON.parse(dataIn(event)[0]?.slice(6) ?? "").text;
}

test("bytes that are no UTF-8 leave as they came", () => {
  const [invalid, dropped] = [Buffer.of(0xc3, 0x28, 0xff), 'data: {"do":"drop"}\n\n'];
  const around = (bytes: Buffer) => [Buffer.from('data: {"text":"'), bytes, Buffer.from('"}\n\n')];
  const read = Buffer.concat([...around(invalid), Buffer.from(dropped), ...around(invalid)]);
  const kept = Buffer.concat([...around(invalid), ...around(invalid)]);
  expect(Buffer.from(bytesOf(newRelayer().push(read)))).toEqual(kept);
});

test("each event is parsed once, as it passes", () => {
  const relayer = newRelayer();
  const parse = spyOn(JSON, "parse");
  try {
    for (const text of ["a", "b"]) relayer.push(Buffer.from(`data: {"text":"${text}"}\n\n`.repeat(2)));
    expect(relayer.found.takeProduced()).toBe("aabb");
    expect(relayer.found.hasEndedText).toBe(false);
    expect(parse).toHaveBeenCalledTimes(4);
  } finally {
    parse.mockRestore();
  }
});

test("data in lines that end in different ways is joined", () => {
  for (const [first, second, blank] of ["\n\n\n", "\r\n\n", "\n\r\r"]) {
    const read = Buffer.from(`data: {"do":${first}data: "drop"}${second}${blank}`);
    expect(newRelayer().push(read)).toHaveLength(0);
  }
});

test.each(["\n", "\r\n", ": x\n\n"])(
  "%j: a megabyte of them is passed in a few steps behind the end",
  (nothing) => {
    const many = nothing.repeat(1_000_000 / nothing.length);
    const [end, late, done] = ['data: {"do":"hold"}\n\n', 'data: {"text":"late"}\n\n', "data: [DONE]\n\n"];
    const relayer = newRelayer();
    relayer.push(Buffer.from(end));
    const slices = spyOn(String.prototype, "slice");
    const passed = bytesOf(relayer.push(Buffer.from(many + late + many + done)));
    const steps = slices.mock.calls.length;
    slices.mockRestore();
    expect(Buffer.from(many + many + done).equals(passed)).toBe(true);
    expect(steps).toBeLessThan(40);
  },
);
