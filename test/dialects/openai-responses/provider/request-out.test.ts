import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../../src/base/json.ts";
import { DroppedFields } from "../../../../src/dialects/contract/field-decisions.ts";
import type { Target } from "../../../../src/dialects/contract/provider-dialect.ts";
import type {
  IrAssistantBlock,
  IrContent,
  IrMessage,
  IrRequest,
  IrUserBlock,
} from "../../../../src/dialects/ir/ir.ts";
import { openAiResponses } from "../../../../src/dialects/openai-responses/index.ts";
import { clientDialect } from "../../../../src/dialects/registry.ts";
import { plainRequest, targetOf } from "../support.ts";

interface Written {
  readonly body: JsonObject;
  readonly dropped: readonly string[];
}

function write(changes: Partial<IrRequest>, target: Target = targetOf()): Written {
  const dropped = new DroppedFields(clientDialect("messages").fieldNames);
  const body = openAiResponses.provider.writeRequest({ ...plainRequest, ...changes }, target, dropped);
  return { body, dropped: dropped.fields };
}

function inputOf(messages: readonly IrMessage[], target: Target = targetOf()): JsonObject[] {
  return write({ messages }, target).body["input"] as JsonObject[];
}

const user = (...blocks: IrUserBlock[]): IrMessage => ({ role: "user", blocks });
const assistant = (...blocks: IrAssistantBlock[]): IrMessage => ({ role: "assistant", blocks });
const text = (said: string) => ({ type: "text", text: said }) as const;

test("the least request: nothing is kept, and nothing is said that the client did not say", () => {
  expect(write({}).body).toEqual({
    model: "gpt-5.6",
    input: [{ type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] }],
    store: false,
  });
});

describe("C01/C03 instructions", () => {
  test("one block is `instructions`; several keep their boundaries", () => {
    expect(write({ system: [text("one")] }).body["instructions"]).toBe("one");
    const { body } = write({ system: [text("one"), text("two")] });
    expect(body["instructions"]).toBeUndefined();
    expect(body["input"]).toMatchObject([
      { role: "developer", content: [{ text: "one" }, { text: "two" }] },
      { role: "user" },
    ]);
  });

  test("instructions alone are still an input", () => {
    expect(write({ system: [text("one")], messages: [] }).body["input"]).toMatchObject([
      { role: "developer" },
    ]);
  });

  test("one in the middle of the conversation stays there", () => {
    const items = inputOf([user(text("a")), { role: "system", blocks: [text("b")] }, user(text("c"))]);
    expect(items.map((item) => item["role"])).toEqual(["user", "developer", "user"]);
  });
});

test("strict is always said: the client's word, else false (C19)", () => {
  const tool = {
    type: "function",
    kind: "function",
    namespace: null,
    name: "f",
    description: null,
    schema: null,
  } as const;
  const { body } = write({
    tools: [
      { ...tool, strict: null },
      {
        ...tool,
        name: "g",
        strict: true,
        description: "d",
        schema: { type: "object", properties: { a: {} } },
      },
    ],
    toolChoice: { type: "tool", namespace: null, name: "g" },
    parallelToolCalls: false,
  });
  expect(body["tools"]).toEqual([
    { type: "function", name: "f", parameters: { type: "object", properties: {} }, strict: false },
    {
      type: "function",
      name: "g",
      description: "d",
      parameters: { type: "object", properties: { a: {} } },
      strict: true,
    },
  ]);
  expect(body["tool_choice"]).toEqual({ type: "function", name: "g" });
  expect(body["parallel_tool_calls"]).toBe(false);
});

test("choices, and a freeform tool among them (C30)", () => {
  const format = { type: "text" };
  const patch = { type: "custom", namespace: null, name: "patch", description: null, format } as const;
  const choose = (toolChoice: IrRequest["toolChoice"]) => write({ tools: [patch], toolChoice }).body;
  expect(choose({ type: "required" })["tool_choice"]).toBe("required");
  expect(choose({ type: "tool", namespace: null, name: "patch" })["tool_choice"]).toEqual({
    type: "custom",
    name: "patch",
  });
  const allowed = choose({ type: "allowed", mode: "auto", tools: [{ namespace: null, name: "patch" }] });
  expect(allowed["tool_choice"]).toEqual({
    type: "allowed_tools",
    mode: "auto",
    tools: [{ type: "custom", name: "patch" }],
  });
  expect(allowed["tools"]).toEqual([{ type: "custom", name: "patch", format }]);
});

describe("reasoning", () => {
  const settings = {
    effort: null,
    thinking: null,
    budgetTokens: null,
    visible: null,
    summary: null,
  } as const;
  const sealed = (encryptedContent: string | null, raw = false): IrAssistantBlock => ({
    type: "reasoning",
    parts: ["hmm"],
    signature: { maker: "openai", id: "rs_1", encryptedContent, raw },
  });
  const call: IrAssistantBlock = {
    type: "tool_call",
    id: "call_1",
    kind: "function",
    namespace: null,
    name: "f",
    input: "",
  };

  test("C38/C44 when it is on it comes sealed; when it is off nothing is asked for", () => {
    expect(write({ reasoning: { ...settings, effort: "high", visible: true } }).body).toMatchObject({
      reasoning: { effort: "high", summary: "auto" },
      include: ["reasoning.encrypted_content"],
      store: false,
    });
    expect(write({ reasoning: { ...settings, thinking: "adaptive" } }).body["include"]).toEqual([
      "reasoning.encrypted_content",
    ]);
    const off = write({ reasoning: { ...settings, thinking: "disabled" } }).body;
    expect(off["reasoning"]).toEqual({ effort: "none" });
    expect(off["include"]).toBeUndefined();
  });

  test("a model that does not reason is not told to (C38)", () => {
    const { body, dropped } = write(
      { reasoning: { ...settings, effort: "high", thinking: "adaptive" } },
      targetOf({ upstreamModel: "gpt-4.1" }),
    );
    expect(body["reasoning"]).toBeUndefined();
    expect(body["include"]).toBeUndefined();
    expect(dropped).toEqual(["thinking"]);
  });

  test("C44/C48 the provider's own comes back before its call, sealed, without an id", () => {
    expect(inputOf([user(text("hi")), assistant(sealed("cipher"), call)]).slice(1)).toEqual([
      {
        type: "reasoning",
        summary: [{ type: "summary_text", text: "hmm" }],
        encrypted_content: "cipher",
      },
      { type: "function_call", call_id: "call_1", name: "f", arguments: "{}" },
    ]);
  });

  test("nobody else's is sent, and it never becomes something that was said (C45)", () => {
    const foreign: IrAssistantBlock[] = [
      { type: "reasoning", parts: ["hmm"], signature: { maker: "anthropic", signature: "s" } },
      { type: "reasoning", parts: [], signature: { maker: "anthropic-redacted", data: "d" } },
      { type: "reasoning", parts: ["hmm"], signature: { maker: "chat" } },
      { type: "reasoning", parts: ["hmm"], signature: null },
      sealed(null),
    ];
    const { body, dropped } = write({ messages: [user(text("hi")), assistant(...foreign, text("ok"))] });
    expect(body["input"]).toMatchObject([{ role: "user" }, { role: "assistant", content: [{ text: "ok" }] }]);
    expect(dropped).toEqual(["thinking"]);
  });

  test("an open model's reasoning goes back as the text that it was", () => {
    const items = inputOf([assistant(sealed(null, true))], targetOf({ isStrict: false }));
    expect(items).toEqual([
      { type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "hmm" }] },
    ]);
  });
});

describe("tool results", () => {
  const result = (content: readonly IrContent[], isError = false): IrUserBlock => ({
    type: "tool_result",
    id: "call_1",
    kind: "function",
    content,
    isError,
  });

  test("C25/C27 a text, nothing, several texts, an error", () => {
    const outputOf = (block: IrUserBlock) => inputOf([user(block)])[0]?.["output"];
    expect(outputOf(result([text("A")]))).toBe("A");
    expect(outputOf(result([]))).toBe("");
    expect(outputOf(result([text("A")], true))).toBe("Error: A");
    expect(outputOf(result([text("A"), text("B")]))).toEqual([
      { type: "input_text", text: "A" },
      { type: "input_text", text: "B" },
    ]);
  });

  test("an image is part of the result, and the words after it are a message (C26)", () => {
    const image = {
      type: "image",
      source: { kind: "base64", mediaType: "image/png", data: "AAAA" },
    } as const;
    expect(inputOf([user(result([image]), text("and?"))])).toEqual([
      {
        type: "function_call_output",
        call_id: "call_1",
        output: [{ type: "input_image", image_url: "data:image/png;base64,AAAA", detail: "auto" }],
      },
      { type: "message", role: "user", content: [{ type: "input_text", text: "and?" }] },
    ]);
  });
});

test("C11/C12 documents: a file with its name, an address, or words", () => {
  const [item] = inputOf([
    user(
      { type: "document", source: { kind: "base64", mediaType: "application/pdf", data: "JVBE" } },
      { type: "document", source: { kind: "url", url: "https://example.com/b.pdf" }, title: "b" },
      { type: "document", source: { kind: "text", text: "words" }, title: "T" },
    ),
  ]);
  expect(item?.["content"]).toEqual([
    { type: "input_file", filename: "document.pdf", file_data: "data:application/pdf;base64,JVBE" },
    { type: "input_text", text: "Title: b" },
    { type: "input_file", file_url: "https://example.com/b.pdf" },
    { type: "input_text", text: "Title: T\n\nwords" },
  ]);
});

test("formats get a name, and strict only when the client said so (C53)", () => {
  const schema = { type: "object" };
  const format = { type: "json_schema", name: null, description: null, schema, strict: null } as const;
  expect(write({ format, verbosity: "low" }).body["text"]).toEqual({
    format: { type: "json_schema", name: "answer", schema },
    verbosity: "low",
  });
  expect(write({ format: { type: "json_object" } }).body["text"]).toEqual({
    format: { type: "json_object" },
  });
});

describe("limits and sampling", () => {
  test("the model's limit is kept, and so is OpenAI's least (C50)", () => {
    const limitOf = (maxOutputTokens: number, target = targetOf()) =>
      write({ maxOutputTokens }, target).body["max_output_tokens"];
    expect(limitOf(500_000)).toBe(128_000);
    expect(limitOf(1)).toBe(16);
    expect(limitOf(1, targetOf({ isStrict: false }))).toBe(1);
  });

  test("a reasoner gets no temperature, another model does; top_k nobody (C51)", () => {
    const sampling = { temperature: 0.5, topP: 0.9, topK: 4 };
    const reasoner = write({ sampling });
    expect(reasoner.body).not.toHaveProperty("temperature");
    expect([...reasoner.dropped].sort()).toEqual(["temperature", "top_k", "top_p"]);
    const other = write({ sampling }, targetOf({ upstreamModel: "gpt-4.1" }));
    expect(other.body).toMatchObject({ temperature: 0.5, top_p: 0.9 });
    expect(other.dropped).toEqual(["top_k"]);
  });

  test("stop sequences are dropped and named in the client's own word (C52)", () => {
    const { body, dropped } = write({ stop: ["END"] });
    expect(body).not.toHaveProperty("stop");
    expect(dropped).toEqual(["stop_sequences"]);
  });
});

describe("marks to cache (C06)", () => {
  const marked = (said: string) => ({ ...text(said), cache: { type: "ephemeral" } });
  const breakpoint = { prompt_cache_breakpoint: { mode: "explicit" } };

  test("are dropped for models before gpt-5.6 and for other makers', and it is said", () => {
    for (const target of [{ upstreamModel: "gpt-5.5" }, { isStrict: false }]) {
      const { body, dropped } = write({ system: [marked("one")] }, targetOf(target));
      expect(body).not.toHaveProperty("input[0].content[0].prompt_cache_breakpoint");
      expect(JSON.stringify(body)).not.toContain("ephemeral");
      expect(dropped).toEqual(["cache_control"]);
    }
  });

  test("are breakpoints from gpt-5.6 on, also on instructions", () => {
    const messages = [user(text("one"), marked("two"))];
    const { body, dropped } = write({ system: [marked("zero")], messages });
    expect(body).not.toHaveProperty("instructions");
    expect(body["input"]).toMatchObject([
      { role: "developer", content: [{ type: "input_text", text: "zero", ...breakpoint }] },
      { role: "user", content: [{ text: "one" }, { text: "two", ...breakpoint }] },
    ]);
    expect(body["input"]).not.toHaveProperty("[1].content[0].prompt_cache_breakpoint");
    expect(dropped).toEqual([]);
  });

  test("are the last four, and it is said if there were more, or one has no place", () => {
    const five = [1, 2, 3, 4, 5].map((number) => marked(String(number)));
    const { body, dropped } = write({ messages: [user(...five)] });
    expect(JSON.stringify(body).split("prompt_cache_breakpoint")).toHaveLength(5);
    expect(body).not.toHaveProperty("input[0].content[0].prompt_cache_breakpoint");
    expect(dropped).toEqual(["cache_control"]);
    const history = [user(text("a")), assistant(marked("b")), user(text("c"))];
    expect(write({ messages: history }).dropped).toEqual(["cache_control"]);
  });
});
