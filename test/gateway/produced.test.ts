import { describe, expect, test } from "bun:test";
import { estimateText } from "../../src/catalog/estimate.ts";
import { Produced } from "../../src/gateway/charge/produced.ts";

const keptChars = 64 * 1024;

/** Counts characters, and notes how many it was asked about. */
function counter() {
  const counted: number[] = [];
  const count = async (texts: string[]) => {
    const chars = texts.join("").length;
    counted.push(chars);
    return chars;
  };
  return { counted, count };
}

describe("of a long text, what is within the bound is counted, and only the rest is estimated:", () => {
  const text = "x".repeat(keptChars + 1000);
  for (const [form, pieces] of [
    ["as a whole", [text]],
    ["in pieces", text.match(/x{1,999}/g) ?? []],
  ] as const) {
    test(form, async () => {
      const produced = new Produced();
      for (const piece of pieces) produced.add(piece);
      const { counted, count } = counter();
      const tokens = await produced.count(count);
      expect(counted).toEqual([keptChars]);
      const rest = tokens - keptChars;
      expect(rest).toBeGreaterThanOrEqual(estimateText("x".repeat(1000)));
      expect(rest).toBeLessThanOrEqual(estimateText("x".repeat(1000)) + 1);
    });
  }
});

test("a text within the bound is counted in full", async () => {
  const produced = new Produced();
  produced.add("x".repeat(keptChars));
  const { counted, count } = counter();
  expect(await produced.count(count)).toBe(keptChars);
  expect(counted).toEqual([keptChars]);
});
