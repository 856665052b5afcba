import { expect, spyOn, test } from "bun:test";
import { MessagesScanner } from "../../../src/dialects/anthropic-messages/provider/stream-scanner.ts";
import { ChatScanner } from "../../../src/dialects/openai-chat/provider/stream-scanner.ts";
import { ResponsesScanner } from "../../../src/dialects/openai-responses/provider/stream-scanner.ts";
import { meaningOf } from "../../../src/dialects/sse/raw-events.ts";
import type { StreamScanner } from "../../../src/dialects/sse/stream-scanner.ts";
import { seededRandom } from "../../support/random.ts";

const random = seededRandom(44);
const pieces = [
  "a",
  " word",
  "gpt",
  "text",
  'a "quote"',
  "back\\slash",
  "\n",
  "日本語",
  "🙂",
  "",
  "x".repeat(600),
];

interface ScannedDialect {
  readonly scanner: () => StreamScanner;
  readonly event: () => string;
}

const chat: ScannedDialect = {
  scanner: () => new ChatScanner({ hideUsage: false }),
  event() {
    const text = random.pick(pieces);
    const delta = random.pick([
      { content: text },
      { content: text },
      { content: text },
      { reasoning_content: text },
      { content: text, refusal: "no" },
      { content: text, reasoning_details: [{ type: "reasoning.encrypted", data: "sealed" }] },
      { tool_calls: [{ index: 0, function: { arguments: text } }] },
      { role: "assistant", content: "" },
    ]);
    const choice = {
      index: random.chance(0.05) ? 1 : 0,
      delta,
      finish_reason: random.chance(0.02) ? "stop" : null,
    };
    const chunk = { id: "chatcmpl-1", model: "gpt", choices: [choice] };
    const usage = random.chance(0.05) ? { usage: { prompt_tokens: 3, completion_tokens: 4 } } : {};
    const padding = random.chance(0.5) ? { obfuscation: random.pick(["", "aX", "q1w2e3"]) } : {};
    return `data: ${JSON.stringify({ ...chunk, ...usage, ...padding })}\n\n`;
  },
};

const messages: ScannedDialect = {
  scanner: () => new MessagesScanner({ hideUsage: false }),
  event() {
    const text = random.pick(pieces);
    const event = random.pick([
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
      { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: text } },
      {
        type: "content_block_start",
        index: 1,
        content_block: { type: "server_tool_use", name: "web_search" },
      },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: null }, usage: { output_tokens: 9 } },
      { type: "ping" },
    ]);
    return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
  },
};

/** Runs of the same event are what a pattern is for, and what may hide a change. */
function streamOf({ event }: ScannedDialect): string[] {
  return Array.from({ length: 12 }, event).flatMap((each) => Array(1 + random.below(4)).fill(each));
}

for (const [name, dialect] of Object.entries({ chat, messages })) {
  test(`${name}: events that repeat others mean what they mean when each is parsed`, () => {
    for (let run = 0; run < 400; run += 1) {
      const events = streamOf(dialect);
      const passing = dialect.scanner();
      const parsing = dialect.scanner();
      while (events.length > 0) {
        const read = events.splice(0, 1 + random.below(20));
        passing.pass(Buffer.from(read.join("")));
        for (const event of read) {
          const data = event.slice(event.indexOf("data: ") + 6).trimEnd();
          parsing.read(data, meaningOf(data));
        }
        expect(stateOf(passing)).toEqual(stateOf(parsing));
      }
      expect(passing.takeProduced()).toBe(parsing.takeProduced());
    }
  });
}

function stateOf(scanner: StreamScanner): object {
  const { usage, partialUsage, started, sealedChars, issued, extras, producedChars } = scanner;
  const ended = [scanner.hasEndedText(), scanner.isComplete(), scanner.failure?.message];
  return { usage, partialUsage, started, sealedChars, issued, extras, producedChars, ended };
}

const delta = (text: string, padding = "") =>
  `data: {"id":"c","choices":[{"index":0,"delta":{"content":"${text}"}}],"obfuscation":"${padding}"}\n\n`;

test("events that repeat one with another text and padding are not parsed", () => {
  const scanner = chat.scanner();
  scanner.pass(Buffer.from(delta("Hel")));
  const parse = spyOn(JSON, "parse");
  scanner.pass(Buffer.from(delta("lo", "x1") + delta(" there", "")));
  const parsed = parse.mock.calls.length;
  parse.mockRestore();
  expect(parsed).toBe(0);
  expect(scanner.takeProduced()).toBe("Hello there");
});

test("a name that equals the text of an event is not taken for the text of the next", () => {
  const event = (model: string, content: string) =>
    `data: {"model":"${model}","choices":[{"index":0,"delta":{"content":"${content}","reasoning":"c"}}]}\n\n`;
  const scanner = chat.scanner();
  scanner.pass(Buffer.from(event("abc", "ab") + event("x", "ab") + event("y", "ab")));
  expect(scanner.takeProduced()).toBe("abcabcabc");
});

test("data that also stands in a comment of its event is not taken for the data", () => {
  const data = (text: string) => `{"choices":[{"index":0,"delta":{"content":"${text}"}}]}`;
  const event = (comment: string, text: string) => `: ${data(comment)}\ndata: ${data(text)}\n\n`;
  const scanner = chat.scanner();
  scanner.pass(Buffer.from(event("long", "long") + event("x", "long").repeat(3)));
  expect(scanner.takeProduced()).toBe("long".repeat(4));
});

test("data of several lines that also stands in lines of its event that are not data is read", () => {
  const lines = (text: string) => [`{"choices":[{"index":0,"delta":{"content":"${text}"}}]`, "}"];
  const event = (other: string, text: string) =>
    `:${lines(other).join("\n")}\n${lines(text)
      .map((line) => `data: ${line}\n`)
      .join("")}\n`;
  const scanner = chat.scanner();
  scanner.pass(Buffer.from(event("long", "long") + event("", "long").repeat(3)));
  expect(scanner.takeProduced()).toBe("long".repeat(4));
});

test("a stream is complete, although the index of a choice equals its text", () => {
  const event = (content: string, finish: string) =>
    `data: {"choices":[{"index":"a","delta":{"content":"${content}"},"finish_reason":${finish}}]}\n\n`;
  const scanner = chat.scanner();
  scanner.pass(Buffer.from(event("a", "null") + event("", '"stop"')));
  expect(scanner.isComplete()).toBe(true);
});

test("events whose lines end in CR and LF are read after repeated ones in the same read", () => {
  const scanner = new ChatScanner({ hideUsage: true });
  scanner.pass(Buffer.from(delta("Hel")));
  const usage = 'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}\r\n\r\n';
  const others = delta("!").replaceAll("\n", "\r\n");
  const passed = scanner.pass(Buffer.from(delta("日本") + delta("語") + usage + others));
  expect(Buffer.from(passed).toString()).toBe(delta("日本") + delta("語") + others);
  expect(scanner.partialUsage).toMatchObject({ inputTokens: 3, outputTokens: 4 });
  expect(scanner.takeProduced()).toBe("Hel日本語!");
});

test("an event whose number is not a number of JSON repeats none", () => {
  const event = (number: string, text: string) =>
    `data: {"type":"response.output_text.delta","sequence_number":${number},"item_id":"m","delta":"${text}"}\n\n`;
  // 13) is 123 to a reader that takes every character for a digit.
  for (const number of ["0123", "13)", "", "12 3", "123"]) {
    const scanner = new ResponsesScanner();
    scanner.pass(Buffer.from(event("121", "a") + event("122", "b")));
    scanner.pass(Buffer.from(event(number, "c")));
    const isRead = number === "123";
    expect(scanner.position.sequenceNumber).toBe(isRead ? 124 : 123);
    expect(scanner.takeProduced()).toBe(`ab${isRead ? "c" : event(number, "c").slice(6, -2)}`);
  }
});

test("the text of events is read late, although their numbers are written with an exponent", () => {
  const event = (number: string, text: string) =>
    `data: {"type":"response.output_text.delta","sequence_number":${number},"delta":"${text}"}\n\n`;
  // 12 is the start of 120e-1, and the number that it means. -1 comes before 0, which is the start of 0e-1.
  for (const numbers of [
    ["100e-1", "110e-1", "120e-1", "130e-1"],
    ["-10e-1", "0e-1", "10e-1", "20e-1"],
  ]) {
    for (const texts of [
      ["a", "bc", "de", "fg"],
      ["a", "", "", ""],
    ]) {
      const scanner = new ResponsesScanner();
      const [first = "", ...others] = numbers.map((number, index) => event(number, texts[index] ?? ""));
      scanner.pass(Buffer.from(first));
      scanner.pass(Buffer.from(others.join("")));
      expect(scanner.position.sequenceNumber).toBe(Number(numbers.at(-1)) + 1);
      expect(scanner.producedChars).toBe(texts.join("").length);
      expect(scanner.takeProduced()).toBe(texts.join(""));
    }
  }
});

test("texts that are read late are as they came, however long or escaped", () => {
  const scanner = chat.scanner();
  const texts = ["a", "b".repeat(70_000), 'say \\"hi\\"', "", "\\u0041\\n", "c".repeat(70_000), "d"];
  for (const text of texts) scanner.pass(Buffer.from(delta(text, "x1")));
  const produced = texts.map((text) => JSON.parse(`"${text}"`)).join("");
  expect(scanner.producedChars).toBe(produced.length);
  expect(scanner.takeProduced()).toBe(produced);
  expect(scanner.producedChars).toBe(0);
});
