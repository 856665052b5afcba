import { describe, expect, test } from "bun:test";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { countTexts } from "../../src/catalog/tokens/bpe.ts";
import { lowRequestCount, lowTextCount } from "../../src/catalog/tokens/low-count.ts";
import { parseModelInput } from "../../src/catalog/tokens/model-input.ts";
import { ordinaryTexts } from "./ordinary-texts.ts";

describe("without a tokenizer, a text counts between half of its tokens and all of them:", () => {
  for (const [name, text] of Object.entries(ordinaryTexts)) {
    test(name, () => {
      const tokens = countTokens(text);
      expect(lowTextCount(text)).toBeWithin(Math.floor(tokens / 2), tokens + 1);
    });
  }

  test("single letters, repeated words, and nothing", () => {
    expect(lowTextCount("a b c d e f g h i j k l m n o p q r s t")).toBe(19);
    expect(lowTextCount("word ".repeat(100))).toBe(95);
    expect(lowTextCount("")).toBe(0);
  });
});

describe("so does the input of a request", () => {
  const bodyOf = (content: string) =>
    Buffer.from(JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content }] }));
  const countOf = (body: Uint8Array) => {
    const { texts, fixedTokens } = parseModelInput(body);
    return fixedTokens + countTexts(texts, 60_000);
  };

  test("that is small, by its texts", () => {
    for (const text of Object.values(ordinaryTexts)) {
      const body = bodyOf(text);
      expect(lowRequestCount(body, 1_000_000)).toBeWithin(Math.floor(countOf(body) / 2), countOf(body) + 1);
    }
  });

  test("that is large, by its estimate", () => {
    const body = bodyOf(`${ordinaryTexts.English} `.repeat(200));
    const estimate = Math.ceil(body.length / 2.5);
    const low = lowRequestCount(body, estimate);
    expect(low).toBe(Math.floor(estimate / 3));
    expect(low).toBeWithin(Math.floor(countOf(body) / 2), countOf(body) + 1);
  });
});
