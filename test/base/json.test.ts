import { describe, expect, test } from "bun:test";
import { nestsTooDeeply } from "../../src/base/json.ts";

const deepest = 256;

function nested(levels: number, open: string, close: string): string {
  return `${open.repeat(levels)}1${close.repeat(levels)}`;
}

function isTooDeep(text: string): boolean {
  return nestsTooDeeply(JSON.parse(text), text);
}

describe("a value nests too deeply", () => {
  test("from one level above the limit on, in lists, objects and both", () => {
    for (const [open, close, levelsEach] of [
      ["[", "]", 1],
      ['{"a":', "}", 1],
      ['[{"a":', "}]", 2],
    ] as const) {
      expect(isTooDeep(nested(deepest / levelsEach, open, close))).toBe(false);
      expect(isTooDeep(`[${nested(deepest / levelsEach, open, close)}]`)).toBe(true);
    }
  });

  test("not by brackets in its text, nor by many values beside each other", () => {
    expect(isTooDeep(JSON.stringify({ code: "[{".repeat(1000) }))).toBe(false);
    expect(isTooDeep(JSON.stringify(Array.from({ length: 1000 }, () => [{ a: {} }])))).toBe(false);
  });

  test("wherever the deep part stands", () => {
    expect(isTooDeep(`{"text":"[[","flat":[[],[]],"deep":${nested(deepest, "[", "]")}}`)).toBe(true);
  });
});
