import { describe, expect, test } from "bun:test";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import type { Json, JsonObject } from "../../src/base/json.ts";
import { maxInputTokens } from "../../src/catalog/estimate.ts";
import { estimated as estimate } from "../support/estimated.ts";

const prose = "It was the best of times, it was the worst of times; we had everything before us. ".repeat(30);
const code = "export function add(a: number, b: number): number {\n  return a + b; // 42\n}\n".repeat(30);
const chinese = "我们在海边散步，天气很好，孩子们在玩耍。".repeat(30);
const json = JSON.stringify(
  Array.from({ length: 40 }, (_, id) => ({ id, name: `row ${id}`, price: id * 1.5 })),
);

/** The most that an image costs. */
const imageTokens = 4800;

function estimateInput(body: JsonObject): number {
  return estimate(body).tokens;
}

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

  test("counts audio by how long it plays at most, not by its text", () => {
    const audio = (head: Buffer, bytes: number) => {
      const data = Buffer.concat([head, Buffer.alloc(bytes - head.length)]).toString("base64");
      const tokens = estimate({ messages: [{ type: "input_audio", input_audio: { data, format: "x" } }] });
      return { ...tokens, seconds: tokens.tokens / 32 };
    };
    const wav = (rate: number, bytesPerSample: number, format = 1) => {
      const head = Buffer.alloc(44);
      head.write("RIFF");
      head.write("WAVEfmt ", 8);
      head.writeUInt16LE(format, 20);
      head.writeUInt32LE(rate, 24);
      head.writeUInt16LE(bytesPerSample, 32);
      return head;
    };
    expect(audio(wav(24_000, 2), 10 * 48_000)).toMatchObject({ unmeasured: 0 });
    expect(audio(wav(24_000, 2), 10 * 48_000).seconds).toBeWithin(10, 12);
    expect(audio(wav(8_000, 1), 100 * 8_000).seconds).toBeWithin(100, 102);
    // A player goes by the same figures.
    expect(audio(wav(10, 1), 10_000).seconds).toBeWithin(1000, 1002);
    for (const head of [Buffer.from("ID3\u0003"), Buffer.from([0xff, 0xfb]), Buffer.from([0xff, 0xe3])]) {
      expect(audio(head, 64_000).seconds).toBeWithin(64, 66);
    }
    for (const head of [wav(0, 2), wav(24_000, 2, 0x55), Buffer.from("fLaC"), Buffer.from("OggS")]) {
      expect(audio(head, 64_000).unmeasured).toBe(1);
    }
  });

  test("counts numbers, and what is neither a number nor a text", () => {
    const tokens = (value: Json) => estimateInput({ x: [value] });
    expect(tokens([1, 2, 3, 4, 5]) - tokens([])).toBe(5 * 3);
    expect(tokens([true, false, null]) - tokens([])).toBe(3);
  });

  test("counts documents of plain text as text", () => {
    const plain = { type: "document", source: { type: "text", media_type: "text/plain", data: prose } };
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

const base64 = (text: string) => Buffer.from(text, "latin1").toString("base64");
const pdf = base64("%PDF-1.4 1 0 obj<</Kids[3 0 R 3 0 R 3 0 R]/Count 1>>");
const docx = base64("PK\u0003\u0004 word/document.xml");
const address = "https://example.com/report.pdf";

/** Nothing bounds the tokens of these before the provider has read them. */
const unmeasured: Readonly<Record<string, JsonObject>> = {
  "a PDF of a messages client": {
    type: "document",
    source: { type: "base64", media_type: "application/pdf", data: pdf },
  },
  "a PDF by address of a messages client": { type: "document", source: { type: "url", url: address } },
  "a file by id of a messages client": { type: "document", source: { type: "file", file_id: "file_1" } },
  "a document without anything": { type: "document" },
  "a PDF of a chat client": {
    type: "file",
    file: { filename: "a.pdf", file_data: `data:application/pdf;base64,${pdf}` },
  },
  "a PDF that a chat client calls text": {
    type: "file",
    file: { filename: "a.pdf", file_data: `data:text/plain;base64,${pdf}` },
  },
  "a PDF behind some text": {
    type: "file",
    file: { file_data: `data:text/plain;base64,${base64(`\n\n%PDF-1.7\n${"x".repeat(2000)}`)}` },
  },
  "base64 without a type": { type: "file", file: { file_data: pdf } },
  "a file by id of a chat client": { type: "file", file: { file_id: "file-1" } },
  "a file by id that has text, too": {
    type: "file",
    file: { file_id: "file-1", file_data: `data:text/plain;base64,${base64("hi")}` },
  },
  "a PDF of a responses client": {
    type: "input_file",
    filename: "a.pdf",
    file_data: `data:application/pdf;base64,${pdf}`,
  },
  "a Word document of a responses client": {
    type: "input_file",
    filename: "a.docx",
    file_data: `data:application/vnd.openxmlformats;base64,${docx}`,
  },
  "a spreadsheet that is called text": { type: "input_file", file_data: `data:text/csv;base64,${docx}` },
  "a PDF by address of a responses client": { type: "input_file", file_url: address },
  "a file by id of a responses client": { type: "input_file", file_id: "file-1" },
  "a PDF by Mistral's name for it": { type: "document_url", document_url: address },
  "a video by Qwen's name for it": { type: "video", video: ["https://example.com/1.jpg"] },
  "speech by address": { type: "audio_url", audio_url: { url: "https://example.com/a.mp3" } },
  "a video by address": { type: "video_url", video_url: { url: "https://example.com/a.mp4" } },
  "a video in bytes": { type: "video_url", video_url: { url: `data:video/mp4;base64,${docx}` } },
  "a video of a responses client": { type: "input_video", video_url: "https://example.com/a.mp4" },
  "a PDF as an image": { type: "image_url", image_url: { url: `data:application/pdf;base64,${pdf}` } },
  "a PDF as an image, by address": { type: "input_image", image_url: address },
  "a video as an image": { type: "image_url", image_url: { url: "https://www.youtube.com/watch?v=x" } },
  "a short address of a video": { type: "image", source: { type: "url", url: "https://youtu.be/x" } },
  "an image in a bucket": { type: "image_url", image_url: { url: "gs://bucket/image" } },
};

/** The vendor scales these down, or their size bounds them. */
const measured: Readonly<Record<string, JsonObject>> = {
  "an image": { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo" } },
  "an image by address": { type: "image", source: { type: "url", url: "https://example.com/a.png?x=1" } },
  "an image by an address without an extension": {
    type: "image_url",
    image_url: { url: "https://cdn.example.com/v1.2/picture" },
  },
  "an image by id": { type: "image", source: { type: "file", file_id: "file_1" } },
  "an image of a responses client by id": { type: "input_image", file_id: "file-1" },
  "a screenshot": { type: "computer_screenshot", image_url: "data:image/png;base64,iVBORw0KGgo" },
  "a text": {
    type: "file",
    file: { file_data: `data:text/markdown;base64,${base64("# Hello\r\n\tworld")}` },
  },
  "a document in parts": {
    type: "document",
    source: { type: "content", content: [{ type: "text", text: "Hello" }] },
  },
};

describe("the most that a request may read", () => {
  const most = (block: JsonObject, window: number | null) =>
    maxInputTokens(estimate({ messages: [{ role: "user", content: [block] }] }), window);

  for (const [what, block] of Object.entries(unmeasured)) {
    test(`with ${what} is all that the model can`, () => {
      expect(most(block, 200_000)).toBe(200_000);
      expect(most(block, 1_000_000)).toBe(1_000_000);
      // Where the window is not known, the most pages that any vendor takes.
      expect(most(block, null)).toBeWithin(3_000_000, 3_010_000);
    });
  }

  for (const [what, block] of Object.entries(measured)) {
    test(`with ${what} is no more than that`, () => {
      for (const window of [null, 200_000]) expect(most(block, window)).toBeLessThan(6_000);
    });
  }

  test("is never below the rest of it", () => {
    const long = { type: "text", text: prose.repeat(10) };
    const body = {
      messages: [{ role: "user", content: [long, unmeasured["a PDF of a chat client"] ?? {}] }],
    };
    expect(maxInputTokens(estimate(body), 1000)).toBe(estimateInput(body));
  });

  test("is found within the result of a tool, and within another document", () => {
    const inner = unmeasured["a PDF of a messages client"] ?? {};
    for (const block of [
      { type: "tool_result", content: [inner] },
      { type: "document", source: { type: "content", content: [inner] } },
    ]) {
      expect(most(block, 200_000)).toBe(200_000);
    }
  });

  test("is more for an image that is to be read as it is", () => {
    const image = (more: object) => most({ type: "input_image", image_url: "https://a.b/c", ...more }, null);
    expect(image({ detail: "original" }) - image({ detail: "high" })).toBeWithin(7_000, 7_400);
  });
});
