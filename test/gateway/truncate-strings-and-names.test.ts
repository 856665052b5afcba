import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { truncateStringsAndNames } from "../../src/gateway/request/truncate-strings-and-names.ts";

/** Every name that a parser meets for the first time takes it microseconds, on the event loop. */
describe("a truncated body of very many different names", () => {
  const names = (count: number, start = "n"): JsonObject =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${start}${index}`, 1]));

  function differentNames(text: string): number {
    const found = new Set<string>();
    JSON.parse(text, (name, value) => {
      found.add(name);
      return value;
    });
    return found.size;
  }

  test.each([
    ["in the body itself", names(90_000)],
    ["in one object", { x: names(90_000) }],
    ["in many objects", { x: Array.from({ length: 9_000 }, (_, index) => names(10, `n${index}_`)) }],
  ])("is short, when they stand %s", (_where, body) => {
    expect(differentNames(truncateStringsAndNames(body))).toBeLessThan(12_000);
  });

  test("still has what is read of a request, wherever it stands", () => {
    const body = JSON.parse(
      truncateStringsAndNames({
        ...names(50_000),
        model: "m",
        max_tokens: 5,
        stream: true,
        messages: [{ role: "user", content: "hi", other: 1 }],
        tools: [{ type: "function", ...names(50_000, "t") }],
        metadata: { topic: "canals" },
      }),
    );
    expect(body).toMatchObject({ model: "m", max_tokens: 5, stream: true, metadata: { topic: "canals" } });
    expect(body.messages).toEqual([{ role: "user", content: "hi" }]);
    expect(body.tools).toEqual([{ type: "function" }]);
  });

  test("has all names, when they are the same few again and again", () => {
    const message = { role: "user", content: "hi", name: "ada", other: 1 };
    const body = { model: "m", messages: Array.from({ length: 9_000 }, () => message), temperature: 1 };
    expect(JSON.parse(truncateStringsAndNames(body))).toEqual(body);
  });
});
