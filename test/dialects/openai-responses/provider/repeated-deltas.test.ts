import { expect, spyOn, test } from "bun:test";
import type { JsonObject } from "../../../../src/base/json.ts";
import { ResponsesScanner } from "../../../../src/dialects/openai-responses/provider/stream-scanner.ts";
import { FrameJoiner } from "../../../../src/dialects/sse/frame-joiner.ts";
import type { StreamScanner } from "../../../../src/dialects/sse/stream-scanner.ts";
import { type SeededRandom, seededRandom } from "../../../support/random.ts";

/** Parses every event. */
class ParsingScanner extends ResponsesScanner {
  protected override addsOnlyText(): boolean {
    return false;
  }
}

const texts = [
  "a",
  " tide",
  "delta",
  "4",
  ',"sequence_number":7',
  'a "quote"',
  "\n",
  "日本語",
  "🙂",
  "",
  "x".repeat(600),
];
const deltaTypes = [
  "response.output_text.delta",
  "response.output_text.delta",
  "response.reasoning_summary_text.delta",
  "response.function_call_arguments.delta",
  "response.refusal.delta",
  "content_delta",
];

/** The habits of a server: where it numbers its events, how it names its items, and how it writes JSON. */
interface Server {
  readonly numbers: "first" | "last" | "none" | "same";
  readonly names: readonly ("id" | "index")[];
  readonly isPadded: boolean;
  readonly isSpaced: boolean;
  readonly isNamed: boolean;
  readonly eols: readonly string[];
}

function someServer(random: SeededRandom): Server {
  return {
    numbers: random.pick(["first", "last", "last", "none", "same"]),
    names: random.pick([["id", "index"], ["id", "index"], ["id"], ["index"], []]),
    isPadded: random.chance(0.5),
    isSpaced: random.chance(0.2),
    isNamed: random.chance(0.7),
    eols: random.pick([["\n"], ["\n"], ["\n"], ["\r\n"], ["\n", "\n", "\r\n"]]),
  };
}

class RandomStream {
  readonly #random: SeededRandom;
  readonly #server: Server;
  #number = 0;

  constructor(random: SeededRandom) {
    this.#random = random;
    this.#server = someServer(random);
  }

  bytes(): Buffer {
    const random = this.#random;
    const runs = Array.from({ length: 1 + random.below(8) }, () => this.#run());
    const ending = random.chance(0.7) ? [this.#ending()] : [];
    return Buffer.from([this.#event(created()), ...runs.flat(), ...ending].join(""));
  }

  /** Events about one place, as they mostly come, but with others between them. */
  #run(): string[] {
    const random = this.#random;
    const place = { item: random.below(3), content: random.below(2) };
    const type = random.pick(deltaTypes);
    const isOften = random.chance(0.5);
    return Array.from({ length: 1 + random.below(12) }, () => {
      if (random.chance(0.05)) this.#number += random.below(5) - 2;
      if (random.chance(isOften ? 0.3 : 0.03)) return this.#other(place.item);
      return this.#event({ type, ...this.#place(place), delta: random.pick(texts) });
    });
  }

  #other(item: number): string {
    const random = this.#random;
    const place = this.#place({ item, content: 0 });
    const text = random.pick(texts);
    const eol = random.pick(this.#server.eols);
    return random.pick([
      () => `: a comment${eol}${eol}`,
      () => `: ${JSON.stringify({ type: "response.output_text.delta", delta: text })}${eol}`,
      () => `data: no JSON${eol}${eol}`,
      () => this.#event({ type: "response.output_text.done", ...place, text: text.repeat(2) }),
      () => this.#event({ type: "response.output_text.delta", ...place, delta: { text } }),
      () => this.#event({ type: "response.output_text.delta", ...place, delta: text, obfuscation: text }),
      () => this.#event({ type: "response.output_item.added", ...this.#item(item, text) }),
      () => this.#event({ type: "response.output_item.done", ...this.#item(item, text) }),
      () => this.#event({ type: "response.in_progress", response: {} }),
      () => this.#event({ type: "response.delta", delta: text, item: { encrypted_content: text } }),
    ])();
  }

  #item(index: number, text: string): JsonObject {
    const content = [{ type: "output_text", text }];
    const item = this.#random.pick([
      { id: `msg_${index}`, type: "message", content },
      { id: `fc_${index}`, type: "function_call", name: "look", arguments: text },
      { id: `ws_${index}`, type: "web_search_call", status: "completed" },
      { id: `rs_${index}`, type: "reasoning", encrypted_content: text.repeat(2) },
    ]);
    return { output_index: index, item };
  }

  #place({ item, content }: { item: number; content: number }): JsonObject {
    const { names } = this.#server;
    return {
      ...(names.includes("id") ? { item_id: `msg_${item}` } : {}),
      ...(names.includes("index") ? { output_index: item } : {}),
      content_index: content,
    };
  }

  #ending(): string {
    const random = this.#random;
    const usage = { input_tokens: 3, output_tokens: 4 };
    const output = [
      { id: "msg_0", type: "message", content: [{ type: "output_text", text: "x".repeat(99) }] },
    ];
    return this.#event(
      random.pick<JsonObject>([
        { type: "response.completed", response: { id: "resp_1", output: [], usage } },
        { type: "response.incomplete", response: { id: "resp_1", output } },
        { type: "response.failed", response: { id: "resp_1", error: { message: "failed" }, usage } },
        { type: "error", message: "failed" },
      ]),
    );
  }

  #event({ type, ...rest }: JsonObject): string {
    const { numbers, isPadded, isSpaced, isNamed, eols } = this.#server;
    const eol = this.#random.pick(eols);
    const number = { sequence_number: numbers === "same" ? 0 : this.#number };
    const padding = isPadded ? { obfuscation: this.#random.pick(["", "aX", "q1w2e3"]) } : {};
    const event = {
      type,
      ...(numbers === "first" ? number : {}),
      ...padding,
      ...rest,
      ...(numbers === "last" || numbers === "same" ? number : {}),
    };
    this.#number += 1;
    // A character that JSON must escape makes the event something else.
    const json = JSON.stringify(event).replace(" tide", this.#random.chance(0.1) ? "\ttide" : " tide");
    const data = isSpaced ? json.replaceAll('":', '": ').replaceAll(',"', ', "') : json;
    return `${isNamed ? `event: ${type}${eol}` : ""}data: ${data}${eol}${eol}`;
  }
}

function created(): JsonObject {
  return { type: "response.created", response: { id: "resp_1", store: true } };
}

/** Cuts anywhere, also inside a character. */
function* chunksOf(bytes: Buffer, random: SeededRandom): Generator<Buffer> {
  const longest = random.pick([40, 400, 4000]);
  for (let start = 0; start < bytes.length; ) {
    const end = start + 1 + random.below(longest);
    yield bytes.subarray(start, end);
    start = end;
  }
}

function stateOf(scanner: StreamScanner): object {
  const { usage, partialUsage, reportedOutput, started, sealedChars, issued, extras, position } = scanner;
  const { held, failure, producedChars } = scanner;
  const ended = [scanner.hasEndedText(), scanner.isComplete(), failure?.message, held?.toString()];
  return {
    usage,
    partialUsage,
    reportedOutput,
    started,
    sealedChars,
    issued,
    extras,
    position,
    ended,
    producedChars,
  };
}

test("a stream whose repeated deltas are not parsed is the same as one in which every event is", () => {
  for (let run = 0; run < 800; run += 1) {
    const random = seededRandom(run);
    const joiner = new FrameJoiner();
    const repeating = new ResponsesScanner();
    const parsing = new ParsingScanner();
    const both = (events: Uint8Array | null) => {
      if (events === null || parsing.held !== null || parsing.failure !== null) return;
      expect(repeating.pass(events).toString(), `run ${run}`).toBe(parsing.pass(events).toString());
      expect(stateOf(repeating), `run ${run}`).toEqual(stateOf(parsing));
      if (random.chance(0.2)) expect(repeating.takeProduced(), `run ${run}`).toBe(parsing.takeProduced());
    };
    for (const chunk of chunksOf(new RandomStream(random).bytes(), random)) both(joiner.push(chunk));
    both(joiner.rest());
    expect(repeating.takeProduced(), `run ${run}`).toBe(parsing.takeProduced());
  }
}, 30_000);

const delta = (text: string, number: number | string, item = "msg_1") =>
  `event: response.output_text.delta\ndata: {"type":"response.output_text.delta","content_index":0,"delta":"${text}",` +
  `"item_id":"${item}","logprobs":[],"obfuscation":"x1","output_index":0,"sequence_number":${number}}\n\n`;

/** How many times a scanner that has read these events parses in order to read more. */
function parsesOf(events: string, before: string = delta("a", 8)): number {
  const scanner = new ResponsesScanner();
  scanner.pass(Buffer.from(before));
  const parse = spyOn(JSON, "parse");
  scanner.pass(Buffer.from(events));
  const count = parse.mock.calls.length;
  parse.mockRestore();
  return count;
}

test("deltas whose numbers rise by one are not parsed", () => {
  expect(parsesOf(delta("b", 9) + delta("c", 10) + delta("d", 11))).toBe(0);
});

test("deltas are not parsed, wherever in them their number and padding are", () => {
  const forms = [
    (text: string, number: number) => ({ sequence_number: number, delta: text, obfuscation: text + text }),
    (text: string, number: number) => ({ obfuscation: text + text, sequence_number: number, delta: text }),
    (text: string, number: number) => ({ delta: text, obfuscation: text + text, sequence_number: number }),
    (text: string) => ({ delta: text }),
  ];
  for (const form of forms) {
    const event = (text: string, number: number) =>
      `data: ${JSON.stringify({ type: "response.output_text.delta", ...form(text, number) })}\n\n`;
    expect(parsesOf(event("b", 9) + event("", 10) + event("cde", 11), event("a", 8))).toBe(0);
  }
});

test("deltas with a space before their values are not parsed either", () => {
  const event = (text: string, number: number) =>
    `data: {"type": "x.delta", "delta": "${text}", "sequence_number": ${number}}\n\n`;
  expect(parsesOf(event("b", 9), event("a", 8))).toBe(0);
});

test("nor are those of the tenth item", () => {
  const pair = (item: number) =>
    delta("a", 2 * item, `msg_${item}`) + delta("b", 2 * item + 1, `msg_${item}`);
  const items = Array.from({ length: 10 }, (_, item) => pair(item)).join("");
  expect(parsesOf(delta("c", 20, "msg_9"), items)).toBe(0);
});

test("what comes before an event does not make up for its number", () => {
  const numberedFirst = (text: string, number: number) =>
    `data: {"type":"x.delta","sequence_number":${number},"delta":"${text}"}\n\n`;
  for (const [event, before] of [
    [delta, "}"],
    [numberedFirst, ',"delta":"}'],
  ] as const) {
    const scanner = new ResponsesScanner();
    scanner.pass(Buffer.from(event("a", 8)));
    scanner.pass(Buffer.from(`${before}\n\n${event("b", 30)}${event("c", 40)}`));
    expect(scanner.position.sequenceNumber).toBe(41);
    expect(scanner.takeProduced()).toBe("abc");
  }
});

test("of a delta whose text has escapes, only the text is parsed", () => {
  const scanner = new ResponsesScanner();
  scanner.pass(Buffer.from(delta("a", 8)));
  const parse = spyOn(JSON, "parse");
  scanner.pass(Buffer.from(delta("\\n\\\\", 9) + delta('\\"\\u00e9', 10)));
  const parsed = parse.mock.calls.map(([text]) => text);
  parse.mockRestore();
  expect(parsed).toEqual(['"\\n\\\\"', '"\\"\\u00e9"']);
  expect(scanner.takeProduced()).toBe('a\n\\"é');
});

test("a delta whose escapes are invalid is parsed", () => {
  expect(parsesOf(delta("\\x", 9))).toBe(2);
});

test("no pattern is made of a delta whose text has escapes", () => {
  expect(parsesOf(delta("\\n", 8), ": a comment\n\n")).toBe(1);
});

test("a delta whose number does not follow the last is parsed", () => {
  for (const number of [7, 8, 10, 90, 99, "9.5", '"9"', "null"]) {
    expect(parsesOf(delta("b", number)), `number ${number}`).toBeGreaterThan(0);
  }
});

test("the position follows the numbers of deltas that are not parsed", () => {
  const scanner = new ResponsesScanner();
  scanner.pass(Buffer.from(delta("a", 8) + delta("b", 9) + delta("c", 10)));
  expect(scanner.position.sequenceNumber).toBe(11);
});

test("texts that a done event repeats are not produced twice after deltas that are not parsed", () => {
  const scanner = new ResponsesScanner();
  const done = `data: {"type":"response.output_text.done","item_id":"msg_1","output_index":0,"text":"abcd"}\n\n`;
  scanner.pass(Buffer.from(delta("a", 8) + delta("b", 9) + delta("c", 10) + done));
  expect(scanner.takeProduced()).toBe("abcd");
});

test("a number of a nested object is not taken for that of the event", () => {
  const event = (text: string, inner: number, outer: number) =>
    `data: {"type":"x.delta","part":{"sequence_number":${inner}},"delta":"${text}","sequence_number":${outer}}\n\n`;
  const scanner = new ResponsesScanner();
  scanner.pass(Buffer.from(event("a", 4, 4) + event("b", 5, 4) + event("c", 6, 4)));
  expect(scanner.position.sequenceNumber).toBe(5);
});
