import { expect, spyOn, test } from "bun:test";
import type { JsonObject } from "../../../src/base/json.ts";
import { rawEvent } from "../../../src/dialects/sse/raw-events.ts";
import { type EventAction, StreamScanner } from "../../../src/dialects/sse/stream-scanner.ts";
import { seededRandom } from "../../support/random.ts";

/** Does what the events ask for. */
class ObedientScanner extends StreamScanner {
  readonly extras = null;
  protected readonly hasFinished = false;

  protected actionFor(json: JsonObject | null): EventAction {
    const action = json?.["do"];
    return action === "drop" || action === "hold" || action === "stop" ? action : "forward";
  }

  protected producedBy({ text }: JsonObject): string {
    return typeof text === "string" ? text : "";
  }

  protected sealedIn(): number {
    return 0;
  }

  protected endsText(): boolean {
    return false;
  }
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
    const scanner = new ObedientScanner();
    const leaving = Buffer.from(
      scanner.pass(Buffer.from(events.map(({ text }) => text).join(""))),
    ).toString();
    const held = scanner.held === null ? "" : Buffer.from(scanner.held).toString();
    const expected = before.filter(({ action }) => action !== "drop").map(({ text }) => text);
    const rest = events.slice(before.length).map(({ text }) => text);
    // A comment or a blank line in front of an event may count as a part of it or not: it says nothing.
    expect(dataIn(leaving)).toEqual(dataIn(expected.join("")));
    expect(dataIn(held)).toEqual(dataIn(rest.join("")));
    expect(scanner.takeProduced()).toBe(before.map(({ text }) => textIn(text)).join(""));
  }
});

function dataIn(events: string): string[] {
  return events.split(/[\r\n]+/).filter((line) => line.startsWith("data"));
}

function textIn(event: string): string {
  return JSON.parse(dataIn(event)[0]?.slice(6) ?? "").text;
}

test("bytes that are no UTF-8 leave as they came", () => {
  const [invalid, dropped] = [Buffer.of(0xc3, 0x28, 0xff), 'data: {"do":"drop"}\n\n'];
  const around = (bytes: Buffer) => [Buffer.from('data: {"text":"'), bytes, Buffer.from('"}\n\n')];
  const scanner = new ObedientScanner();
  const read = Buffer.concat([...around(invalid), Buffer.from(dropped), ...around(invalid)]);
  const kept = Buffer.concat([...around(invalid), ...around(invalid)]);
  expect(Buffer.from(scanner.pass(read))).toEqual(kept);
});

test("each event is parsed once, as it passes", () => {
  const scanner = new ObedientScanner();
  const parse = spyOn(JSON, "parse");
  try {
    for (const text of ["a", "b"]) scanner.pass(Buffer.from(`data: {"text":"${text}"}\n\n`.repeat(2)));
    expect(scanner.takeProduced()).toBe("aabb");
    expect(scanner.hasEndedText()).toBe(false);
    expect(parse).toHaveBeenCalledTimes(4);
  } finally {
    parse.mockRestore();
  }
});

test("data in lines that end in different ways is joined", () => {
  for (const [first, second, blank] of ["\n\n\n", "\r\n\n", "\n\r\r"]) {
    const scanner = new ObedientScanner();
    const read = Buffer.from(`data: {"do":${first}data: "drop"}${second}${blank}`);
    expect(rawEvent(read, 0).data).toBe('{"do":\n"drop"}');
    expect(scanner.pass(read)).toHaveLength(0);
  }
});
