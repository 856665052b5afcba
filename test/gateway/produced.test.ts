import { describe, expect, test } from "bun:test";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { estimateText } from "../../src/catalog/estimate.ts";
import { ProducedOutput } from "../../src/gateway/charge/usage-evidence.ts";
import { ordinaryTexts } from "../catalog/ordinary-texts.ts";
import { seededRandom } from "../support/random.ts";

const keptChars = 64 * 1024;

/** Counts characters. */
const countChars = async (texts: string[]) => texts.join("").length;

describe("of a long text, what is within the bound is counted, and only the rest is estimated:", () => {
  const text = "x".repeat(keptChars + 1000);
  for (const [form, pieces] of [
    ["as a whole", [text]],
    ["in pieces", text.match(/x{1,999}/g) ?? []],
  ] as const) {
    test(form, async () => {
      const produced = new ProducedOutput();
      for (const piece of pieces) produced.add(piece);
      const rest = (await produced.count(countChars)) - keptChars;
      expect(rest).toBeGreaterThanOrEqual(estimateText("x".repeat(1000)));
      expect(rest).toBeLessThanOrEqual(estimateText("x".repeat(1000)) + 1);
    });
  }
});

test("a text within the bound is counted in full", async () => {
  const produced = new ProducedOutput();
  produced.add("x".repeat(keptChars));
  expect(await produced.count(countChars)).toBe(keptChars);
});

describe("a text that comes in pieces has a low count between half of its tokens and all of them:", () => {
  for (const [name, text] of Object.entries(ordinaryTexts)) {
    test(name, () => {
      const random = seededRandom(7);
      const produced = new ProducedOutput();
      const long = `${text} `.repeat(20);
      for (let from = 0; from < long.length; ) {
        const to = from + 100 + random.below(700);
        produced.add(long.slice(from, to));
        from = to;
        expect(produced.lowCount()).toBeWithin(1, countTokens(long.slice(0, to)) + 1);
      }
      expect(produced.lowCount()).toBeGreaterThanOrEqual(countTokens(long) * 0.45);
    });
  }
});

test("reasoning that nobody here can read counts a token for every 16 characters, and for a part of them", async () => {
  const produced = new ProducedOutput();
  produced.encryptedChars = 1;
  expect(await produced.count(countChars)).toBe(1);
  produced.encryptedChars = 160;
  expect(await produced.count(countChars)).toBe(10);
  produced.encryptedChars = 161;
  produced.add("abc");
  expect(await produced.count(countChars)).toBe(11 + 3);
  expect(produced.lowCount()).toBe(11 + 1);
});
