import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../../../src/base/errors.ts";
import type { Json, JsonObject } from "../../../../src/base/json.ts";
import { DroppedFields } from "../../../../src/dialects/contract/field-decisions.ts";
import type { IrMessage, IrRequest } from "../../../../src/dialects/ir/ir.ts";
import { openAiResponses } from "../../../../src/dialects/openai-responses/index.ts";
import { clientDialect } from "../../../../src/dialects/registry.ts";

interface ReadRequest {
  readonly request: IrRequest;
  readonly dropped: readonly string[];
}

function read(body: JsonObject): ReadRequest {
  const dropped = new DroppedFields(clientDialect("responses").fieldNames);
  const request = openAiResponses.client.readRequest({ model: "m", input: "hi", ...body }, dropped);
  return { request, dropped: dropped.fields };
}

function messagesOf(input: Json): readonly IrMessage[] {
  return read({ input }).request.messages;
}

function refusedField(body: JsonObject): string | undefined {
  try {
    read(body);
  } catch (error) {
    if (error instanceof GatewayError && error.code === "invalid_request") return error.param;
  }
  throw new Error("the request was not refused");
}

const hi: IrMessage = { role: "user", blocks: [{ type: "text", text: "hi" }] };

describe("input (C07)", () => {
  test("a string is one user message, and an item with a role but no type is a message", () => {
    expect(messagesOf("hi")).toEqual([hi]);
    expect(messagesOf([{ role: "user", content: "hi" }])).toEqual([hi]);
    expect(
      messagesOf([{ type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] }]),
    ).toEqual([hi]);
  });

  test("the phase of an assistant message is accepted and dropped", () => {
    const { request, dropped } = read({
      input: [
        { role: "user", content: "hi" },
        {
          type: "message",
          role: "assistant",
          phase: "commentary",
          content: [{ type: "output_text", text: "ok", annotations: [] }],
        },
      ],
    });
    expect(request.messages[1]).toEqual({ role: "assistant", blocks: [{ type: "text", text: "ok" }] });
    expect(dropped).toEqual(["phase"]);
  });
});

test("instructions and leading developer messages come first; a later one stays in its place (C04)", () => {
  const { request } = read({
    instructions: "one",
    input: [
      { role: "developer", content: [{ type: "input_text", text: "two" }] },
      { role: "system", content: "three" },
      { role: "user", content: "hi" },
      { role: "developer", content: "later" },
    ],
  });
  expect(request.system.map((block) => block.text)).toEqual(["one", "two", "three"]);
  expect(request.messages).toEqual([hi, { role: "system", blocks: [{ type: "text", text: "later" }] }]);
});

describe("calls and results become turns (C24)", () => {
  test("parallel calls, with the words before and the reasoning between them, are one turn", () => {
    const messages = messagesOf([
      { role: "user", content: "hi" },
      { role: "assistant", content: "let me see" },
      { type: "function_call", call_id: "a", name: "f", arguments: '{"x": 1}' },
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "cipher" },
      { type: "function_call", call_id: "b", name: "g", arguments: "" },
      { type: "function_call_output", call_id: "b", output: "B" },
      { type: "function_call_output", call_id: "a", output: "A" },
      { role: "user", content: "and now?" },
      { role: "assistant", content: "done" },
    ]);
    expect(messages.map((message) => message.role)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(messages[1]?.blocks).toEqual([
      { type: "text", text: "let me see" },
      { type: "tool_call", id: "a", kind: "function", namespace: null, name: "f", input: '{"x": 1}' },
      {
        type: "reasoning",
        parts: [],
        signature: { maker: "openai", id: "rs_1", encryptedContent: "cipher", raw: false },
      },
      { type: "tool_call", id: "b", kind: "function", namespace: null, name: "g", input: "" },
    ]);
    expect(messages[2]?.blocks).toEqual([
      {
        type: "tool_result",
        id: "b",
        kind: "function",
        content: [{ type: "text", text: "B" }],
        isError: false,
      },
      {
        type: "tool_result",
        id: "a",
        kind: "function",
        content: [{ type: "text", text: "A" }],
        isError: false,
      },
      { type: "text", text: "and now?" },
    ]);
  });

  test("calls that follow one another's results are turns of their own", () => {
    const messages = messagesOf([
      { type: "function_call", call_id: "a", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "a", output: "A" },
      { type: "function_call", call_id: "b", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "b", output: "B" },
    ]);
    expect(messages.map((message) => message.role)).toEqual(["assistant", "user", "assistant", "user"]);
  });

  test("freeform calls and their results keep their raw text (C34)", () => {
    const messages = messagesOf([
      { type: "custom_tool_call", id: "ctc_1", call_id: "p", name: "apply_patch", input: '*** "x"\n' },
      { type: "custom_tool_call_output", call_id: "p", output: "ok" },
    ]);
    expect(messages[0]?.blocks).toMatchObject([{ kind: "custom", name: "apply_patch", input: '*** "x"\n' }]);
    expect(messages[1]?.blocks).toMatchObject([{ type: "tool_result", id: "p", kind: "custom" }]);
  });
});

describe("C10/C11/C26 pictures and files", () => {
  test("an image is a string here, as data or as an address, with its detail", () => {
    const content = [
      { type: "input_image", image_url: "data:image/PNG;base64,AAAA", detail: "high" },
      { type: "input_image", image_url: "https://example.com/a.png" },
    ];
    expect(messagesOf([{ role: "user", content }])[0]?.blocks).toMatchObject([
      { type: "image", source: { kind: "base64", mediaType: "image/png", data: "AAAA" }, detail: "high" },
      { type: "image", source: { kind: "url", url: "https://example.com/a.png" } },
    ]);
  });

  test("a tool may answer with an image, as Codex' view_image does", () => {
    const output = [
      { type: "input_text", text: "see" },
      { type: "input_image", image_url: "data:image/png;base64,AAAA" },
    ];
    const messages = messagesOf([
      { type: "function_call", call_id: "a", name: "view_image", arguments: "{}" },
      { type: "function_call_output", call_id: "a", output },
    ]);
    expect(messages[1]?.blocks).toMatchObject([
      {
        type: "tool_result",
        content: [
          { type: "text", text: "see" },
          { type: "image", source: { kind: "base64" } },
        ],
      },
    ]);
  });

  test("a file is a document with its name", () => {
    const content = [
      { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,JVBE" },
      { type: "input_file", file_url: "https://example.com/b.pdf" },
    ];
    expect(messagesOf([{ role: "user", content }])[0]?.blocks).toMatchObject([
      {
        type: "document",
        title: "a.pdf",
        source: { kind: "base64", mediaType: "application/pdf", data: "JVBE" },
      },
      { type: "document", source: { kind: "url", url: "https://example.com/b.pdf" } },
    ]);
  });

  test("what only OpenAI can look up is refused by name", () => {
    const withPart = (part: JsonObject): JsonObject => ({ input: [{ role: "user", content: [part] }] });
    expect(refusedField(withPart({ type: "input_image", file_id: "file_1" }))).toBe(
      "input[0].content[0].file_id",
    );
    expect(refusedField(withPart({ type: "input_file", file_id: "file_1" }))).toBe(
      "input[0].content[0].file_id",
    );
    expect(refusedField(withPart({ type: "input_audio", input_audio: {} }))).toBe("input[0].content[0].type");
  });
});

describe("tools", () => {
  const exec = { type: "function", name: "exec", description: "Runs.", parameters: { type: "object" } };
  const patch = {
    type: "custom",
    name: "apply_patch",
    format: { type: "grammar", syntax: "lark", definition: "g" },
  };

  test("strict is what the client said, or nothing (C19)", () => {
    const tools = [exec, { ...exec, name: "b", strict: null }, { ...exec, name: "c", strict: false }];
    expect(read({ tools }).request.tools).toMatchObject([
      { strict: null },
      { strict: null },
      { strict: false },
    ]);
  });

  test("a namespace gives its name to its tools (C35)", () => {
    const { request } = read({ tools: [{ type: "namespace", name: "mcp__docs", tools: [exec, patch] }] });
    expect(request.tools).toMatchObject([
      { type: "function", namespace: "mcp__docs", name: "exec" },
      { type: "custom", namespace: "mcp__docs", name: "apply_patch", format: { syntax: "lark" } },
    ]);
  });

  test("tools inside the conversation join the others, and are no message (C36)", () => {
    const { request } = read({
      tools: [exec],
      input: [
        { type: "additional_tools", role: "developer", tools: [patch, { ...exec, description: "Newer." }] },
        { role: "user", content: "hi" },
      ],
    });
    expect(request.messages).toEqual([hi]);
    expect(request.tools).toMatchObject([
      { name: "exec", description: "Newer." },
      { type: "custom", name: "apply_patch" },
    ]);
  });

  test("hosted tools are marked; a search for tools that the client runs is a function (C37)", () => {
    const parameters = { type: "object", properties: { query: { type: "string" } } };
    const { request } = read({
      tools: [{ type: "web_search" }, { type: "tool_search", execution: "client", parameters }],
    });
    expect(request.tools).toMatchObject([
      { type: "hosted", name: "web_search", path: "tools[0]", shownAs: "tools.web_search" },
      { type: "function", kind: "tool_search", name: "tool_search", schema: parameters },
    ]);
  });

  test("what a search found is read by the model, and can be called from then on (C37)", () => {
    const { request } = read({
      input: [
        { type: "tool_search_call", call_id: "s", execution: "client", arguments: { query: "x" } },
        { type: "tool_search_output", call_id: "s", execution: "client", tools: [exec] },
      ],
    });
    expect(request.messages[0]?.blocks).toMatchObject([{ kind: "tool_search", input: '{"query":"x"}' }]);
    expect(request.messages[1]?.blocks).toMatchObject([
      { type: "tool_result", kind: "tool_search", content: [{ text: JSON.stringify([exec]) }] },
    ]);
    expect(request.tools).toMatchObject([{ name: "exec" }]);
  });

  test("every form of tool_choice (C30)", () => {
    const tools = [exec, { type: "namespace", name: "ns", tools: [patch] }];
    const choiceOf = (choice: Json) => read({ tools, tool_choice: choice }).request.toolChoice;
    expect(choiceOf("auto")).toEqual({ type: "auto" });
    expect(choiceOf("required")).toEqual({ type: "required" });
    expect(choiceOf("none")).toEqual({ type: "none" });
    expect(choiceOf({ type: "function", name: "exec" })).toEqual({
      type: "tool",
      namespace: null,
      name: "exec",
    });
    expect(choiceOf({ type: "web_search_preview" })).toEqual({ type: "hosted", name: "web_search_preview" });
    const allowed = [
      { type: "function", name: "exec" },
      { type: "namespace", name: "ns" },
      { type: "web_search" },
    ];
    expect(choiceOf({ type: "allowed_tools", mode: "required", tools: allowed })).toEqual({
      type: "allowed",
      mode: "required",
      tools: [
        { namespace: null, name: "exec" },
        { namespace: "ns", name: "apply_patch" },
      ],
    });
  });
});

test("text.format: a schema with its key order, an object, or nothing (C53)", () => {
  const schema = { type: "object", properties: { z: { type: "string" }, a: { type: "string" } } };
  const formatOf = (text: JsonObject) => read({ text }).request.format;
  const format = formatOf({ format: { type: "json_schema", name: "n", schema, strict: true } });
  expect(format).toEqual({ type: "json_schema", name: "n", description: null, schema, strict: true });
  expect(JSON.stringify(format)).toContain('"z":{"type":"string"},"a"');
  expect(formatOf({ format: { type: "json_object" } })).toEqual({ type: "json_object" });
  expect(formatOf({})).toBeNull();
  expect(formatOf({ format: { type: "text" } })).toBeNull();
});

test("T4/C41 reasoning: effort, and whether its summary is to be seen", () => {
  expect(read({ reasoning: { effort: "xhigh", summary: "auto" } }).request.reasoning).toEqual({
    effort: "xhigh",
    thinking: null,
    budgetTokens: null,
    visible: true,
    summary: "auto",
  });
  expect(read({ reasoning: { effort: "low", summary: null } }).request.reasoning).toMatchObject({
    visible: null,
  });
  expect(read({}).request.reasoning).toBeNull();
  expect(refusedField({ reasoning: { effort: "hardest" } })).toBe("reasoning.effort");
});

describe("what only the provider that keeps responses can do is refused by name", () => {
  test("C57/C58 fields", () => {
    expect(refusedField({ previous_response_id: "resp_1" })).toBe("previous_response_id");
    expect(refusedField({ conversation: "conv_1" })).toBe("conversation");
    expect(refusedField({ background: true })).toBe("background");
    expect(refusedField({ prompt: { id: "p" } })).toBe("prompt");
    expect(refusedField({ include: ["message.output_text.logprobs"] })).toBe("include");
    expect(read({ previous_response_id: null, background: false }).dropped).toEqual([]);
  });

  test("C58/C60 items", () => {
    const withItem = (item: JsonObject): JsonObject => ({ input: [{ role: "user", content: "hi" }, item] });
    expect(refusedField(withItem({ type: "item_reference", id: "rs_1" }))).toBe("input[1]");
    expect(refusedField(withItem({ id: "rs_1" }))).toBe("input[1]");
    expect(refusedField(withItem({ type: "compaction_trigger" }))).toBe("input[1]");
    expect(refusedField(withItem({ type: "compaction", encrypted_content: "x" }))).toBe("input[1]");
    expect(refusedField(withItem({ type: "computer_call", call_id: "c" }))).toBe("input[1]");
  });
});

test("what is left out is named, and only that (C59)", () => {
  const { dropped } = read({
    stream: true,
    store: false,
    include: ["reasoning.encrypted_content", "web_search_call.action.sources"],
    prompt_cache_key: "k",
    client_metadata: { a: "b" },
    truncation: "auto",
    max_tool_calls: null,
    input: [
      { type: "web_search_call", id: "ws_1", status: "completed" },
      { role: "user", content: "hi" },
    ],
  });
  expect([...dropped].sort()).toEqual(["client_metadata", "include", "input[0]", "truncation"]);
});

test("a envelope that was damaged is dropped, never guessed at (C42)", () => {
  const { request, dropped } = read({
    input: [
      { role: "user", content: "hi" },
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "slu1.!!!" },
    ],
  });
  expect(request.messages).toEqual([hi]);
  expect(dropped).toEqual(["input[1]"]);
});
