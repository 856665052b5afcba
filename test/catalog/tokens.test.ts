import { afterAll, describe, expect, test } from "bun:test";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import type { JsonObject } from "../../src/base/json.ts";
import { countTexts, minCountedChars } from "../../src/catalog/tokens/bpe.ts";
import { roughCount, TokenCounter } from "../../src/catalog/tokens/counter.ts";
import { modelInputOf } from "../../src/catalog/tokens/model-input.ts";
import { waitFor } from "../support/wait.ts";

/** A thread that never answers. */
const startSilent = () => new Worker(URL.createObjectURL(new Blob(["self.onmessage = () => {};"])));

const noHurry = 60_000;
const prose = "It was the best of times, it was the worst of times; we had everything before us. ".repeat(
  200,
);

describe("counting by byte pairs", () => {
  test("is exact for texts of one piece, and for long prose that is cut between words", () => {
    for (const text of ["Hello, world!", "日本語のテキスト", "😀👍🏽", "", prose]) {
      expect(countTexts([text], noHurry)).toBe(text === "" ? 0 : countTokens(text));
    }
  });

  test("takes special tokens for the plain text that they are here", () => {
    expect(countTexts(["<|endoftext|><|im_start|>"], noHurry)).toBeGreaterThan(5);
  });

  test("does not stumble over half characters, wherever the cuts fall", () => {
    for (const shift of [0, 1]) {
      const text = "x".repeat(shift) + "😀".repeat(3000);
      expect(countTexts([text], noHurry)).toBeGreaterThanOrEqual(3000);
    }
    expect(countTexts(["\ud800".repeat(3000)], noHurry)).toBeGreaterThan(0);
  });

  test("is exact for texts of an ordinary length although no time is left", () => {
    expect(prose.length).toBeLessThan(minCountedChars);
    expect(countTexts(["Hello, world!", prose], 0)).toBe(countTokens("Hello, world!") + countTokens(prose));
    const half = Math.floor(minCountedChars / 2);
    const long = prose.repeat(3);
    expect(countTexts([long.slice(0, half), long.slice(half, minCountedChars), long], 0, true)).toBe(
      countTexts([long.slice(0, half), long.slice(half, minCountedChars)], noHurry) + long.length,
    );
  });

  test("gives up on texts that take too long, and takes the rest to be like what it has seen", () => {
    const nasty = "的".repeat(3_000_000);
    const tokens = countTexts([nasty], 50);
    expect(tokens).toBeGreaterThan(2_500_000);
    expect(tokens).toBeLessThan(3_500_000);
  });
});

describe("the token counter", () => {
  const counter = new TokenCounter({ deadlineMs: 30_000 });
  afterAll(() => counter.stop());

  test("starts its thread with the first count, and counts really", async () => {
    expect(counter.running).toBe(false);
    expect(await counter.of("key").text(["Hello, world!", prose])).toBe(
      countTokens("Hello, world!") + countTokens(prose),
    );
    expect(counter.running).toBe(true);
  });

  test("answers many at once, each its own", async () => {
    const texts = Array.from({ length: 50 }, (_, index) => "word ".repeat(index + 1));
    const counts = await Promise.all(texts.map((text) => counter.of("key").text([text])));
    expect(counts).toEqual(texts.map((text) => countTokens(text)));
  });

  test("counts for a key although another has filled the queue", async () => {
    const body = (content: string) => new TextEncoder().encode(JSON.stringify({ messages: [{ content }] }));
    const others = Array.from({ length: 300 }, () => counter.of("other").requestAtMost(body("word")));
    const few = Array.from({ length: 9 }, () => counter.of("key").requestAtMost(body("word")));
    const counts = await Promise.all(few);
    expect(counts.slice(0, 8)).toEqual(Array(8).fill(5));
    expect(counts[8]).toBe(Number.POSITIVE_INFINITY);
    expect((await Promise.all(others)).filter(Number.isFinite)).toHaveLength(256);
    expect(await counter.of("other").requestAtMost(body("word"))).toBe(5);
  });

  test("needs no thread for nothing", async () => {
    const idle = new TokenCounter();
    expect(await idle.of("key").text([])).toBe(0);
    expect(await idle.of("key").text([""])).toBe(0);
    expect(idle.running).toBe(false);
  });

  test("counts roughly when the thread is too slow", async () => {
    const hurried = new TokenCounter({ deadlineMs: 1, startWorker: startSilent });
    expect(await hurried.of("key").text([prose])).toBe(roughCount([prose]));
    hurried.stop();
  });

  test("counts roughly when there is no thread to be had", async () => {
    const missing = new TokenCounter({ startWorker: () => new Worker("./there-is-no-such-file.ts") });
    expect(await missing.of("key").text([prose])).toBe(roughCount([prose]));
    const impossible = new TokenCounter({
      startWorker: () => {
        throw new Error("no more threads");
      },
    });
    expect(await impossible.of("key").text([prose])).toBe(roughCount([prose]));
  });

  test("ends its thread when idle, and starts it again when needed", async () => {
    const brief = new TokenCounter({ deadlineMs: 30_000, idleMs: 1 });
    expect(await brief.of("key").text([prose])).toBe(countTokens(prose));
    await waitFor(() => !brief.running, "the thread to end");
    expect(await brief.of("key").text([prose])).toBe(countTokens(prose));
    brief.stop();
  });

  test("counts roughly what it stumbles over, and the next exactly", async () => {
    const broken = new TextEncoder().encode('{"messages":');
    expect(await counter.of("key").request(broken)).toBe(Math.ceil(broken.length / 4));
    expect(await counter.of("key").text([prose])).toBe(countTokens(prose));
    const impossible = new TokenCounter({
      startWorker: () => {
        throw new Error("no more threads");
      },
    });
    expect(await impossible.of("key").request(broken)).toBe(Math.ceil(broken.length / 4));
  });

  test("a rough count lies within a factor of two of a real one", () => {
    for (const text of [
      prose,
      "我们在海边散步，天气很好，孩子们在玩耍。".repeat(30),
      JSON.stringify({ name: "get_weather", description: "The weather of a place", strict: true }),
    ]) {
      const ratio = roughCount([text]) / countTokens(text);
      expect(ratio).toBeGreaterThan(0.5);
      expect(ratio).toBeLessThan(2);
    }
  });
});

describe("counting a request", () => {
  const counter = new TokenCounter({ deadlineMs: 30_000 });
  afterAll(() => counter.stop());
  const ask = { role: "user", content: "What is the weather in Paris?" };

  test("includes system, messages, tools, calls, results and pictures", async () => {
    const count = (body: object) =>
      counter
        .of("key")
        .request(new TextEncoder().encode(JSON.stringify({ model: "m", messages: [ask], ...body })));
    const bare = await count({});
    expect(bare).toBe(countTokens(ask.content) + 4);
    expect(await count({ system: "Be brief." })).toBe(bare + countTokens("Be brief."));
    expect(
      await count({ system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }] }),
    ).toBe(bare + countTokens("Be brief."));
    const tools = [{ name: "get_weather", description: "The weather", input_schema: { type: "object" } }];
    const toolTokens = 10 + countTokens(JSON.stringify(tools[0]));
    expect(await count({ tools })).toBe(bare + toolTokens);
    const body = new TextEncoder().encode(JSON.stringify({ model: "m", messages: [ask], tools }));
    expect(await counter.of("key").request(body, true)).toBe(bare + toolTokens + 346);
    expect(await counter.of("key").requestAtMost(body)).toBeGreaterThanOrEqual(bare + toolTokens + 346);
    expect(roughCount(body, false, true) - roughCount(body)).toBe(346);
    const call = {
      role: "assistant",
      content: [{ type: "tool_use", id: "t", name: "get_weather", input: { a: 1 } }],
    };
    const result = {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "t", content: "22 degrees" }],
    };
    expect(await count({ messages: [ask, call, result] })).toBeGreaterThan(
      bare + 8 + countTokens("22 degrees"),
    );
    const picture = {
      type: "image",
      source: { type: "base64", media_type: "image/png", data: "A".repeat(100_000) },
    };
    const shown = await count({ messages: [{ role: "user", content: [picture] }] });
    expect(shown).toBe(4 + 1600);
  });

  test("takes a call whose name is no text for one without a name", async () => {
    const call = { type: "tool_use", id: "t", name: { toString: 1 }, input: { a: 1 } };
    const messages = [{ role: "assistant", content: [call] }];
    const body = new TextEncoder().encode(JSON.stringify({ model: "m", messages }));
    expect(await counter.of("key").request(body)).toBe(4 + countTokens('{"a":1}'));
    expect(roughCount(body)).toBe(4 + 2);
  });

  test("finds what there is to read in every dialect", () => {
    const text = (body: JsonObject) => modelInputOf(body).texts;
    expect(text({ input: "hello", instructions: "Be brief." })).toEqual(["Be brief.", "hello"]);
    expect(
      text({ input: [{ type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] }] }),
    ).toEqual(["hi"]);
    const call = { type: "function_call", call_id: "c", name: "f", arguments: '{"a":1}' };
    expect(text({ input: [call, { type: "function_call_output", call_id: "c", output: "22" }] })).toEqual([
      "f",
      '{"a":1}',
      "22",
    ]);
    const listed = [{ title: "a", score: 0.5, seen: true, rank: 0, kept: false, none: null }];
    expect(text({ messages: [{ role: "user", content: listed }] })).toEqual([
      "a",
      "0.5",
      "true",
      "0",
      "false",
    ]);
    const toolCalls = [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }];
    expect(text({ messages: [{ role: "assistant", content: null, tool_calls: toolCalls }] })).toEqual([
      "f",
      "{}",
    ]);
  });

  test("counts what is attached by a size of its own, and plain text as text", () => {
    const fixed = (block: JsonObject) => modelInputOf({ messages: [{ role: "user", content: [block] }] });
    expect(fixed({ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } })).toEqual({
      texts: [],
      fixedTokens: 1604,
      claudeTokens: 0,
      possibleTokens: 3200,
    });
    expect(fixed({ type: "document", source: { type: "base64", data: "AAAA" } }).fixedTokens).toBe(3004);
    expect(fixed({ type: "document", source: { type: "text", data: "plain" } }).texts).toEqual(["plain"]);
    expect(fixed({ type: "thinking", thinking: "hm", signature: "opaque" }).texts).toEqual(["hm"]);
  });

  test("knows how much more there may be than is usual", () => {
    const data = "JVBERi0x".repeat(100_000);
    const possible = (block: JsonObject) =>
      modelInputOf({ messages: [{ role: "user", content: [block] }] }).possibleTokens;
    const all = 3_000_000;
    expect(possible({ type: "document", source: { type: "base64", data } })).toBe(all + 24_000);
    expect(possible({ type: "file", file: { file_data: `data:application/pdf;base64,${data}` } })).toBeWithin(
      all + 24_000,
      all + 24_010,
    );
    const text = Buffer.from(prose).toString("base64");
    expect(possible({ type: "file", file: { file_data: `data:text/plain;base64,${text}` } })).toBeWithin(
      countTokens(prose),
      Buffer.byteLength(prose) + 100,
    );
    // As much as 600 seconds of MP3.
    const mp3 = Buffer.concat([Buffer.from("ID3"), Buffer.alloc(599_997)]).toString("base64");
    expect(possible({ type: "input_audio", input_audio: { data: mp3 } })).toBe(600 * 32 - 500);
    expect(possible({ type: "video_url", video_url: { url: "https://example.com/a.mp4" } })).toBe(all - 500);
    expect(possible({ type: "image", source: { type: "base64", data } })).toBe(3200);
    expect(possible({ type: "image", source: { data: prose } })).toBeGreaterThan(countTokens(prose));
    expect(possible({ type: "redacted_thinking", data })).toBe(data.length / 5);
    expect(possible({ type: "thinking", thinking: "hm", signature: data })).toBe(data.length / 5);
    expect(possible({ type: "reasoning", summary: [], encrypted_content: data })).toBe(data.length / 5);
    const unknown = modelInputOf({ messages: [], documents: [{ text: prose }], top_k: 5, user: prose });
    expect(unknown.texts).toEqual([]);
    expect(unknown.possibleTokens).toBeGreaterThan(countTokens(prose));
  });

  test("reads schemas and functions, which vendors bill as input", () => {
    const schema = { type: "object", properties: { answer: { type: "string" } } };
    for (const member of ["response_format", "text", "output_config", "functions"]) {
      const { texts, possibleTokens } = modelInputOf({ messages: [], [member]: { schema } });
      expect([texts, possibleTokens]).toEqual([[JSON.stringify({ schema })], 0]);
    }
  });

  test("is rough but right in kind when the thread is too slow", async () => {
    const hurried = new TokenCounter({ deadlineMs: 1, startWorker: startSilent });
    const body = new TextEncoder().encode(JSON.stringify({ messages: [{ role: "user", content: prose }] }));
    expect(await hurried.of("key").request(body)).toBe(roughCount([prose]) + 4);
    hurried.stop();
  });
});
