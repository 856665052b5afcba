import { describe, expect, test } from "bun:test";
import type { Json } from "../../src/base/json.ts";
import { readConversation } from "../../src/content/conversation/read.ts";
import { jsonLines } from "../../src/dashboard/page/content/json-lines.ts";

const image = { type: "image/png", bytes: 300, sha256: "ab" };
const data = { type: "data", modality: "image", mime_type: "image/png", bytes: 300, sha256: "ab" } as const;
const call = { type: "tool_call", id: "c1", name: "weather", arguments: { city: "Delft" } } as const;
const result = { type: "tool_call_response", id: "c1", response: "11 °C" } as const;
const parameters = { type: "object" };
const definition = { type: "function", name: "weather", description: "Now", parameters };
const text = (content: string) => ({ type: "text", content }) as const;

describe("a conversation reads the same in every format", () => {
  test("chat completions", () => {
    const tool = { id: "c1", type: "function", function: { name: "weather", arguments: '{"city":"Delft"}' } };
    const request = {
      tools: [{ type: "function", function: { name: "weather", description: "Now", parameters } }],
      messages: [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "text", text: "Hi" },
            { type: "image_url", image_url: { url: image } },
          ],
        },
        { role: "assistant", content: null, tool_calls: [tool] },
        { role: "tool", tool_call_id: "c1", content: "11 °C" },
      ],
    };
    const message = { role: "assistant", content: "Cold.", reasoning_content: "Hmm" };
    const read = readConversation(request, { choices: [{ message, finish_reason: "stop" }] });
    expect(read.tools).toEqual([definition]);
    expect(read.input).toEqual([
      { role: "system", parts: [text("Be brief.")], path: "messages[0]" },
      { role: "user", parts: [text("Hi"), data], path: "messages[1]" },
      { role: "assistant", parts: [call], path: "messages[2]" },
      { role: "tool", parts: [result], path: "messages[3]" },
    ]);
    expect(read.output).toEqual([
      {
        role: "assistant",
        parts: [{ type: "reasoning", content: "Hmm" }, text("Cold.")],
        finish_reason: "stop",
      },
    ]);
  });

  test("Google's texts that become vectors", () => {
    const content = { parts: [{ text: "Hi" }] };
    const said = (path: string) => ({ role: "user", parts: [text("Hi")], path });
    expect(readConversation({ content }, null).input).toEqual([said("content")]);
    const requests = [{ content }, { content, taskType: "CLUSTERING" }];
    expect(readConversation({ requests }, { embeddings: [] }).input).toEqual([
      said("requests[0].content"),
      said("requests[1].content"),
    ]);
  });

  test("Google's contents, in both spellings", () => {
    const functionDeclarations = [{ name: "weather", description: "Now", parametersJsonSchema: parameters }];
    const inlineData = { mimeType: "image/png", data: image };
    const request = {
      system_instruction: { parts: { text: "Be brief." } },
      tools: { functionDeclarations },
      contents: [
        { parts: [{ text: "Hi" }, { inlineData }] },
        { role: "model", parts: [{ functionCall: { id: "c1", name: "weather", args: { city: "Delft" } } }] },
        { role: "user", parts: { function_response: { id: "c1", name: "weather", response: "11 °C" } } },
        { role: "user", parts: [{ fileData: { fileUri: "https://x/a.pdf", mimeType: "application/pdf" } }] },
      ],
    };
    const parts = [{ text: "Hmm", thought: true }, { text: "Cold." }];
    const answer = { candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }] };
    const read = readConversation(request, answer);
    expect(read.system).toEqual([text("Be brief.")]);
    expect(read.tools).toEqual([definition]);
    expect(read.input).toEqual([
      { role: "user", parts: [text("Hi"), data], path: "contents[0]" },
      { role: "assistant", parts: [call], path: "contents[1]" },
      { role: "user", parts: [result], path: "contents[2]" },
      {
        role: "user",
        parts: [{ type: "uri", modality: "file", uri: "https://x/a.pdf" }],
        path: "contents[3]",
      },
    ]);
    expect(read.output).toEqual([
      {
        role: "assistant",
        parts: [{ type: "reasoning", content: "Hmm" }, text("Cold.")],
        finish_reason: "STOP",
      },
    ]);
    const mixed = { tools: [{ functionDeclarations, googleSearch: {} }] };
    expect(readConversation(mixed, null).tools).toEqual([definition, { googleSearch: {} }]);
  });

  test("messages", () => {
    const request = {
      system: [{ type: "text", text: "Be brief." }],
      tools: [{ name: "weather", description: "Now", input_schema: parameters }],
      messages: [
        {
          role: "user",
          content: [{ type: "image", source: { type: "base64", media_type: "image/png", data: image } }],
        },
        {
          role: "assistant",
          content: [{ type: "tool_use", id: "c1", name: "weather", input: { city: "Delft" } }],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "11 °C" }] },
      ],
    };
    const content = [
      { type: "thinking", thinking: "Hmm" },
      { type: "text", text: "Cold." },
    ];
    const read = readConversation(request, { content, stop_reason: "end_turn" });
    expect(read.system).toEqual([text("Be brief.")]);
    expect(read.tools).toEqual([definition]);
    expect(read.input.map(({ parts }) => parts)).toEqual([[data], [call], [result]]);
    expect(read.output).toEqual([
      {
        role: "assistant",
        parts: [{ type: "reasoning", content: "Hmm" }, text("Cold.")],
        finish_reason: "end_turn",
      },
    ]);
  });

  test("responses", () => {
    const request = {
      instructions: "Be brief.",
      tools: [{ type: "function", name: "weather", description: "Now", parameters }],
      input: [
        {
          role: "user",
          content: [
            { type: "input_text", text: "Hi" },
            { type: "input_image", image_url: image },
          ],
        },
        { type: "function_call", call_id: "c1", name: "weather", arguments: '{"city":"Delft"}' },
        { type: "function_call_output", call_id: "c1", output: "11 °C" },
      ],
    };
    const output = [
      { type: "reasoning", summary: [{ type: "summary_text", text: "Hmm" }] },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "Cold." }] },
    ];
    const read = readConversation(request, { output, status: "completed" });
    expect(read.system).toEqual([text("Be brief.")]);
    expect(read.tools).toEqual([definition]);
    expect(read.input.map(({ parts }) => parts)).toEqual([[text("Hi"), data], [call], [result]]);
    expect(read.input.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    expect(read.output).toEqual([
      {
        role: "assistant",
        parts: [{ type: "reasoning", content: "Hmm" }, text("Cold.")],
        finish_reason: "stop",
      },
    ]);
  });

  test.each([
    [{ input: "Hi" }, "Hi"],
    [{ prompt: "Hi" }, "Hi"],
    [{ input: ["Hi"] }, "Hi"],
  ])("a body of another route: %j", (request, said) => {
    expect(readConversation(request, null).input[0]?.parts).toEqual([text(said)]);
  });

  test("a body that is anything is no error", () => {
    const bodies: readonly Json[] = [
      null,
      "no JSON",
      5,
      [],
      { messages: [null, 5, { role: 5 }] },
      { input: {} },
    ];
    for (const body of bodies) expect(() => readConversation(body, body)).not.toThrow();
  });
});

test("JSON is written line by line, with dropped fields marked in place", () => {
  const value = { model: "m", tools: [{ name: "a" }, { name: "b", strict: true }], top_k: 5, empty: {} };
  const lines = jsonLines(value, ["tools[1].strict", "top_k"]);
  expect(lines.map((line) => line.text).join("\n")).toBe(JSON.stringify(value, null, 2));
  expect(lines.filter((line) => line.isDropped).map((line) => line.text.trim())).toEqual([
    '"strict": true',
    '"top_k": 5,',
  ]);
});
