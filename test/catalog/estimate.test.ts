import { describe, expect, test } from "bun:test";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import type { Json, JsonObject } from "../../src/base/json.ts";
import { estimateInput, imageTokens } from "../../src/catalog/estimate.ts";

const prose = "It was the best of times, it was the worst of times; we had everything before us. ".repeat(30);
const code = "export function add(a: number, b: number): number {\n  return a + b; // 42\n}\n".repeat(30);
const chinese = "我们在海边散步，天气很好，孩子们在玩耍。".repeat(30);
const json = JSON.stringify(
  Array.from({ length: 40 }, (_, id) => ({ id, name: `row ${id}`, price: id * 1.5 })),
);

describe("the estimate of input tokens", () => {
  for (const [name, text] of Object.entries({ prose, code, chinese, json })) {
    test(`is at or above the real count of ${name}, and below three times it`, () => {
      const real = countTokens(text);
      for (const body of [
        { messages: [{ role: "user", content: text }] },
        { input: [{ role: "user", content: [{ type: "input_text", text }] }] },
        { system: [{ type: "text", text }], messages: [] },
        { instructions: text },
      ]) {
        expect(estimateInput(body)).toBeGreaterThanOrEqual(real);
        expect(estimateInput(body)).toBeLessThan(real * 3);
      }
    });
  }

  test("counts images by what they cost, not by their bytes", () => {
    const data = "iVBORw0KGgo".repeat(100_000);
    const pictures = [
      { type: "image", source: { type: "base64", media_type: "image/png", data } },
      { type: "image_url", image_url: { url: `data:image/png;base64,${data}` } },
      { type: "input_image", image_url: `data:image/png;base64,${data}` },
    ];
    for (const picture of pictures) {
      const tokens = estimateInput({ messages: [{ role: "user", content: [picture] }] });
      expect(tokens).toBeGreaterThanOrEqual(imageTokens);
      expect(tokens).toBeLessThan(imageTokens + 250);
    }
  });

  test("counts every image", () => {
    const picture = {
      type: "image_url",
      image_url: { url: `data:image/png;base64,${"iVBORw0KGgo".repeat(1000)}` },
    };
    const pictures = (count: number) =>
      estimateInput({ messages: [{ role: "user", content: Array.from({ length: count }, () => picture) }] });
    for (const count of [2, 3, 20]) {
      expect(pictures(count)).toBeGreaterThanOrEqual(count * imageTokens);
      expect(pictures(count)).toBeLessThan(count * (imageTokens + 50));
    }
  });

  test("counts audio by how long it plays, not by its text", () => {
    const audio = (chars: number) => ({
      type: "input_audio",
      input_audio: { data: "UklGRiQA".repeat(chars / 8), format: "wav" },
    });
    const tokens = (...content: JsonObject[]) => estimateInput({ messages: [{ role: "user", content }] });
    expect(tokens(audio(80_000))).toBeWithin(200, 260);
    expect(tokens(audio(160_000)) - tokens(audio(80_000))).toBe(200);
    expect(tokens(audio(80_000), audio(80_000)) - tokens(audio(80_000))).toBeWithin(200, 260);
  });

  test("counts numbers, and what is neither a number nor a text", () => {
    const tokens = (value: Json) => estimateInput({ x: [value] });
    expect(tokens([1, 2, 3, 4, 5]) - tokens([])).toBe(5 * 3);
    expect(tokens([true, false, null]) - tokens([])).toBe(3);
  });

  test("counts encoded documents by their pages, and documents of plain text as text", () => {
    const encoded = { type: "document", source: { type: "base64", data: "JVBERi0x".repeat(100_000) } };
    const plain = { type: "document", source: { type: "text", media_type: "text/plain", data: prose } };
    const tokens = estimateInput({ messages: [encoded] });
    expect(tokens).toBeGreaterThan(20_000);
    expect(tokens).toBeLessThan(40_000);
    expect(estimateInput({ messages: [plain] })).toBeGreaterThanOrEqual(countTokens(prose));
  });

  test("counts as text what the provider takes for text, whatever it looks like", () => {
    const disguised = `data:${prose}`;
    const encoded = `data:text/plain;base64,${Buffer.from(prose).toString("base64")}`;
    for (const part of [
      { type: "document", source: { type: "text", media_type: "text/plain", data: disguised } },
      { type: "document", source: { type: "content", content: [{ type: "text", text: disguised }] } },
      { type: "file", file: { filename: "a.txt", file_data: encoded } },
    ]) {
      expect(estimateInput({ messages: [part] })).toBeGreaterThan(countTokens(prose) + 3000);
    }
  });

  test("counts an encoded text by the bytes that it stands for", () => {
    const tokens = (letters: number) => {
      const file_data = `data:text/plain;base64,${Buffer.from("a".repeat(letters)).toString("base64")}`;
      return estimateInput({ messages: [{ type: "file", file: { file_data } }] });
    };
    // 2.5 bytes are a token; the base64 is a third longer.
    expect(tokens(30_000) - tokens(15_000)).toBe(6_000);
  });

  test("counts speech and video that are only named by their address", () => {
    for (const type of ["audio_url", "video_url"]) {
      expect(estimateInput({ messages: [{ type, [type]: { url: "https://example.com/a" } }] })).toBeWithin(
        20_000,
        20_100,
      );
    }
  });

  test("text that merely claims to be an image is counted as text", () => {
    const tokens = estimateInput({ messages: [{ type: "image", source: { data: prose } }] });
    expect(tokens).toBeGreaterThan(imageTokens + countTokens(prose));
  });

  test("grows with every message and every tool", () => {
    const message = { role: "user", content: "hi" };
    const one = estimateInput({ messages: [message] });
    expect(estimateInput({ messages: [message, message] })).toBeGreaterThan(one + 3);
    const tool = {
      name: "get_weather",
      input_schema: { type: "object", properties: { city: { type: "string" } } },
    };
    expect(estimateInput({ messages: [message], tools: [tool] })).toBeGreaterThan(one + 300);
    const tools = (count: number) =>
      estimateInput({ messages: [], tools: Array.from({ length: count }, () => ({ name: "x" })) });
    expect(tools(50) - tools(1)).toBeGreaterThanOrEqual(49 * 12);
    expect(tools(50) - tools(1)).toBeLessThan(49 * 25);
  });
});
