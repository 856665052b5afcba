import { describe, expect, test } from "bun:test";
import { dataOf } from "../../../src/dialects/sse/event.ts";
import { SseDecoder } from "../../../src/dialects/sse/sse.ts";

const lines = {
  "with a space": "data: x\n",
  "without one": "data:x\n",
  "without a value": "data\n",
  "with two spaces": "data:  x\n",
  "in CRLF": "data: x\r\n",
  "in CR": "data: x\r",
  "between others": "id: 1\ndata: né 😀\ndatax: y\n: data: z\n",
  "that are long": `data: ${"né ".repeat(40)}\n`,
  "that are long, in CRLF": `data: ${"y".repeat(63)}\r\n`,
  "with the name of a field in them": "data: event: z\n",
  "of other fields only": "id: 1\n",
} as const;

function decoded(text: string, piece: number) {
  const decoder = new SseDecoder();
  const bytes = Buffer.from(text);
  const frames = [];
  for (let at = 0; at < bytes.length; at += piece)
    frames.push(...decoder.push(bytes.subarray(at, at + piece)));
  return [...frames, ...decoder.end()];
}

/** Many lines, but not too many. */
describe.each(Object.entries(lines))("an event of many lines %s", (_, line) => {
  const small = dataOf(line);
  const event = line.repeat(4000);

  test("has the data of all of them", () => {
    const expected =
      line.includes("data: ") || line.startsWith("data") ? Array(4000).fill(small).join("\n") : "";
    expect(dataOf(`${event}\n`)).toBe(expected);
  });

  test.each([700, 32_768, 1_000_000])("is decoded the same in pieces of %d", (piece) => {
    const [feed = "\n"] = /\r\n|\r|\n/.exec(line) ?? [];
    const text = `event: a${feed}${event}event: b${feed}${feed}data: next${feed}${feed}`;
    const data = dataOf(`${event}\n`);
    const expected = data === "" ? [] : [{ event: "b", data }];
    expect(decoded(text, piece)).toEqual([...expected, { event: "", data: "next" }]);
  });
});

test.each(["\n\n", "\r\n\r\n", "\r\r", "\n\r\n", "\n\r", "\r\n\n", "\r\n\r"])(
  "a large event of one line ends at a blank line, whatever both end in: %j",
  (ends) => {
    const data = `{"a":"${"é".repeat(20_000)}"}`;
    const next = { event: "", data: "next" };
    expect(decoded(`event: a\ndata: ${data}${ends}data: next\n\n`, 30_000)).toEqual([
      { event: "a", data },
      next,
    ]);
  },
);

test("an event of more lines than any real one is an error", () => {
  const event = "data: x\n".repeat(1_000_000);
  expect(() => decoded(`${event}\n`, event.length + 1)).toThrow("an event of more than 20000 lines");
});
