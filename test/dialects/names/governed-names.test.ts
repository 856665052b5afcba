import { describe, expect, spyOn, test } from "bun:test";
import { GatewayError } from "../../../src/base/errors.ts";
import { parseBody } from "../../../src/dialects/json/parse-body.ts";
import { inspectBody, misreadError } from "../../../src/dialects/names/inspect-body.ts";

function check(text: string): void {
  const bytes = new TextEncoder().encode(text);
  const { misread } = inspectBody(parseBody(bytes), bytes);
  if (misread !== null) throw misreadError(misread);
}

function paramOf(text: string): string | undefined {
  try {
    check(text);
  } catch (error) {
    if (error instanceof GatewayError && error.code === "invalid_request") return error.param;
    throw error;
  }
  throw new Error(`it was accepted: ${text}`);
}

/** Names that end up the same in a parser that folds case, and what they are taken for. */
const lookalikes = [
  ["Model", "model"],
  ["MAX_TOKENS", "max_tokens"],
  ["N", "n"],
  ["Stream_options", "stream_options"],
  ["to\u212Aens", null],
  ["max_to\u212Aens", "max_tokens"],
  ["max_output_token\u017F", "max_output_tokens"],
  ["\u017Ftream", "stream"],
  ["me\u00DFages", "messages"],
  ["me\u1E9Eages", "messages"],
  ["\uFB06ore", "store"],
  ["\uFF4Dodel", "model"],
  ["bac\u212Aground", "background"],
  ["con\u1E7Fersation", null],
  ["serv\u0131ce_tier", "service_tier"],
  ["serv\u0130ce_tier", "service_tier"],
  ["Previous_Response_ID", "previous_response_id"],
  ["Documents", "documents"],
  ["QUERY", "query"],
  ["Max_Tokens_Per_Doc", "max_tokens_per_doc"],
  ["Input_Audio", "input_audio"],
] as const;

describe("a top-level name that folds to a governed one", () => {
  for (const [name, governed] of lookalikes) {
    const body = `{"model":"m","${name}":1}`;
    const escaped = `{"model":"m","${[...name].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`).join("")}":1}`;
    if (governed === null) {
      test(`passes when it is another: ${name}`, () => expect(() => check(body)).not.toThrow());
    } else {
      test(`is refused: ${name}`, () => {
        expect(paramOf(body)).toBe(name);
        expect(paramOf(escaped)).toBe(name);
        expect(paramOf(`{"${name}":1,"${governed}":1}`)).toBe(name);
      });
    }
  }

  test("is refused in a body whose long texts are not parsed", () => {
    const text = "a line of text\\n".repeat(2000);
    expect(paramOf(`{"model":"m","messages":[{"role":"user","content":"${text}"}],"Model":"n"}`)).toBe(
      "Model",
    );
  });
});

describe("names that are costly to fold", () => {
  /** Each has another beginning, so that no cache knows it. */
  const names = (rest: string) => Array.from({ length: 2000 }, (_, index) => `${index}${rest}`);

  test.each([
    ["a ligature of 18 letters", "\uFDFA".repeat(60)],
    ["plain letters", "x".repeat(60)],
    ["invisible characters", "\u200B".repeat(60)],
    ["letters of mathematics", "\u{1D426}".repeat(30)],
  ])("are folded no further than it takes to see that they are none: %s", (_, rest) => {
    const members = names(rest).map((name) => `"${name}":1`);
    const normalizing = spyOn(String.prototype, "normalize");
    check(`{"model":"m",${members.join()}}`);
    expect(normalizing.mock.calls.length).toBeLessThan(5);
    normalizing.mockRestore();
  });

  test("are refused all the same where they are one", () => {
    const stuffed = [..."max_completion_tokens"].join("\u200B\u00AD");
    expect(paramOf(`{"model":"m","${stuffed}":1}`)).toBe(stuffed);
    const mathematical = [..."max_completion"].map((letter) =>
      letter === "_" ? letter : String.fromCodePoint(0x1d41a + letter.charCodeAt(0) - 97),
    );
    expect(paramOf(`{"model":"m","${mathematical.join("")}_tokens":1}`)).toBe(
      `${mathematical.join("")}_tokens`,
    );
  });
});

describe("a nested name that folds to a governed one", () => {
  for (const [param, body] of [
    ["stream_options.Include_Usage", '"stream_options":{"Include_Usage":false}'],
    ["tools[0].Type", '"tools":[{"type":"function","Type":"web_search"}]'],
    ["input[0].ID", '"input":[{"type":"item_reference","id":"a","ID":"b"}]'],
    ["input[0].content[1].F\u0130le_id", '"input":[{"content":[{},{"F\u0130le_id":"b"}]}]'],
    ["conversation.Id", '"conversation":{"Id":"conv_1"}'],
    ["tools[0].container.File_Ids", '"tools":[{"container":{"type":"auto","File_Ids":["f"]}}]'],
    ["messages[0].content[0].source.FILE_ID", '"messages":[{"content":[{"source":{"FILE_ID":"f"}}]}]'],
    ["prompt.variables.Type.File_id", '"prompt":{"variables":{"Type":{"File_id":"f"}}}'],
  ] as const) {
    test(`is refused: ${param}`, () => expect(paramOf(`{"model":"m",${body}}`)).toBe(param));
  }
});

describe("names that the caller chooses", () => {
  for (const body of [
    '"tools":[{"type":"function","function":{"parameters":{"properties":{"ID":{"Type":"string"}}}}}]',
    '"tools":[{"name":"x","input_schema":{"properties":{"File_Id":{},"Type":{}},"Type":"object"}}]',
    '"metadata":{"Model":"x","ID":"y","Type":"z","type":"a"}',
    '"messages":[{"role":"assistant","content":[{"type":"tool_use","input":{"ID":1,"Type":2}}]}]',
    '"prompt":{"variables":{"Type":"x","ID":"y"}}',
    '"response_format":{"type":"json_schema","json_schema":{"schema":{"properties":{"Content":{}}}}}',
    '"metadata":{"id":1,"id":2}',
    '"whatever":1,"whatever":2',
  ]) {
    test(`pass: ${body}`, () => expect(() => check(`{"model":"m",${body}}`)).not.toThrow());
  }
});

describe("a nested governed name that is given twice", () => {
  for (const [param, body] of [
    ["stream_options.include_usage", '"stream_options":{"include_usage":true,"include_usage":false}'],
    ["tools[1].type", '"tools":[{"type":"function"},{"type":"function","type":"web_search"}]'],
    ["tools[0].type", '"tools":[{"type":"function","t\\u0079pe":"web_search"}]'],
    [
      "input[0].content[0].file_id",
      '"input":[{"content":[{"file_id":"a", "x":[1,{"y":"}"}], "file_id" : "b"}]}]',
    ],
    [
      "sequential_image_generation_options.max_images",
      '"sequential_image_generation_options":{"max_images":15,"max_images":1}',
    ],
    ["service_tier", '"service_tier":"auto","service_tier":"priority"'],
  ] as const) {
    test(`is refused: ${param}, ${body.length} bytes`, () => {
      expect(paramOf(`{"model":"m",${body}}`)).toBe(param);
      const text = "a line of text\\n".repeat(2000);
      expect(paramOf(`{"model":"m",${body},"messages":[{"role":"user","content":"${text}"}]}`)).toBe(param);
    });
  }
});

describe("what a body names", () => {
  const mentionsOf = (text: string) => {
    const bytes = new TextEncoder().encode(text);
    return inspectBody(parseBody(bytes), bytes);
  };

  test("is found wherever the dialects put it, with its path", () => {
    const { references, toolLists, audioInput } = mentionsOf(`{"model":"m","previous_response_id":"resp_1",
      "conversation":{"id":"conv_1"},"container":null,
      "input":[{"id":"msg_1"},{"type":"item_reference","id":"msg_2"},{"type":"image_generation_call","id":"ig_1"},
        {"type":"image_generation_call","id":"ig_2","result":"AAAA"},
        {"role":"user","content":[{"type":"input_image","file_id":"file_1"},{"type":"audio_url","audio_url":{}}]}],
      "messages":[{"role":"assistant","audio":{"id":"audio_1"}},{"role":"user","audio":"AAAA"}],
      "prompt":{"id":"pmpt_1","variables":{"x":{"type":"input_file","file_id":"file_2"}}},
      "metadata":{"file_id":"not one"},"tool_choice":{"type":"allowed_tools","tools":[{"type":"mcp"}]},
      "tools":[{"type":"file_search","vector_store_ids":["vs_1","vs_2"]},{"container":{"file_ids":["file_3"]}}]}`);
    expect(references.map(({ path, id }) => `${path} ${id}`).sort()).toEqual([
      "conversation.id conv_1",
      "input[0].id msg_1",
      "input[1].id msg_2",
      "input[2].id ig_1",
      "input[4].content[0].file_id file_1",
      "messages[0].audio.id audio_1",
      "previous_response_id resp_1",
      "prompt.variables.x.file_id file_2",
      "tools[0].vector_store_ids[0] vs_1",
      "tools[0].vector_store_ids[1] vs_2",
      "tools[1].container.file_ids[0] file_3",
    ]);
    expect(toolLists.map(({ path }) => path)).toEqual([["tools"]]);
    expect(audioInput).toBe("input[4].content[1]");
  });

  test("is found in forms that only a lenient provider would read", () => {
    const { references } = mentionsOf(`{"model":"m","previous_response_id":7,"conversation":{"id":["conv_1"]},
      "vector_store_ids":"vs_1","file_ids":{"id":"file_1"},
      "input":[{"type":"item_reference","id":["msg_1",["msg_2"]]},{"id":{"id":"msg_3"}}],
      "tools":[{"type":"file_search","vector_store_ids":"vs_2"},{"container":[{"id":"cntr_1"}]}]}`);
    expect(references.map(({ path, id }) => `${path} ${id}`).sort()).toEqual([
      "conversation.id[0] conv_1",
      "file_ids.id file_1",
      "input[0].id[0] msg_1",
      "input[0].id[1][0] msg_2",
      "input[1].id.id msg_3",
      "previous_response_id 7",
      "tools[0].vector_store_ids vs_2",
      "tools[1].container[0].id cntr_1",
      "vector_store_ids vs_1",
    ]);
  });
});
