import { describe, expect, test } from "bun:test";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { estimateText } from "../../src/catalog/estimate.ts";
import { countTexts } from "../../src/catalog/tokens/bpe.ts";
import { Produced } from "../../src/gateway/charge/produced.ts";
import { seededRandom } from "../support/random.ts";

const keptChars = 64 * 1024;
const aMinute = 60_000;

/** Counts characters. */
const countChars = async (texts: string[]) => texts.join("").length;

describe("of a long text, what is within the bound is counted, and only the rest is estimated:", () => {
  const text = "x".repeat(keptChars + 1000);
  for (const [form, pieces] of [
    ["as a whole", [text]],
    ["in pieces", text.match(/x{1,999}/g) ?? []],
  ] as const) {
    test(form, async () => {
      const produced = new Produced();
      for (const piece of pieces) produced.add(piece);
      const rest = (await produced.count(countChars)) - keptChars;
      expect(rest).toBeGreaterThanOrEqual(estimateText("x".repeat(1000)));
      expect(rest).toBeLessThanOrEqual(estimateText("x".repeat(1000)) + 1);
    });
  }
});

test("a text within the bound is counted in full", async () => {
  const produced = new Produced();
  produced.add("x".repeat(keptChars));
  expect(await produced.count(countChars)).toBe(keptChars);
});

test("what was counted makes room, so a slow text is counted in full however long it is", async () => {
  const produced = new Produced();
  for (let part = 1; part <= 10; part += 1) {
    produced.add("x".repeat(keptChars / 2));
    expect(await produced.count(countChars)).toBe((part * keptChars) / 2);
  }
});

describe("a text that is counted again and again has the tokens of the whole each time:", () => {
  const texts = {
    prose: "It was the best of times, it was the worst of times; we had everything before us. ".repeat(80),
    chinese: "我们在海边散步，天气很好，孩子们在玩耍。".repeat(150),
    code: "export function add(a: number, b: number) {\n\treturn a + b;\n}\n".repeat(60),
    emoji: "👩‍👩‍👧‍👦🏳️‍🌈".repeat(200),
    spaces: " ".repeat(5000),
  };
  for (const [name, text] of Object.entries(texts)) {
    test(name, async () => {
      const random = seededRandom(7);
      const produced = new Produced();
      for (let from = 0; from < text.length; ) {
        const to = Math.min(text.length, from + 1 + random.below(700));
        produced.add(text.slice(from, to));
        from = to;
        const tokens = await produced.count(async (parts) => countTexts(parts, aMinute));
        expect(tokens).toBe(countTexts([text.slice(0, to)], aMinute));
      }
      expect(countTexts([text], aMinute)).toBeWithin(countTokens(text), countTokens(text) * 1.1 + 1);
    });
  }
});

test("counts that overlap do not lose anything, and do not count anything twice", async () => {
  const produced = new Produced();
  const slow: (() => void)[] = [];
  const countLater = (texts: string[]) =>
    new Promise<number>((resolve) => slow.push(() => resolve(texts.join("").length)));
  produced.add("x".repeat(3000));
  const first = produced.count(countLater);
  produced.add("x".repeat(3000));
  const second = produced.count(countLater);
  for (const resolve of slow.toReversed()) resolve();
  expect(await Promise.all([first, second])).toEqual([3000, 6000]);
});

test("reasoning that nobody here can read counts a token for every 16 characters, and for a part of them", async () => {
  const produced = new Produced();
  produced.sealedChars = 1;
  expect(await produced.count(countChars)).toBe(1);
  produced.sealedChars = 160;
  expect(await produced.count(countChars)).toBe(10);
  produced.sealedChars = 161;
  produced.add("abc");
  expect(await produced.count(countChars)).toBe(11 + 3);
});
