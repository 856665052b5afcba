import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/base/json.ts";
import type { ReportedUsage } from "../../../src/base/usage/usage.ts";
import type { Quirk } from "../../../src/dialects/contract/quirks.ts";
import { ChatStreamReader } from "../../../src/dialects/openai-chat/provider/stream-in.ts";
import { providerDialect } from "../../../src/dialects/registry.ts";
import { bytesOf } from "../../../src/gateway/exchange/client-call.ts";
import { PassthroughRelayer } from "../../../src/gateway/response/passthrough-relayer.ts";
import { collected } from "../../dialects/ir-events.ts";
import { foundAfter } from "../../support/read-stream.ts";
import { chatTarget, passedUsage, readStream, sseOf } from "./reading.ts";

const chunk = (delta: JsonObject, finish: string | null = null, more: JsonObject = {}): JsonObject => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more,
});
const usage = (input: number, output: number, more: JsonObject = {}): JsonObject => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  ...more,
});
const call = (index: number, id: string, name: string, args: string): JsonObject => ({
  index,
  id,
  type: "function",
  function: { name, arguments: args },
});
const done = "data: [DONE]";

interface Golden {
  readonly title: string;
  readonly events: readonly (JsonObject | string)[];
  readonly quirks?: readonly Quirk[];
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly (readonly [name: string, input: string])[];
  readonly finish?: string;
  /** Input, cached input, output and the reasoning in it. */
  readonly usage?: readonly [number, number, number, number];
}

const goldens: readonly Golden[] = [
  {
    title: "Q01: xAI's reasoning is beside completion_tokens, and finish_reason may be empty on calls",
    events: [
      chunk({ role: "assistant", reasoning_content: "Hm." }),
      chunk({ tool_calls: [call(0, "call_1", "look", '{"a":1}')] }),
      chunk({}, "stop"),
      {
        ...chunk({}),
        choices: [],
        usage: {
          ...usage(100, 20, { total_tokens: 150, num_sources_used: 0 }),
          prompt_tokens_details: { cached_tokens: 40 },
          completion_tokens_details: { reasoning_tokens: 30 },
        },
      },
      done,
    ],
    reasoning: "Hm.",
    calls: [["look", '{"a":1}']],
    finish: "stop",
    usage: [60, 40, 50, 30],
  },
  {
    title: "Q01: xAI's prompt_tokens may leave out the cache",
    events: [
      chunk({ content: "Hi" }, "stop"),
      {
        ...chunk({}),
        choices: [],
        usage: {
          ...usage(10, 2, { num_sources_used: 0 }),
          prompt_tokens_details: { cached_tokens: 500 },
        },
      },
      done,
    ],
    text: "Hi",
    usage: [10, 500, 2, 0],
  },
  {
    title: "Q02: Groq's usage is in x_groq",
    events: [
      chunk({ role: "assistant", content: "" }, null, { x_groq: { id: "req_1" } }),
      chunk({ reasoning: "Hm." }),
      chunk({ content: "Hi" }),
      chunk({}, "stop", { x_groq: { id: "req_1", usage: usage(18, 5, { queue_time: 0.1 }) } }),
      done,
    ],
    text: "Hi",
    reasoning: "Hm.",
    usage: [18, 0, 5, 0],
  },
  {
    title: "Q03: DeepSeek keeps alive by comments, and reports its cache in its own way",
    events: [
      ": keep-alive",
      chunk({ role: "assistant", content: null, reasoning_content: "Hm." }),
      ": keep-alive",
      chunk({ content: "Hi" }),
      chunk({}, "stop", {
        usage: usage(30, 5, { prompt_cache_hit_tokens: 20, prompt_cache_miss_tokens: 10 }),
      }),
      done,
    ],
    text: "Hi",
    reasoning: "Hm.",
    usage: [10, 20, 5, 0],
  },
  {
    title: "Q04: Mistral's thinking is a part of the content, and its usage is in the last chunk",
    events: [
      chunk({
        role: "assistant",
        content: [{ type: "thinking", thinking: [{ type: "text", text: "Hm." }] }],
      }),
      chunk({ content: "Hi" }),
      chunk({ content: "" }, "stop", { usage: usage(30, 5, { num_cached_tokens: 10 }) }),
      done,
    ],
    text: "Hi",
    reasoning: "Hm.",
    usage: [20, 10, 5, 0],
  },
  {
    title: 'Q05: Cohere writes "null" for no arguments',
    events: [chunk({ tool_calls: [call(0, "look_1", "look", "null")] }), chunk({}, "tool_calls"), done],
    calls: [["look", "{}"]],
    finish: "tool_calls",
  },
  {
    title: "Q06: OpenRouter's comments are no events, and its details stay with the reasoning",
    quirks: ["reasoning_details"],
    events: [
      ": OPENROUTER PROCESSING",
      chunk({
        role: "assistant",
        content: "",
        reasoning: "Hm.",
        reasoning_details: [{ type: "reasoning.text", text: "Hm." }],
      }),
      chunk({ content: "", reasoning_details: [{ type: "reasoning.encrypted", data: "c2VhbA==" }] }),
      chunk({ content: "Hi" }),
      chunk({ content: "" }, "stop"),
      {
        ...chunk({}),
        choices: [{ index: 0, delta: { content: "" }, finish_reason: null }],
        usage: usage(8, 3, { cost: 0.00014 }),
      },
      done,
    ],
    text: "Hi",
    reasoning: "Hm.",
    usage: [8, 0, 3, 0],
  },
  {
    title: "Q07: Together's usage comes with the last content, whose finish_reason is eos",
    events: [chunk({ content: "Hi" }), chunk({ content: "!" }, "eos", { usage: usage(8, 3) }), done],
    text: "Hi!",
    finish: "stop",
    usage: [8, 0, 3, 0],
  },
  {
    title: "Q08: Fireworks reports usage without being asked",
    events: [
      chunk({ content: "Hi" }),
      chunk({}, "stop", { usage: usage(8, 3, { prompt_tokens_details: { cached_tokens: 2 } }) }),
      done,
    ],
    text: "Hi",
    usage: [6, 2, 3, 0],
  },
  {
    title: "Q09: vLLM's parser may send a call whole, or repeat its id and name",
    events: [
      chunk({ role: "assistant", content: null, reasoning: "Hm." }),
      chunk({ tool_calls: [call(0, "call_1", "look", '{"a"')] }),
      chunk({ tool_calls: [call(0, "call_1", "look", ":1}")] }),
      chunk({ tool_calls: [call(1, "call_2", "look", '{"b":2}')] }, "tool_calls", { stop_reason: null }),
      { ...chunk({}), choices: [], usage: usage(8, 3) },
      done,
    ],
    reasoning: "Hm.",
    calls: [
      ["look", '{"a":1}'],
      ["look", '{"b":2}'],
    ],
    finish: "tool_calls",
    usage: [8, 0, 3, 0],
  },
  {
    title: "Q10: SGLang puts chunks without usage in between",
    events: [
      chunk({ reasoning_content: "Hm." }, null, { usage: null }),
      chunk({ content: "Hi" }, null, { usage: null }),
      {
        ...chunk({}),
        choices: [{ index: 0, delta: {}, finish_reason: "stop", matched_stop: 2 }],
        usage: null,
      },
      { ...chunk({}), choices: [], usage: usage(8, 3) },
      done,
    ],
    text: "Hi",
    reasoning: "Hm.",
    usage: [8, 0, 3, 0],
  },
  {
    title: "Q11: Ollama gives every parallel call the index 0, so their ids tell them apart",
    events: [
      chunk({ role: "assistant", content: "", tool_calls: [call(0, "call_a", "look", '{"a":1}')] }),
      chunk({ role: "assistant", content: "", tool_calls: [call(0, "call_b", "look", '{"a":2}')] }),
      chunk({ content: "" }, "tool_calls"),
      done,
    ],
    calls: [
      ["look", '{"a":1}'],
      ["look", '{"a":2}'],
    ],
    finish: "tool_calls",
  },
  {
    title: "Q12: llama.cpp's timings are ignored",
    events: [
      chunk({ role: "assistant", content: null }),
      chunk({ reasoning_content: "Hm." }),
      chunk({ content: "Hi" }),
      chunk({}, "stop", { usage: usage(8, 3), timings: { prompt_n: 8, predicted_n: 3 } }),
      done,
    ],
    text: "Hi",
    reasoning: "Hm.",
    usage: [8, 0, 3, 0],
  },
  {
    title: "Q13: LM Studio's stream may end without [DONE]",
    events: [chunk({ content: "Hi" }), chunk({}, "stop")],
    text: "Hi",
    finish: "stop",
  },
  {
    title: "Q14: GLM's filter is a refusal, and Moonshot's usage is inside of the choice",
    events: [
      chunk({ content: "Hi" }),
      { ...chunk({}), choices: [{ index: 0, delta: {}, finish_reason: "sensitive", usage: usage(8, 3) }] },
      done,
    ],
    text: "Hi",
    finish: "refusal",
    usage: [8, 0, 3, 0],
  },
  {
    title: "Q15: Perplexity repeats its usage in every chunk, and cites",
    events: [
      chunk({ role: "assistant", content: "H" }, null, {
        usage: usage(8, 1),
        citations: ["https://a.example"],
      }),
      chunk({ content: "i" }, null, { usage: usage(8, 2), search_results: [{ title: "A" }] }),
      chunk({ content: "" }, "stop", {
        usage: usage(8, 3, { num_search_queries: 1, cost: { total_cost: 0.006 } }),
      }),
      done,
    ],
    text: "Hi",
    usage: [8, 0, 3, 0],
  },
  {
    title: "Q17: text and [DONE] without a finish_reason are a proper end",
    events: [chunk({ content: "Hi" }), chunk({ content: "" }, ""), done],
    text: "Hi",
    finish: "stop",
  },
  {
    title: "Q18: of several figures the last counts, and zeros at the beginning are none",
    events: [
      chunk({ content: "H" }, null, { usage: usage(0, 0) }),
      chunk({ content: "i" }, "stop", { usage: usage(8, 2) }),
      { ...chunk({}), choices: [], usage: usage(8, 3) },
      done,
    ],
    text: "Hi",
    usage: [8, 0, 3, 0],
  },
  {
    title: "Q21: arguments may be an object, null or empty, and begin with a placeholder",
    events: [
      chunk({ tool_calls: [{ index: 0, id: "1", function: { name: "object", arguments: { a: 1 } } }] }),
      chunk({ tool_calls: [{ index: 1, id: "2", function: { name: "null", arguments: null } }] }),
      chunk({ tool_calls: [call(2, "3", "empty", "")] }),
      chunk({ tool_calls: [call(3, "4", "placeholder", "{}")] }),
      chunk({ tool_calls: [{ index: 3, function: { arguments: '{"a":1}' } }] }),
      chunk({ tool_calls: [call(4, "5", "really-empty", "{}")] }),
      chunk({ tool_calls: [{ id: "6", function: { name: "no-index", arguments: '{"b"' } }] }),
      chunk({ tool_calls: [{ function: { arguments: ":2}" } }] }),
      chunk({}, "tool_calls"),
      done,
    ],
    calls: [
      ["object", '{"a":1}'],
      ["null", "{}"],
      ["empty", "{}"],
      ["placeholder", '{"a":1}'],
      ["really-empty", "{}"],
      ["no-index", '{"b":2}'],
    ],
    finish: "tool_calls",
  },
];

describe("one stream of each server (T16)", () => {
  for (const golden of goldens) {
    test(golden.title, () => {
      const text = sseOf(golden.events);
      const response = readStream(text, golden.quirks);
      expect(readStream(text, golden.quirks, 1)).toEqual(response);
      const said = response.blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");
      const thought = response.blocks
        .flatMap((block) => (block.type === "reasoning" ? block.parts : []))
        .join("");
      const calls = response.blocks.flatMap((block) =>
        block.type === "tool_call" ? [[block.name, block.input] as const] : [],
      );
      expect(said).toBe(golden.text ?? "");
      expect(thought).toBe(golden.reasoning ?? "");
      expect(calls).toEqual([...(golden.calls ?? [])]);
      expect(response.finish.reason).toBe((golden.finish ?? "stop") as typeof response.finish.reason);
      if (golden.usage === undefined) return;
      const [inputTokens, cachedInputTokens, outputTokens, reasoningTokens] = golden.usage;
      const expected = { inputTokens, cachedInputTokens, cacheWriteTokens: 0, outputTokens, reasoningTokens };
      // Whether it came with the finish differs from server to server.
      const { isUpToDate: _, ...figures }: Partial<ReportedUsage> = response.usage ?? {};
      expect(figures).toEqual(expected);
      expect(passedUsage(text)).toEqual(expected);
    });
  }
});

describe("failures in the middle", () => {
  const read = (event: JsonObject) => () => readStream(sseOf([chunk({ content: "Hi" }), event]));

  test("OpenRouter's numeric code is understood, and its finish_reason is no stop (Q06)", () => {
    const failed = {
      code: 502,
      message: "Provider returned error",
      metadata: { provider_name: "x", raw: "y" },
    };
    expect(read({ ...chunk({ content: "" }, "error"), error: failed })).toThrow("Provider returned error");
    expect(read({ ...chunk({ content: "" }), error: { ...failed, code: 429 } })).toThrow(
      "The provider is overloaded",
    );
    expect(read(chunk({ content: "" }, "error"))).toThrow("The provider reported a failed response.");
  });

  test("Ollama's error may be a text, Q12: llama.cpp's an object with a number (Q11)", () => {
    expect(read({ error: "model runner has crashed" })).toThrow("model runner has crashed");
    expect(read({ error: { code: 500, message: "slot failed", type: "server_error" } })).toThrow(
      "slot failed",
    );
  });

  test("GLM's network_error and MiniMax's status are failures (Q14)", () => {
    expect(read(chunk({}, "network_error"))).toThrow("The provider reported a failed response.");
    expect(read({ choices: null, base_resp: { status_code: 1002, status_msg: "rate limit" } })).toThrow(
      "The provider is overloaded",
    );
    expect(read({ choices: null, base_resp: { status_code: 1027, status_msg: "output sensitive" } })).toThrow(
      "output sensitive",
    );
    expect(read({ ...chunk({}, "stop"), base_resp: { status_code: 0, status_msg: "" } })).not.toThrow();
  });

  test("[DONE] without any content, and content without [DONE], are cut short (Q17)", () => {
    expect(() => readStream(sseOf([chunk({ content: "" }), done]))).toThrow(
      "ended before the response was complete",
    );
    expect(() => readStream(sseOf([chunk({ content: "Hi" })]))).toThrow(
      "ended before the response was complete",
    );
  });

  test("a code and a message in place of an answer are a failure (Q19)", () => {
    expect(read({ code: 40001, msg: "no such model" })).toThrow("no such model");
  });
});

describe("a stream that passes through is complete (Q13)", () => {
  const isComplete = (...events: JsonObject[]) => {
    return foundAfter(new ChatStreamReader({ target: null }), sseOf(events)).isComplete;
  };
  const choice = (index: number, finish: string | null) => ({
    ...chunk({}),
    choices: [{ index, delta: { content: "Hi" }, finish_reason: finish }],
  });

  test("once all of its choices have finished, and not by an empty reason", () => {
    expect(isComplete(choice(0, null))).toBe(false);
    expect(isComplete(choice(0, ""), choice(0, ""))).toBe(false);
    expect(isComplete(choice(0, ""), choice(0, "stop"))).toBe(true);
    expect(isComplete(choice(0, null), choice(1, null), choice(0, "stop"))).toBe(false);
    expect(isComplete(choice(0, null), choice(1, null), choice(0, "stop"), choice(1, "length"))).toBe(true);
  });
});

describe("whole answers", () => {
  test("Copilot's two choices are one answer (Q16)", () => {
    const body = {
      choices: [
        { index: 0, message: { role: "assistant", content: "Let me look." }, finish_reason: "stop" },
        {
          index: 1,
          message: { role: "assistant", content: null, tool_calls: [call(0, "call_1", "look", "{}")] },
          finish_reason: "tool_calls",
        },
      ],
      usage: usage(8, 3),
    };
    const { blocks, finish } = collected(
      providerDialect("chat").readResponse(body, chatTarget(["split_choices"])),
    );
    expect(blocks.map(({ type }) => type)).toEqual(["text", "tool_call"]);
    expect(finish.reason).toBe("tool_calls");
  });

  test("OpenRouter's details are kept for the next request (Q06)", () => {
    const details = [{ type: "reasoning.encrypted", data: "c2VhbA==", id: "r1" }];
    const message = { role: "assistant", content: "Hi", reasoning: "Hm.", reasoning_details: details };
    const body = { choices: [{ index: 0, message, finish_reason: "stop" }] };
    const { blocks } = collected(
      providerDialect("chat").readResponse(body, chatTarget(["reasoning_details"])),
    );
    expect(blocks[0]).toMatchObject({ type: "reasoning", signature: { maker: "chat", details } });
  });
});

describe("blanks around an event's data", () => {
  const events = [
    chunk({ content: "Hi" }),
    chunk({}, "stop"),
    { ...chunk({}), choices: [], usage: usage(10, 5) },
  ];
  const streamWith = (before: string, end: string) =>
    [...events.map((event) => JSON.stringify(event)), end]
      .map((data) => `data:${before}${data}\n\n`)
      .join("");

  test.each([
    ["none", "", "[DONE]"],
    ["two spaces", "  ", "[DONE]"],
    ["a tab", "\t", "[DONE]"],
    ["something behind the mark of the end", " ", "[DONE] "],
  ])("change neither what is read nor what is charged: %s", (_, before, end) => {
    const text = streamWith(before, end);
    expect(passedUsage(text)).toMatchObject({ inputTokens: 10, outputTokens: 5 });
    const translated = readStream(text);
    expect(translated.blocks).toMatchObject([{ type: "text", text: "Hi" }]);
    expect(translated.usage).toMatchObject({ inputTokens: 10, outputTokens: 5 });
  });

  test.each(["[DONE]", " [DONE]", "[DONE] ", "\t[DONE]"])("the end %j waits for the charge", (end) => {
    const call = { dialect: "chat", hideUsage: false, requestId: "r", model: "m", atSeconds: 1 } as const;
    const relayer = new PassthroughRelayer(call);
    const forwarded = bytesOf(relayer.push(Buffer.from(streamWith(" ", end))));
    expect(new TextDecoder().decode(forwarded)).not.toContain("[DONE]");
    expect(new TextDecoder().decode(bytesOf(relayer.terminal()))).toBe(`data: ${end}\n\n`);
  });

  test("events without data are none", () => {
    const keepalives = "data:\n\ndata\n\nevent: ping\ndata: \n\n";
    const translated = readStream(keepalives + streamWith(" ", "[DONE]"));
    expect(translated.blocks).toMatchObject([{ type: "text", text: "Hi" }]);
  });

  test("figures may stand behind a tab", () => {
    const figures = '{"choices":[],"usage":\t{"prompt_tokens":10,"completion_tokens":5}}';
    const text = streamWith(" ", "[DONE]").replace(JSON.stringify(events[2]), figures);
    expect(passedUsage(text)).toMatchObject({ inputTokens: 10, outputTokens: 5 });
  });
});
