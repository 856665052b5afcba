import { expect, test } from "bun:test";
import { isLong, jsonParts, jsonStream } from "../../../src/admin/formats/json-parts.ts";

const lines = Array.from({ length: 5_000 }, (_, index) => ({
  model: `model "${index}"`,
  amount: index / 3,
  note: null,
  missing: undefined,
}));
const documents: Readonly<Record<string, unknown>> = {
  "a list": lines,
  "a page": { data: lines, next_cursor: null, skipped: undefined },
  "lists within lists": {
    accounts: [
      { id: "a", lines: [] },
      { id: "b", lines },
    ],
    month: "2026-10",
  },
  "a list of lists": [lines, [], [1, "é", null, undefined]],
};

test.each(Object.keys(documents))("%s is the same text in parts, none of them long", (name) => {
  const parts = [...jsonParts(documents[name])];
  expect(parts.join("")).toBe(JSON.stringify(documents[name]));
  expect(parts.length).toBeGreaterThan(3);
  expect(Math.max(...parts.map(({ length }) => length))).toBeLessThan(70_000);
});

test("only what has a long list is written in parts", () => {
  expect(isLong({ data: lines.slice(0, 100) })).toBe(false);
  expect(isLong({ data: [{ lines: lines.slice(0, 101) }] })).toBe(true);
  expect([isLong(null), isLong("text"), isLong(1)]).toEqual([false, false, false]);
});

test("a stream is written as it is read", async () => {
  expect(await new Response(jsonStream({ data: lines })).text()).toBe(JSON.stringify({ data: lines }));
});
