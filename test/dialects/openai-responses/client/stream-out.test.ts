import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../../../src/base/errors.ts";
import type { Usage } from "../../../../src/base/usage/usage.ts";
import type { IrBlockHead, IrEvent, ReasoningSignature } from "../../../../src/dialects/ir/ir.ts";
import { openAiResponses } from "../../../../src/dialects/openai-responses/index.ts";
import { callOf, dataOf, finishOf, hearWithSdk, requestOf, typesOf, writeStream } from "../support.ts";

const start: IrEvent = { type: "start", usage: null };
const usage: IrEvent = {
  type: "usage",
  usage: { inputTokens: 5, cachedInputTokens: 70, cacheWriteTokens: 25, outputTokens: 9, reasoningTokens: 4 },
};

function begin(index: number, block: IrBlockHead): IrEvent {
  return { type: "block_start", index, block };
}
function say(index: number, text: string): IrEvent {
  return { type: "delta", index, text };
}
function end(index: number, signature: ReasoningSignature | null = null): IrEvent {
  return { type: "block_end", index, signature };
}
function call(
  id: string,
  name: string,
  kind: "function" | "custom" | "tool_search" = "function",
): IrBlockHead {
  return { type: "tool_call", id, kind, namespace: null, name };
}

const text = [
  start,
  begin(0, { type: "text" }),
  say(0, "Hel"),
  say(0, "lo"),
  end(0),
  usage,
  finishOf("stop"),
];

describe("the official helper accepts", () => {
  test("text, with every lifecycle event in its place", async () => {
    const stream = writeStream(text);
    expect(typesOf(stream)).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ]);
    expect(stream.endsWith("data: [DONE]\n\n")).toBe(true);
    const { final } = await hearWithSdk(stream);
    expect(final.output_text).toBe("Hello");
    expect(final.status).toBe("completed");
    expect(final.output).toHaveLength(1);
  });

  test("reasoning before text, in several parts, with what its maker needs to know it again (C42)", async () => {
    const signature: ReasoningSignature = { maker: "anthropic", signature: "sig" };
    const { final } = await hearWithSdk(
      writeStream([
        start,
        begin(0, { type: "reasoning" }),
        say(0, "one"),
        { type: "part", index: 0 },
        say(0, "two"),
        end(0, signature),
        begin(1, { type: "text" }),
        say(1, "answer"),
        end(1),
        finishOf("stop"),
      ]),
    );
    const [reasoning, message] = final.output;
    expect(reasoning).toMatchObject({
      type: "reasoning",
      summary: [
        { type: "summary_text", text: "one" },
        { type: "summary_text", text: "two" },
      ],
    });
    expect(message).toMatchObject({ type: "message", content: [{ type: "output_text", text: "answer" }] });
    // What the client sends back is what the provider once said.
    const replayed = requestOf({
      input: [{ role: "user", content: "hi" }, JSON.parse(JSON.stringify(reasoning))],
    });
    expect(replayed.messages[1]?.blocks).toEqual([{ type: "reasoning", parts: ["one", "two"], signature }]);
  });

  test("C42/C47 reasoning whose text is withheld: an item with an empty summary and a envelope", async () => {
    const signature: ReasoningSignature = { maker: "anthropic-redacted", data: "hidden" };
    const { final } = await hearWithSdk(
      writeStream([start, begin(0, { type: "reasoning" }), end(0, signature), finishOf("stop")]),
    );
    const [item] = final.output;
    expect(item).toMatchObject({ type: "reasoning", summary: [] });
    const replayed = requestOf({
      input: [{ role: "user", content: "hi" }, JSON.parse(JSON.stringify(item))],
    });
    expect(replayed.messages[1]?.blocks).toEqual([{ type: "reasoning", parts: [], signature }]);
  });

  test("T1/C80 a refusal, said by the model or only explained by the provider", async () => {
    const said = await hearWithSdk(
      writeStream([
        start,
        begin(0, { type: "refusal" }),
        say(0, "No."),
        end(0),
        finishOf("refusal", "ignored"),
      ]),
    );
    const explained = await hearWithSdk(writeStream([start, finishOf("refusal", "No.")]));
    for (const { final } of [said, explained]) {
      expect(final.status).toBe("incomplete");
      expect(final.incomplete_details).toEqual({ reason: "content_filter" });
      expect(final.output).toMatchObject([
        { type: "message", status: "incomplete", content: [{ type: "refusal", refusal: "No." }] },
      ]);
    }
  });

  test("calls whose arguments interleave: one item at a time, in the order in which they began (C69)", async () => {
    const stream = writeStream([
      start,
      begin(0, call("call_a", "weather")),
      begin(1, call("call_b", "time")),
      say(0, '{"a"'),
      say(1, '{"b"'),
      say(0, ":1}"),
      end(0),
      begin(2, { type: "text" }),
      say(2, "Two calls."),
      say(1, ":2}"),
      end(1),
      end(2),
      finishOf("tool_calls"),
    ]);
    const indexes = dataOf(stream).flatMap(({ output_index: index }) => index ?? []);
    expect(indexes).toEqual(indexes.toSorted());
    const { final } = await hearWithSdk(stream);
    expect(final.status).toBe("completed");
    expect(final.output).toMatchObject([
      { type: "function_call", call_id: "call_a", arguments: '{"a":1}', status: "completed" },
      { type: "function_call", call_id: "call_b", arguments: '{"b":2}', status: "completed" },
      { type: "message", content: [{ type: "output_text", text: "Two calls." }], status: "completed" },
    ]);
  });

  test("a call without arguments: an empty object (C70)", async () => {
    const { final } = await hearWithSdk(
      writeStream([start, begin(0, call("call_a", "now")), end(0), finishOf("tool_calls")]),
    );
    expect(final.output).toMatchObject([{ type: "function_call", arguments: "{}" }]);
  });

  test("a freeform call: its raw input, streamed by its own events (C34)", async () => {
    const stream = writeStream([
      start,
      begin(0, call("call_p", "apply_patch", "custom")),
      say(0, "*** Begin"),
      say(0, ' Patch\n"x"'),
      end(0),
      finishOf("tool_calls"),
    ]);
    expect(typesOf(stream).filter((type) => type.includes("custom"))).toEqual([
      "response.custom_tool_call_input.delta",
      "response.custom_tool_call_input.delta",
      "response.custom_tool_call_input.done",
    ]);
    const { final } = await hearWithSdk(stream);
    expect(final.output).toMatchObject([
      { type: "custom_tool_call", call_id: "call_p", name: "apply_patch", input: '*** Begin Patch\n"x"' },
    ]);
  });

  test("C35/C37 calls in a namespace, and Codex' own search for tools", async () => {
    const { final } = await hearWithSdk(
      writeStream([
        start,
        begin(0, { type: "tool_call", id: "call_1", kind: "function", namespace: "mcp__docs", name: "find" }),
        say(0, "{}"),
        end(0),
        begin(1, call("call_2", "tool_search", "tool_search")),
        say(1, '{"query":"x"}'),
        end(1),
        finishOf("tool_calls"),
      ]),
    );
    expect(final.output).toMatchObject([
      { type: "function_call", namespace: "mcp__docs", name: "find" },
      { type: "tool_search_call", call_id: "call_2", execution: "client", arguments: { query: "x" } },
    ]);
  });

  test("T1 an answer that was cut short: the last item and the response are incomplete", async () => {
    const stream = writeStream([
      start,
      begin(0, { type: "text" }),
      say(0, "a"),
      end(0),
      begin(1, call("call_a", "f")),
      say(1, '{"a'),
      end(1),
      finishOf("length"),
    ]);
    expect(typesOf(stream).at(-1)).toBe("response.incomplete");
    const { final } = await hearWithSdk(stream);
    expect(final.incomplete_details).toEqual({ reason: "max_output_tokens" });
    expect(final.output).toMatchObject([{ status: "completed" }, { status: "incomplete", arguments: '{"a' }]);
  });

  test("a failure in the middle of an item, and one before anything was written", async () => {
    const error = new GatewayError("upstream_error", "The provider's stream ended.");
    const broken = openAiResponses.client.createStreamWriter(callOf({}));
    const sofar = text
      .slice(0, 3)
      .map((event) => broken.write(event))
      .join("");
    const untouched = openAiResponses.client.createStreamWriter(callOf({}));
    for (const stream of [
      sofar + broken.failure(error, "req_1", null),
      untouched.failure(error, "req_1", null),
    ]) {
      expect(typesOf(stream)[0]).toBe("response.created");
      expect(typesOf(stream).at(-1)).toBe("response.failed");
      expect(stream.endsWith("data: [DONE]\n\n")).toBe(true);
      const { final } = await hearWithSdk(stream);
      expect(final.status).toBe("failed");
      expect(final.error).toMatchObject({ code: "server_error", message: "The provider's stream ended." });
    }
  });

  test("heartbeats: a comment before the first event, then numbered events (C77)", async () => {
    const writer = openAiResponses.client.createStreamWriter(callOf({}));
    const before = writer.heartbeat();
    expect(before).toBe(": keepalive\n\n");
    const stream =
      before +
      writer.write(start) +
      writer.heartbeat() +
      text
        .slice(1)
        .map((it) => writer.write(it))
        .join("");
    const whole = stream + writer.terminal();
    expect(dataOf(whole).map((data) => data["sequence_number"])).toEqual(
      dataOf(whole).map((_, index) => index),
    );
    const { final } = await hearWithSdk(whole);
    expect(final.output_text).toBe("Hello");
  });
});

test("a heartbeat before the first event takes no number, and each one behind it has the next (C77)", () => {
  const writer = openAiResponses.client.createStreamWriter(callOf({}));
  writer.heartbeat();
  writer.heartbeat();
  const numbers = dataOf(writer.write(start) + writer.heartbeat() + writer.heartbeat()).map(
    (data) => data["sequence_number"],
  );
  expect(numbers).toEqual([0, 1, 2, 3]);
});

test("a failure shows what was charged for it, and not what the provider had reported", () => {
  const failed = (charged: Usage | null) => {
    const writer = openAiResponses.client.createStreamWriter(callOf({}));
    for (const event of [start, usage]) writer.write(event);
    const frames = dataOf(writer.failure(new GatewayError("upstream_error", "cut"), "req_1", charged));
    return frames.at(-1)?.["response"];
  };
  expect(failed(null)).toMatchObject({ usage: null });
  const charged = {
    inputTokens: 1,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 2,
    reasoningTokens: 0,
  };
  expect(failed(charged)).toMatchObject({ usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 } });
});

test("Codex reads from the code of a failure what it may do about it (C82)", () => {
  const failedResponse = (error: GatewayError) =>
    dataOf(openAiResponses.client.createStreamWriter(callOf({})).failure(error, "req_1", null)).at(-1)?.[
      "response"
    ];
  const overflow = failedResponse(new GatewayError("context_length_exceeded", "too long"));
  expect(overflow).toMatchObject({ error: { code: "context_length_exceeded", request_id: "req_1" } });
  const busy = failedResponse(new GatewayError("service_unavailable", "busy"));
  expect(busy).toMatchObject({ error: { code: "server_is_overloaded" } });
  const bug = failedResponse(new GatewayError("internal_error", "oops"));
  expect(bug).toMatchObject({ error: { code: "server_error" } });
});

test("texts that follow one another are parts of one message; after a call a new message begins", () => {
  const stream = writeStream([
    start,
    begin(0, { type: "text" }),
    say(0, "a"),
    end(0),
    begin(1, { type: "text" }),
    say(1, "b"),
    end(1),
    begin(2, call("call_a", "f")),
    end(2),
    begin(3, { type: "text" }),
    say(3, "c"),
    end(3),
    finishOf("tool_calls"),
  ]);
  const completed = dataOf(stream).at(-1)?.["response"] as { output: unknown[] };
  expect(completed.output).toMatchObject([
    { type: "message", content: [{ text: "a" }, { text: "b" }] },
    { type: "function_call" },
    { type: "message", content: [{ text: "c" }] },
  ]);
});

test("C65/T2 usage is complete, and zero where the provider told none", () => {
  const told = dataOf(writeStream(text)).at(-1)?.["response"];
  expect(told).toMatchObject({
    usage: {
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 70, cache_write_tokens: 25 },
      output_tokens: 9,
      output_tokens_details: { reasoning_tokens: 4 },
      total_tokens: 109,
    },
  });
  const untold = dataOf(writeStream([start, finishOf("stop")])).at(-1)?.["response"];
  expect(untold).toMatchObject({
    usage: {
      input_tokens: 0,
      output_tokens: 0,
      total_tokens: 0,
      output_tokens_details: { reasoning_tokens: 0 },
    },
  });
});

test("ids are of their kind and the same in every event; the model is what the client asked for (C79)", () => {
  const data = dataOf(writeStream(text, { tools: [{ type: "function", name: "f" }], temperature: 0.5 }));
  const lifecycle = data.flatMap((event) => (event["response"] === undefined ? [] : [event["response"]]));
  expect(lifecycle).toHaveLength(3);
  for (const response of lifecycle) {
    expect(response).toMatchObject({
      id: "resp_1",
      model: "house-model",
      created_at: 1_700_000_000,
      temperature: 0.5,
      tools: [{ type: "function", name: "f" }],
      store: false,
    });
  }
  expect(data.find((event) => event["type"] === "response.output_item.added")).toMatchObject({
    output_index: 0,
    item: { id: "msg_2", status: "in_progress", content: [] },
  });
});
