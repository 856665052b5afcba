import { describe, expect, test } from "bun:test";
import { isObject, type JsonObject } from "../../../src/base/json.ts";
import { FrameStencil } from "../../../src/dialects/sse/frame-stencil.ts";

const textOf = (event: JsonObject) => {
  const delta = isObject(event["delta"]) ? event["delta"] : {};
  return [delta["text"], delta["thinking"]].filter((part) => typeof part === "string").join("");
};

function frame(text: string, more: JsonObject = {}): string {
  return `event: delta\ndata: ${JSON.stringify({ delta: { text }, ...more })}\n\n`;
}

function stencilOf(of: string, text: string): FrameStencil {
  const stencil = FrameStencil.of(of, text, textOf);
  if (stencil === null) throw new Error("there is no stencil");
  return stencil;
}

const stencil = stencilOf(frame("Hello"), "Hello");
const read = (frames: string) => stencil.read(Buffer.from(frames));

describe("a stencil", () => {
  test("reads frames that differ in their text alone, one or many", () => {
    expect(read(frame(" world"))).toBe(" world");
    expect(read(frame("å € 😀") + frame("") + frame("!"))).toBe("å € 😀!");
    expect(read("")).toBe("");
  });

  test("fits no frame with another prefix, suffix, length or line end", () => {
    for (const other of [
      frame("x", { index: 1 }),
      frame("x").replace("event: delta", "event: Delta"),
      frame("x").replace('"text"', '"next"'),
      frame("x").replaceAll("\n", "\r\n"),
      frame("x").slice(0, -1),
      frame("x").slice(1),
      `${frame("x")}\n`,
      `${frame("x")}: a comment\n\n`,
      frame("x") + frame("y", { index: 1 }),
      ": a comment\n\n",
      "data: [DONE]\n\n",
    ]) {
      expect([other, read(other)]).toEqual([other, null]);
    }
  });

  test("fits no text with a quote, an escape or a control character, which only a parser can judge", () => {
    for (const text of ['say "so"', "a\\b", "two\nlines", "\t", "\u0001"])
      expect(read(frame(text))).toBeNull();
    const raw = frame("x").replace('"x"', '"x\ny"');
    expect(read(raw)).toBeNull();
    expect(read(frame("x").replace('"x"', '"x","text":"y"'))).toBeNull();
  });

  test("has at its place the text that is read, wherever else the same characters stand", () => {
    const twice = `data: {"id":"Hello","delta":{"text":"Hello"},"by":"Hello"}\n\n`;
    expect(FrameStencil.of(twice, "Hello", textOf)).toBeNull();
    const before = `data: {"id":"Hello","delta":{"text":"Hello"}}\n\n`;
    expect(stencilOf(before, "Hello").read(Buffer.from(before.replace('"text":"Hello"', '"text":"x"')))).toBe(
      "x",
    );
  });

  test("is made of no frame whose text is in two strings, escaped otherwise, or not JSON", () => {
    const two = `data: {"delta":{"text":"Hel","thinking":"lo"}}\n\n`;
    expect(FrameStencil.of(two, "Hello", textOf)).toBeNull();
    expect(FrameStencil.of(`data: {"delta":{"text":"\\u0048ello"}}\n\n`, "Hello", textOf)).toBeNull();
    expect(FrameStencil.of(`data: "Hello"\n\n`, "Hello", textOf)).toBeNull();
    expect(FrameStencil.of(frame("<another text>"), "<another text>", textOf)).toBeNull();
  });
});
