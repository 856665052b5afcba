import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../../../src/base/errors.ts";
import type { JsonObject } from "../../../../src/base/json.ts";
import { EventCollector } from "../../../../src/dialects/ir/events.ts";
import type { IrEvent, IrResponse } from "../../../../src/dialects/ir/ir.ts";
import { openAiResponses } from "../../../../src/dialects/openai-responses/index.ts";
import { answerOf } from "../../../support/read-stream.ts";
import { targetOf } from "../support.ts";

interface Read {
  readonly events: readonly IrEvent[];
  readonly response: IrResponse;
}

function newReader() {
  return openAiResponses.provider.createStreamReader({ target: targetOf() });
}

function readFrames(frames: readonly JsonObject[]): IrEvent[] {
  const events = [...frames.map((frame) => JSON.stringify(frame)), "[DONE]"];
  return answerOf(newReader(), [Buffer.from(events.map((data) => `data: ${data}\n\n`).join(""))]);
}

function read(...frames: JsonObject[]): Read {
  const events = readFrames(frames);
  const collector = new EventCollector();
  for (const event of events) collector.push(event);
  return { events, response: collector.response() };
}

function failureOf(...frames: JsonObject[]): GatewayError {
  try {
    readFrames(frames);
  } catch (error) {
    if (error instanceof GatewayError) return error;
  }
  throw new Error("the stream was read without a failure");
}

const created: JsonObject = { type: "response.created", response: { id: "resp_1", status: "in_progress" } };

function added(at: number, item: JsonObject): JsonObject {
  return { type: "response.output_item.added", output_index: at, item };
}
function done(at: number, item: JsonObject): JsonObject {
  return { type: "response.output_item.done", output_index: at, item };
}
function completed(output: JsonObject[], rest: JsonObject = {}): JsonObject {
  return { type: "response.completed", response: { id: "resp_1", status: "completed", output, ...rest } };
}
function functionCall(n: number, args: string): JsonObject {
  return { id: `fc_${n}`, type: "function_call", call_id: `call_${n}`, name: `f${n}`, arguments: args };
}
function message(text: string): JsonObject {
  return { id: "msg_1", type: "message", role: "assistant", content: [{ type: "output_text", text }] };
}

const twoCalls = [
  { type: "tool_call", id: "call_1", kind: "function", namespace: null, name: "f1", input: '{"a":1}' },
  { type: "tool_call", id: "call_2", kind: "function", namespace: null, name: "f2", input: '{"b":2}' },
];

describe("arguments find their call (C73)", () => {
  const argsOf = (fields: JsonObject, delta: string): JsonObject => ({
    type: "response.function_call_arguments.delta",
    ...fields,
    delta,
  });

  test("by output_index alone, by item_id alone, or when the id changes on the way", () => {
    const addresses: [JsonObject, JsonObject][] = [
      [{ output_index: 0 }, { output_index: 1 }],
      [{ item_id: "fc_1" }, { item_id: "fc_2" }],
      [
        { output_index: 0, item_id: "rotated_a" },
        { output_index: 1, item_id: "rotated_b" },
      ],
    ];
    for (const [first, second] of addresses) {
      const { response } = read(
        created,
        added(0, functionCall(1, "")),
        added(1, functionCall(2, "")),
        argsOf(first, '{"a"'),
        argsOf(second, '{"b"'),
        argsOf(first, ":1}"),
        argsOf(second, ":2}"),
        done(0, functionCall(1, '{"a":1}')),
        done(1, functionCall(2, '{"b":2}')),
        completed([functionCall(1, '{"a":1}'), functionCall(2, '{"b":2}')]),
      );
      expect(response.blocks).toEqual(twoCalls as typeof response.blocks);
      expect(response.finish.reason).toBe("tool_calls");
    }
  });

  test("when they come before the call is announced", () => {
    const { response } = read(
      created,
      argsOf({ output_index: 0 }, '{"a"'),
      added(0, functionCall(1, "")),
      argsOf({ output_index: 0 }, ":1}"),
      done(0, functionCall(1, '{"a":1}')),
      completed([]),
    );
    expect(response.blocks).toEqual(twoCalls.slice(0, 1) as typeof response.blocks);
  });

  test("when only the finished item tells them", () => {
    const { response } = read(
      created,
      added(0, functionCall(1, "")),
      done(0, functionCall(1, '{"a":1}')),
      completed([functionCall(1, '{"a":1}')]),
    );
    expect(response.blocks).toEqual(twoCalls.slice(0, 1) as typeof response.blocks);
  });
});

test("the output of the last event is not said twice (C73)", () => {
  const { events, response } = read(
    created,
    added(0, { id: "msg_1", type: "message", content: [] }),
    { type: "response.content_part.added", item_id: "msg_1", output_index: 0, content_index: 0 },
    { type: "response.output_text.delta", item_id: "msg_1", output_index: 0, content_index: 0, delta: "Hi" },
    { type: "response.output_text.done", item_id: "msg_1", output_index: 0, content_index: 0, text: "Hi" },
    done(0, message("Hi")),
    completed([message("Hi")]),
  );
  expect(response.blocks).toEqual([{ type: "text", text: "Hi" }]);
  expect(events.map((event) => event.type)).toEqual(["start", "block_start", "delta", "block_end", "finish"]);
});

test("what was never streamed comes from the last event, once (C73)", () => {
  const { response } = read(created, completed([message("Hi"), functionCall(1, '{"a":1}')]));
  expect(response.blocks).toEqual([
    { type: "text", text: "Hi" },
    ...(twoCalls.slice(0, 1) as typeof response.blocks),
  ]);
});

test("reasoning: its parts, its signature, and nothing for an item that is empty", () => {
  const item = { id: "rs_1", type: "reasoning", summary: [] };
  const summary = [
    { type: "summary_text", text: "one" },
    { type: "summary_text", text: "two" },
  ];
  const delta = (at: number, text: string): JsonObject => ({
    type: "response.reasoning_summary_text.delta",
    item_id: "rs_1",
    output_index: 0,
    summary_index: at,
    delta: text,
  });
  const sealed = { ...item, summary, encrypted_content: "cipher" };
  const { response } = read(
    created,
    added(0, item),
    delta(0, "one"),
    delta(1, "two"),
    done(0, sealed),
    completed([sealed, message("Hi")]),
  );
  const signature = { maker: "openai", id: "rs_1", encryptedContent: "cipher", raw: false } as const;
  expect(response.blocks).toEqual([
    { type: "reasoning", parts: ["one", "two"], signature },
    { type: "text", text: "Hi" },
  ]);
  const withheld = { ...item, encrypted_content: "cipher" };
  expect(read(created, added(0, item), done(0, withheld), completed([withheld])).response.blocks).toEqual([
    { type: "reasoning", parts: [], signature },
  ]);
  expect(read(created, added(0, item), done(0, item), completed([item])).response.blocks).toEqual([]);
});

test("the reasoning of an open model is text, and stays marked as such", () => {
  const whole = {
    id: "rs_1",
    type: "reasoning",
    summary: [],
    content: [{ type: "reasoning_text", text: "hmm" }],
  };
  const { response } = read(
    created,
    added(0, { ...whole, content: [] }),
    {
      type: "response.reasoning_text.delta",
      item_id: "rs_1",
      output_index: 0,
      content_index: 0,
      delta: "hmm",
    },
    done(0, whole),
    completed([whole]),
  );
  expect(response.blocks).toEqual([
    {
      type: "reasoning",
      parts: ["hmm"],
      signature: { maker: "openai", id: "rs_1", encryptedContent: null, raw: true },
    },
  ]);
});

test("a freeform call is read as such (C34)", () => {
  const item = { id: "ctc_1", type: "custom_tool_call", call_id: "call_p", name: "apply_patch", input: "" };
  const { response } = read(
    created,
    added(0, item),
    { type: "response.custom_tool_call_input.delta", item_id: "ctc_1", output_index: 0, delta: "*** Begin" },
    done(0, { ...item, input: "*** Begin" }),
    completed([]),
  );
  expect(response.blocks).toEqual([
    {
      type: "tool_call",
      id: "call_p",
      kind: "custom",
      namespace: null,
      name: "apply_patch",
      input: "*** Begin",
    },
  ]);
});

test("T1/C80 refusals, and answers that were cut short", () => {
  const refusal = { id: "msg_1", type: "message", content: [{ type: "refusal", refusal: "No." }] };
  const refused = read(created, completed([refusal])).response;
  expect(refused.blocks).toEqual([{ type: "refusal", text: "No." }]);
  expect(refused.finish.reason).toBe("refusal");
  const cut = (reason: string) =>
    read(created, {
      type: "response.incomplete",
      response: { status: "incomplete", incomplete_details: { reason }, output: [] },
    }).response.finish.reason;
  expect(cut("max_output_tokens")).toBe("length");
  expect(cut("content_filter")).toBe("refusal");
});

test("T2 usage is told apart, and the tier as the provider says it", () => {
  const usage = {
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 70, cache_write_tokens: 5 },
    output_tokens: 9,
    output_tokens_details: { reasoning_tokens: 4 },
    total_tokens: 109,
  };
  const { response } = read(created, completed([], { usage, service_tier: "flex" }));
  expect(response.usage).toEqual({
    inputTokens: 25,
    cachedInputTokens: 70,
    cacheWriteTokens: 5,
    outputTokens: 9,
    reasoningTokens: 4,
  });
  expect(response.serviceTier).toBe("flex");
});

describe("a failed stream is a failure", () => {
  test("said by response.failed", () => {
    const failed = (code: string): JsonObject => ({
      type: "response.failed",
      response: { status: "failed", error: { code, message: "it broke" } },
    });
    expect(failureOf(created, failed("server_error"))).toMatchObject({
      code: "upstream_error",
      message: "it broke",
    });
    expect(failureOf(created, failed("context_length_exceeded")).code).toBe("context_length_exceeded");
    expect(failureOf(created, failed("rate_limit_exceeded")).code).toBe("service_unavailable");
  });

  test("said by an error event, flat or nested", () => {
    expect(failureOf({ type: "error", code: "server_error", message: "it broke", param: null }).message).toBe(
      "it broke",
    );
    expect(failureOf({ type: "error", error: { message: "it broke" } }).message).toBe("it broke");
    expect(failureOf({ error: { message: "it broke", type: "overloaded_error" } }).code).toBe(
      "service_unavailable",
    );
  });

  test("when it ends without its last event (C74)", () => {
    expect(failureOf(created, added(0, functionCall(1, ""))).code).toBe("upstream_error");
    expect(failureOf().code).toBe("upstream_error");
  });
});

test("what the provider's own tools do is passed over", () => {
  const search = { id: "ws_1", type: "web_search_call", status: "completed" };
  const { response } = read(
    created,
    added(0, search),
    { type: "response.web_search_call.searching", item_id: "ws_1", output_index: 0 },
    done(0, search),
    { type: "response.brand_new_event", whatever: true },
    completed([search, message("Hi")]),
  );
  expect(response.blocks).toEqual([{ type: "text", text: "Hi" }]);
});

test("the same events however the bytes are cut (C66)", () => {
  const frames = [created, done(0, message("Grüße 🌍")), completed([message("Grüße 🌍")])];
  const whole = readFrames(frames);
  const text = frames
    .map((frame) => `: comment\r\nevent: ${String(frame["type"])}\r\ndata:${JSON.stringify(frame)}\r\n\r\n`)
    .join("");
  const bytes = new TextEncoder().encode(text);
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    expect(answerOf(newReader(), [bytes.slice(0, cut), bytes.slice(cut)])).toEqual(whole);
  }
});

describe("an event with too many values to be parsed is read without what is nested deeply", () => {
  const probable = { token: "a", logprob: -0.5, bytes: [97], top_logprobs: [] };
  const probabilities = (tokens: number) => Array.from({ length: tokens }, () => probable);
  const part = { type: "output_text", text: "Hello", logprobs: probabilities(25_000) };
  const probed: JsonObject = { ...message(""), content: [part] };
  const usage = { input_tokens: 3, output_tokens: 2 };
  const textEvent = (kind: string, more: JsonObject) => ({
    ...{ type: `response.output_text.${kind}`, item_id: "msg_1", output_index: 0, content_index: 0 },
    ...more,
  });
  const hello = [{ type: "text", text: "Hello" }];
  /** A list of so many items that none of them is left. */
  const countless = Array.from({ length: 100_001 }, () => ({}));

  test.each([
    ["its text, which was not streamed", [completed([probed], { usage })]],
    ["an item that nothing announced", [done(0, probed), completed([probed], { usage })]],
    [
      "a text with more probabilities than there may be values",
      [textEvent("done", { text: "Hello", logprobs: probabilities(100_001) }), completed([], { usage })],
    ],
    [
      "a fragment",
      [textEvent("delta", { delta: "Hello", logprobs: part.logprobs }), completed([], { usage })],
    ],
    [
      "the end of items that have been read before",
      [done(0, message("Hello")), completed(countless, { usage })],
    ],
    [
      "the tools that the request had",
      [completed([message("Hello")], { usage, tools: [{ parameters: countless }] })],
    ],
  ] as const)("and so are %s", (_, frames) => {
    const { response } = read(...frames);
    expect(response.blocks).toEqual(hello as never);
    expect(response.finish.reason).toBe("stop");
    expect(response.usage).toMatchObject({ inputTokens: 3, outputTokens: 2 });
  });

  test("and so are a limit that was reached, and a failure", () => {
    const limited = completed([probed], { usage, incomplete_details: { reason: "max_output_tokens" } });
    expect(read({ ...limited, type: "response.incomplete" }).response.finish.reason).toBe("length");
    const error = { code: "server_error", message: "It broke." };
    const failed = { ...completed([probed], { usage, error }), type: "response.failed" };
    expect(failureOf(failed)).toMatchObject({ message: "It broke.", usage: { outputTokens: 2 } });
  });

  test.each([
    ["items that were never streamed", [completed(countless)]],
    [
      "more items than were streamed",
      [done(0, message("Hello")), completed([probed, { ...message(""), id: "msg_2", content: countless }])],
    ],
    ["an item that was begun only", [textEvent("delta", { delta: "He" }), completed(countless)]],
    ["the parts of an item", [done(0, { ...message(""), content: countless })]],
    ["an item's members", [done(0, Object.fromEntries(countless.map((_, at) => [`a${at}`, 0])))]],
    [
      "a response",
      [{ type: "response.completed", response: Object.fromEntries(countless.map((_, at) => [`a${at}`, 0])) }],
    ],
  ] as const)("but not if that would lose %s", (_, frames) => {
    expect(failureOf(...frames).message).toContain("more than 50000 values");
  });
});
