import { describe, expect, test } from "bun:test";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import type { Json, JsonObject } from "../../src/base/json.ts";
import { maxInputTokens } from "../../src/catalog/estimate.ts";
import { countTexts } from "../../src/catalog/tokens/bpe.ts";
import { modelInputOf } from "../../src/catalog/tokens/model-input.ts";
import { estimated } from "../support/estimated.ts";
import { type SeededRandom, seededRandom } from "../support/random.ts";

const prose = "It was the best of times, it was the worst of times; we had everything before us. ".repeat(30);
const base64 = (text: string) => Buffer.from(text, "latin1").toString("base64");
const png = base64("\u0089PNG").repeat(20_000);
const pdf = base64(`%PDF-1.4 ${"x".repeat(1000)}`);
const address = "https://example.com/report.pdf";
const said = (...parts: JsonObject[]) => ({ contents: [{ role: "user", parts }] });
const image = { inlineData: { mimeType: "image/png", data: png } };

/** By the tokenizer, as if the provider reported nothing. */
function countOf(body: JsonObject): number {
  const { texts, fixedTokens } = modelInputOf(body);
  return fixedTokens + countTexts(texts, 60_000);
}

describe("a request of Google's form", () => {
  const spellings: Readonly<Record<string, JsonObject>> = {
    "camel case": said({ text: prose }),
    "a content and a part without lists": { contents: { parts: { text: prose } } },
    instructions: { systemInstruction: { parts: [{ text: prose }] }, contents: [] },
    "instructions in snake case": { system_instruction: { parts: { text: prose } }, contents: [] },
    arguments: said({ functionCall: { name: "f", args: { prose } } }),
    "a result in snake case": said({ function_response: { name: "f", response: { output: prose } } }),
    "a function": { contents: [], tools: [{ functionDeclarations: [{ name: "f", description: prose }] }] },
    "a function without lists": {
      contents: [],
      tools: { function_declarations: { name: "f", description: prose } },
    },
    "a schema": { contents: [], generation_config: { response_schema: { description: prose } } },
    "an encoded text": said({ inlineData: { mimeType: "text/plain", data: base64(prose) } }),
    code: said({ executableCode: { language: "PYTHON", code: prose } }),
    "a count": { generateContentRequest: { model: "models/m", ...said({ text: prose }) } },
  };
  for (const [what, body] of Object.entries(spellings)) {
    test(`is estimated and counted by its text: ${what}`, () => {
      const real = countTokens(prose);
      expect(estimated(body).tokens).toBeWithin(real, real * 2.5);
      expect(estimated(body).atMost).toBeGreaterThanOrEqual(real);
      expect(estimated(body).unmeasured).toBe(0);
      expect(countOf(body)).toBeWithin(real, Math.ceil(real * 1.1) + 30);
    });
  }

  test("has images that cost no more than images do, wherever media can be", () => {
    for (const body of [
      said(image),
      said({ inline_data: { mime_type: "IMAGE/JPEG", data: png } }),
      said({ fileData: { mimeType: "image/png", fileUri: "https://example.com/a.png" } }),
      said({ functionResponse: { name: "f", response: {}, parts: [image] } }),
      { contents: { parts: image } },
      { generateContentRequest: said(image) },
    ]) {
      expect(estimated(body)).toMatchObject({ unmeasured: 0 });
      expect(estimated(body).atMost).toBeWithin(4800, 5100);
      expect(countOf(body)).toBeWithin(1600, 1640);
    }
    expect(estimated(said(image, image)).atMost).toBeWithin(9600, 9900);
  });

  test("has more input with every function", () => {
    const tools = (count: number) => ({
      contents: [],
      tools: [{ functionDeclarations: Array.from({ length: count }, () => ({ name: "x" })) }],
    });
    expect(estimated(tools(50)).tokens - estimated(tools(1)).tokens).toBeWithin(49 * 12, 49 * 25);
    expect(countOf(tools(50)) - countOf(tools(1))).toBeGreaterThan(49 * 10);
  });

  test("has audio by its length", () => {
    const data = Buffer.concat([Buffer.from("ID3"), Buffer.alloc(32_000)]).toString("base64");
    expect(estimated(said({ inlineData: { mimeType: "audio/mp3", data } })).atMost).toBeWithin(1020, 1200);
  });

  const unbounded: Readonly<Record<string, JsonObject>> = {
    "a PDF": { inlineData: { mimeType: "application/pdf", data: pdf } },
    "a PDF that is called text": { inline_data: { mime_type: "text/plain", data: pdf } },
    "a PDF by address": { fileData: { mimeType: "application/pdf", fileUri: address } },
    "an image by the address of a PDF": { fileData: { mimeType: "image/png", fileUri: address } },
    "a video": { inlineData: { mimeType: "video/mp4", data: pdf } },
    "a video by address": { file_data: { file_uri: "https://www.youtube.com/watch?v=x" } },
    "a file of Google's": {
      fileData: {
        mimeType: "image/png",
        fileUri: "https://generativelanguage.googleapis.com/v1beta/files/x",
      },
    },
    "a file in a bucket": { fileData: { mimeType: "image/png", fileUri: "gs://bucket/x.png" } },
    "audio by address": { fileData: { mimeType: "audio/mp3", fileUri: "https://example.com/a.mp3" } },
    "compressed audio": { inlineData: { mimeType: "audio/ogg", data: base64("OggS") } },
    "data of no type": { inlineData: { data: pdf } },
  };
  for (const [what, part] of Object.entries(unbounded)) {
    test(`has as much input as the model can read with ${what}`, () => {
      for (const body of [said(part), said({ functionResponse: { name: "f", parts: part } })])
        expect(maxInputTokens(estimated(body), 200_000)).toBe(200_000);
    });
  }
});

describe("text that only looks like an attachment counts as text", () => {
  const text = base64(prose);
  const disguised = {
    type: "image",
    source: { data: text },
    inlineData: { mimeType: "image/png", data: text },
  };
  const schema = { type: "image", description: text };
  const bodies: Readonly<Record<string, JsonObject>> = {
    "Google's arguments": said({ functionCall: { name: "f", args: disguised } }),
    "Google's results": said({ functionResponse: { name: "f", response: disguised } }),
    "a type within Google's contents": said({ type: "image", text }),
    "a text beside an image": said({ inlineData: { mimeType: "image/png", data: "" }, text }),
    "the schema of Google's functions": {
      contents: [],
      tools: [{ functionDeclarations: [{ name: "f", parametersJsonSchema: schema }] }],
    },
    "Google's schema of the response": { contents: [], generationConfig: { responseJsonSchema: schema } },
    "a schema of tools": { messages: [], tools: [{ name: "f", input_schema: schema }] },
    "a schema of the response": {
      messages: [],
      response_format: { type: "json_schema", json_schema: { schema } },
    },
    "a tool's input": {
      messages: [
        { role: "assistant", content: [{ type: "tool_use", id: "t", name: "f", input: { x: disguised } }] },
      ],
    },
  };
  for (const [what, body] of Object.entries(bodies)) {
    test(what, () => expect(estimated(body).atMost).toBeGreaterThan(text.length));
  }
});

/** What a provider may charge: written without the estimate's code. Null if nothing bounds it. */
function chargedFor(body: JsonObject): number | null {
  const texts: string[] = [];
  let tokens = 0;
  let isBounded = true;
  const list = (value: Json | undefined) => (value == null ? [] : Array.isArray(value) ? value : [value]);
  const either = (object: JsonObject, name: string): Json | undefined =>
    object[name] ?? object[name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
  const medium = (value: JsonObject) => {
    const type = String(either(value, "mimeType"));
    const data = String(value["data"]);
    if (type === "image/png" && either(value, "fileUri") === undefined) tokens += 2240;
    else if (type === "text/csv" && !data.startsWith(pdf.slice(0, 8)))
      texts.push(Buffer.from(data, "base64").toString());
    else isBounded = false;
  };
  const part = (value: JsonObject): void => {
    const found = either(value, "inlineData") ?? either(value, "fileData");
    if (typeof value["text"] === "string") texts.push(value["text"]);
    if (found !== undefined) medium(found as JsonObject);
    const result = either(value, "functionResponse") as JsonObject | undefined;
    if (result !== undefined) {
      texts.push(JSON.stringify(result["response"]));
      for (const inner of list(result["parts"])) part(inner as JsonObject);
    }
    const call = either(value, "functionCall") as JsonObject | undefined;
    if (call !== undefined) texts.push(JSON.stringify(call));
  };
  for (const content of [...list(body["contents"]), ...list(either(body, "systemInstruction"))]) {
    tokens += 4;
    for (const value of list((content as JsonObject)["parts"])) part(value as JsonObject);
  }
  const config = either(body, "generationConfig") as JsonObject | undefined;
  for (const read of [body["tools"], config === undefined ? undefined : either(config, "responseSchema")])
    if (read !== undefined) texts.push(JSON.stringify(read));
  return isBounded ? tokens + countTexts(texts, 60_000) : null;
}

class RandomBody {
  readonly #random: SeededRandom;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  body(): JsonObject {
    const one = this.#one;
    return {
      model: "m",
      stream: false,
      contents: one(() => ({ role: this.#pick(["user", "model"]), parts: one(() => this.#part(0)) })),
      ...(this.#random.chance(0.3)
        ? this.#named("systemInstruction", { parts: one(() => this.#part(0)) })
        : {}),
      ...(this.#random.chance(0.3) ? { tools: one(() => this.#tool()) } : {}),
      ...(this.#random.chance(0.3)
        ? this.#named("generationConfig", this.#named("responseSchema", this.#value(0)))
        : {}),
    };
  }

  #tool(): JsonObject {
    return this.#named(
      "functionDeclarations",
      this.#one(() => ({ name: "f", ...this.#named("parametersJsonSchema", this.#value(0)) })),
    );
  }

  #part(depth: number): JsonObject {
    const kind = this.#random.below(depth > 0 ? 2 : 5);
    if (kind === 0) return this.#named("inlineData", this.#medium());
    if (kind === 1) return { ...(this.#random.chance(0.2) ? { type: "image" } : {}), text: this.#text() };
    if (kind === 2) return this.#named("functionCall", { name: "f", args: this.#value(0) });
    if (kind === 3)
      return this.#named("functionResponse", {
        name: "f",
        response: this.#value(0),
        parts: this.#one(() => this.#part(1)),
      });
    return this.#named("fileData", { ...this.#named("mimeType", "image/png"), fileUri: address });
  }

  #medium(): JsonObject {
    const type = this.#pick(["image/png", "image/png", "text/csv", "application/pdf"]);
    const data = this.#pick([png.slice(0, 4000), base64("7 3 9 1 ".repeat(100)), pdf, base64("a,b")]);
    return { ...this.#named("mimeType", type), data };
  }

  /** JSON of the caller's own, which may look like an attachment of any dialect. */
  #value(depth: number): JsonObject {
    const text = this.#text();
    const inner = depth < 2 && this.#random.chance(0.5) ? this.#value(depth + 1) : text;
    return {
      ...(this.#random.chance(0.4) ? { type: this.#pick(["image", "file", "input_audio", "object"]) } : {}),
      [this.#pick(["x", "data", "source", "inlineData", "parts", "input", "contents"])]: inner,
      y: this.#random.below(1_000_000),
    };
  }

  #text(): string {
    const kind = this.#random.below(6);
    if (kind === 0) return png.slice(0, 1000);
    if (kind === 1) return "7 3 9 1 ".repeat(this.#random.below(40));
    if (kind === 2) return `data:image/png;base64,${png.slice(0, 300)}`;
    return prose.slice(0, this.#random.below(200));
  }

  readonly #one = (item: () => Json): Json => {
    const items = Array.from({ length: 1 + this.#random.below(3) }, item);
    return this.#random.chance(0.3) ? (items[0] ?? null) : items;
  };

  #named(name: string, value: Json): JsonObject {
    const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return { [this.#random.chance(0.5) ? name : snake]: value };
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[this.#random.below(items.length)] as Item;
  }
}

test("no random body of Google's form costs more than is held for it, or is counted at most for it", () => {
  let bounded = 0;
  const random = seededRandom(62);
  for (let round = 0; round < 10_000; round += 1) {
    const body = new RandomBody(random).body();
    const charged = chargedFor(body);
    const { atMost, unmeasured } = estimated(body);
    if (charged === null && unmeasured === 0) throw new Error(`nothing bounds ${JSON.stringify(body)}`);
    if (charged === null) continue;
    bounded += 1;
    const { texts, fixedTokens, possibleTokens } = modelInputOf(body);
    const counted = fixedTokens + possibleTokens + countTexts(texts, 60_000, true);
    if (atMost < charged) throw new Error(`${atMost} held, ${charged} charged: ${JSON.stringify(body)}`);
    if (counted < charged) throw new Error(`${counted} counted, ${charged} charged: ${JSON.stringify(body)}`);
  }
  expect(bounded).toBeGreaterThan(2000);
}, 60_000);
