import { expect, test } from "bun:test";
import type { JsonObject } from "../../../src/base/json.ts";
import { DroppedFields } from "../../../src/dialects/contract/field-decisions.ts";
import { clientDialect } from "../../../src/dialects/registry.ts";

const { readRequest, fieldNames } = clientDialect("gemini");

function read(body: JsonObject) {
  const dropped = new DroppedFields(fieldNames);
  return { ...readRequest({ model: "m", stream: false, ...body }, dropped), dropped: dropped.fields };
}

const contents = [{ role: "user", parts: [{ text: "Fog?" }] }];
const call = (name: string, id?: string): JsonObject => ({
  functionCall: { name, args: { at: name }, ...(id === undefined ? {} : { id }) },
});
const result = (name: string, response: JsonObject, id?: string): JsonObject => ({
  functionResponse: { name, response, ...(id === undefined ? {} : { id }) },
});

test("results without ids answer the first open call of their name, across contents", () => {
  const { messages } = read({
    contents: [
      ...contents,
      { role: "model", parts: [call("look"), call("look"), call("hear", "c9")] },
      { role: "function", parts: [result("look", { output: "blue" })] },
      { role: "user", parts: [result("hear", { error: "deaf" }, "c9"), result("look", { a: 1 })] },
    ],
  });
  const [, calls, results] = messages;
  const ids = calls?.blocks.map((block) => ("id" in block ? block.id : null));
  expect(new Set(ids).size).toBe(3);
  expect(results?.blocks).toMatchObject([
    { type: "tool_result", id: ids?.[0] as string, content: [{ text: "blue" }], isError: false },
    { type: "tool_result", id: "c9", content: [{ text: "deaf" }], isError: true },
    { type: "tool_result", id: ids?.[1] as string, content: [{ text: '{"a":1}' }], isError: false },
  ]);
});

test.each([
  ["the call alone", "c1", undefined],
  ["the result alone", undefined, "r1"],
  ["both, changed on the way", "look__c1", "c1"],
])("a result answers the call of its name if %s has an id", (_, called, answered) => {
  const { messages } = read({
    contents: [
      ...contents,
      { role: "model", parts: [call("look", called), call("hear", called && `${called}b`)] },
      { role: "user", parts: [result("look", { output: "blue" }, answered), result("hear", {})] },
    ],
  });
  const ids = messages[1]?.blocks.map((block) => ("id" in block ? block.id : null));
  expect(messages[2]?.blocks.map((block) => ("id" in block ? block.id : null))).toEqual(ids ?? []);
});

test("the pieces of a streamed text are one text, as parts and as contents", () => {
  const said = (...parts: JsonObject[]) => ({ role: "model", parts });
  const { messages } = read({
    contents: [
      ...contents,
      said({ text: "Let " }, { text: "me " }),
      said({ text: "hmm", thought: true }, { text: "look." }, { text: "" }),
      said(call("look", "c1")),
      { role: "user", parts: [{ text: "one" }, { text: "two" }] },
    ],
  });
  expect(messages[1]?.blocks).toMatchObject([{ type: "text", text: "Let me look." }, { type: "tool_call" }]);
  expect(messages[2]?.blocks).toHaveLength(2);
});

const results: readonly (readonly [JsonObject, string, boolean])[] = [
  [{ output: "fog" }, "fog", false],
  [{ name: "look", content: "fog" }, "fog", false],
  [{ name: "Ann", content: "fog" }, '{"name":"Ann","content":"fog"}', false],
  [{ name: "look", content: "" }, "", false],
  [{ error: "deaf" }, "deaf", true],
  [{ error: { code: 5 } }, '{"code":5}', true],
  [{ output: "fog", error: "late" }, '{"output":"fog","error":"late"}', true],
  [{ output: "fog", error: "" }, '{"output":"fog","error":""}', false],
  [{ ok: true, error: false }, '{"ok":true,"error":false}', false],
];
test.each(results)("the result %j is %j, failed: %p", (response, text, isError) => {
  const { messages } = read({
    contents: [
      ...contents,
      { role: "model", parts: [call("look")] },
      { role: "user", parts: [result("look", response)] },
    ],
  });
  const [block] = messages[2]?.blocks ?? [];
  expect(block).toMatchObject({ isError, content: text === "" ? [] : [{ type: "text", text }] });
});

test("both spellings and single values are read, and the caller's own objects stay as they are", () => {
  const request = read({
    contents: { parts: { text: "Fog?" } },
    system_instruction: { parts: { text: "Be brief." } },
    generation_config: {
      max_output_tokens: 5,
      stop_sequences: "x",
      thinkingConfig: { include_thoughts: true },
    },
    tools: [
      { function_declarations: [{ name: "look", parameters_json_schema: { properties: { a_b: {} } } }] },
    ],
  });
  expect(request).toMatchObject({
    system: [{ text: "Be brief." }],
    messages: [{ role: "user", blocks: [{ text: "Fog?" }] }],
    maxOutputTokens: 5,
    stop: ["x"],
    reasoning: { visible: true },
    tools: [{ name: "look", schema: { properties: { a_b: {} } } }],
  });
});

test("Google's schema becomes JSON Schema", () => {
  const parameters = {
    type: "OBJECT",
    properties: {
      at: { type: "STRING", nullable: true },
      all: { type: "ARRAY", items: { type: "INTEGER" }, minItems: "2" },
    },
    propertyOrdering: ["at"],
  };
  const { tools } = read({ contents, tools: [{ functionDeclarations: [{ name: "look", parameters }] }] });
  expect(tools[0]).toMatchObject({
    schema: {
      type: "object",
      properties: {
        at: { type: ["string", "null"] },
        all: { type: "array", items: { type: "integer" }, minItems: 2 },
      },
    },
  });
});

test("what other providers lack is dropped under Google's names, or rejected", () => {
  const { dropped } = read({
    contents,
    safetySettings: [],
    generationConfig: { seed: 1 },
    tools: [{ googleSearch: {} }],
  });
  expect(dropped).toEqual(["safetySettings", "generationConfig.seed"]);
  expect(() => read({ contents, cachedContent: "cachedContents/1" })).toThrow("`cachedContent`");
  expect(() =>
    read({ contents: [{ parts: [{ inlineData: { mimeType: "audio/wav", data: "" } }] }] }),
  ).toThrow("contents[0].parts[0].inlineData");
});
