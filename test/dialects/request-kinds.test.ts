import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import type { JsonObject } from "../../src/base/json.ts";
import { parseBody } from "../../src/dialects/json/parse-body.ts";
import { type RequestKind, validateRequest } from "../../src/dialects/request-kinds.ts";

const message = { role: "user", content: "hello" };
const chat = { model: "m", messages: [message] };

function refusal(run: () => unknown): GatewayError {
  try {
    run();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

function refused(kind: RequestKind, body: JsonObject, hasBetas = false) {
  const { code, param, message } = refusal(() => validateRequest(kind, body, { hasBetas }));
  expect(code).toBe("invalid_request");
  return { param, message };
}

function accepted(kind: RequestKind, body: JsonObject, hasBetas = false) {
  expect(() => validateRequest(kind, body, { hasBetas })).not.toThrow();
}

const bytesOf = (text: string) => new TextEncoder().encode(text);

describe("a body", () => {
  test("comes out as values and as a spans of its bytes", () => {
    const { truncated: body, spans } = parseBody(bytesOf('{"model":"m","messages":[]}'));
    expect(body).toEqual({ model: "m", messages: [] });
    expect(spans.members.map((member) => member.name)).toEqual(["model"]);
  });

  for (const [what, bytes] of [
    ["nothing", new Uint8Array()],
    ["text", bytesOf("hello")],
    ["an array", bytesOf("[]")],
    ["null", bytesOf("null")],
    ["a byte-order mark", bytesOf('\uFEFF{"model":"m"}')],
    ["a trailing comma", bytesOf('{"model":"m",}')],
    ["an object that is not closed", bytesOf('{"model":"m"')],
    ["something after the object", bytesOf('{"model":"m"} x')],
    ["NaN", bytesOf('{"temperature":NaN}')],
    ["Infinity", bytesOf('{"temperature":-Infinity}')],
    ["an unquoted name", bytesOf("{model:1}")],
    ["a name without a value", bytesOf('{"model"}')],
    ["a string that is never closed", bytesOf('{"model":"m}')],
    ["bytes that are no UTF-8", new Uint8Array([...bytesOf('{"model":"'), 0xff, ...bytesOf('"}')])],
    ["a cut UTF-8 sequence", new Uint8Array([...bytesOf('{"model":"'), 0xc3, ...bytesOf('"}')])],
    ["an overlong UTF-8 sequence", new Uint8Array([...bytesOf('{"model":"'), 0xc0, 0xaf, ...bytesOf('"}')])],
    ["a UTF-8 surrogate", new Uint8Array([...bytesOf('{"model":"'), 0xed, 0xa0, 0x80, ...bytesOf('"}')])],
  ] as const) {
    test(`that is or has ${what} is an invalid request`, () => {
      expect(refusal(() => parseBody(bytes)).code).toBe("invalid_request");
    });
  }

  test("may be 64 levels deep and not 65", () => {
    const nested = (levels: number) => bytesOf(`{"a":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`);
    expect(() => parseBody(nested(64))).not.toThrow();
    expect(refusal(() => parseBody(nested(65))).message).toContain("64 levels");
  });

  test("of millions of open brackets is refused without being parsed", () => {
    expect(refusal(() => parseBody(bytesOf(`{"a":${"[".repeat(4_000_000)}`))).message).toContain("64 levels");
  });

  test("counts brackets inside of strings as text", () => {
    expect(() => parseBody(bytesOf(JSON.stringify({ a: `"\\${"[{".repeat(200)}` })))).not.toThrow();
  });

  test("with a name like __proto__ pollutes nothing", () => {
    const { truncated: body } = parseBody(bytesOf('{"__proto__":{"model":"x"},"constructor":1}'));
    expect(body["model"]).toBeUndefined();
    expect(({} as JsonObject)["model"]).toBeUndefined();
    expect(refused("chat", body).param).toBe("model");
  });

  test("may hold lone surrogates and numbers beyond a double", () => {
    const { truncated: body } = parseBody(bytesOf('{"a":"\\ud800","b":1e999}'));
    expect(body["a"]).toBe("\ud800");
  });

  for (const name of [
    "model",
    "stream",
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "stream_options",
    "thinking",
    "n",
  ]) {
    test(`that gives ${name} twice is refused, also when one is spelled with an escape`, () => {
      expect(refusal(() => parseBody(bytesOf(`{"${name}":1,"x":2,"${name}":3}`))).param).toBe(name);
      const escaped = `\\u${name.charCodeAt(0).toString(16).padStart(4, "0")}${name.slice(1)}`;
      expect(refusal(() => parseBody(bytesOf(`{"${name}":1,"${escaped}":3}`))).param).toBe(name);
    });
  }
});

describe("unknown fields", () => {
  test("pass at every level of every dialect", () => {
    accepted("chat", { ...chat, foo: { bar: [1] }, messages: [{ ...message, foo: 1 }] });
    accepted("responses", { model: "m", input: [{ foo: 1 }], foo: null });
    accepted("messages", {
      ...chat,
      foo: 1,
      messages: [{ role: "user", content: [{ type: "new", foo: 1 }] }],
    });
    accepted("count_tokens", { ...chat, foo: 1, max_tokens: "not checked here" });
  });
});

describe("chat", () => {
  test("needs a model and at least one message", () => {
    expect(refused("chat", { messages: [message] }).param).toBe("model");
    expect(refused("chat", { model: "", messages: [message] }).param).toBe("model");
    expect(refused("chat", { model: "m" }).param).toBe("messages");
    expect(refused("chat", { model: "m", messages: [] }).param).toBe("messages");
  });

  test("names the failing field as a path and says what to send", () => {
    const { param, message } = refused("chat", { model: "m", messages: [{ role: "bot", content: "x" }] });
    expect(param).toBe("messages[0].role");
    expect(message).toBe(
      "`messages[0].role` must be one of `developer`, `system`, `user`, `assistant`, `tool`, `function`.",
    );
  });

  for (const role of ["developer", "system", "user", "assistant", "tool"]) {
    test(`accepts the role ${role}`, () => accepted("chat", { model: "m", messages: [{ role }] }));
  }

  test("accepts content as a string, an array of objects or null", () => {
    for (const content of ["x", [{ type: "text" }], [], null]) {
      accepted("chat", { model: "m", messages: [{ role: "user", content }] });
    }
    const withContent = (content: number | string[]) => ({
      model: "m",
      messages: [{ role: "user", content }],
    });
    expect(refused("chat", withContent(5)).param).toBe("messages[0].content");
    expect(refused("chat", withContent(["x"])).param).toBe("messages[0].content[0]");
  });

  for (const [field, good, bad] of [
    ["stream", [true, false], ["yes", 1]],
    ["max_tokens", [1, 100.0, Number.MAX_SAFE_INTEGER], [0, -1, 1.5, "5", 2 ** 53, 1e300]],
    ["max_completion_tokens", [1], [0, 1.5, 2 ** 53]],
    ["temperature", [0, 0.7, 2], [-0.1, 2.1, "hot", Number.POSITIVE_INFINITY]],
    ["top_p", [0, 1], [-0.1, 1.1]],
    ["stop", ["x", [], ["a", "b", "c", "d"]], [["a", "b", "c", "d", "e"], 5]],
    ["tools", [[], [{}]], [{}, "x"]],
    ["tool_choice", ["auto", {}], [5, []]],
    ["user", ["", "x"], [5]],
  ] as const) {
    test(`checks ${field}`, () => {
      for (const value of good) accepted("chat", { ...chat, [field]: value } as JsonObject);
      for (const value of bad)
        expect(refused("chat", { ...chat, [field]: value } as JsonObject).param).toBe(field);
    });
  }

  test("names the bad element of an array", () => {
    expect(refused("chat", { ...chat, stop: ["a", 5] }).param).toBe("stop[1]");
    expect(refused("chat", { ...chat, tools: [{}, 5] }).param).toBe("tools[1]");
  });

  for (const [call, param] of [
    [{ type: "function", function: { name: "f", arguments: "" } }, "id"],
    [{ id: "c", function: { name: "f", arguments: "" } }, "type"],
    [{ id: "c", type: 5 }, "type"],
    [{ id: "c", type: "function" }, "function"],
    [{ id: "c", type: "function", function: { arguments: "" } }, "function.name"],
    [{ id: "c", type: "function", function: { name: "", arguments: "" } }, "function.name"],
    [{ id: "c", type: "function", function: { name: "f", arguments: {} } }, "function.arguments"],
    [{ id: "c", type: "function", function: { name: "f" } }, "function.arguments"],
  ] as const) {
    test(`refuses the tool call ${JSON.stringify(call)}`, () => {
      const body = { model: "m", messages: [{ role: "assistant", tool_calls: [call] }] } as JsonObject;
      expect(refused("chat", body).param).toBe(`messages[0].tool_calls[0].${param}`);
    });
  }

  test("accepts well-formed tool calls, also of kinds it does not know", () => {
    const known = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
    accepted("chat", {
      model: "m",
      messages: [{ role: "assistant", tool_calls: [known, { id: "d", type: "custom" }] }],
    });
  });
});

test("a refusal says what a list may have", () => {
  const { message } = refused("embeddings", { model: "m", input: [] });
  expect(message).toContain(
    "a non-empty array of whole numbers or a non-empty array of arrays of whole numbers",
  );
  expect(refused("rerank", { model: "m", query: "q", documents: [] }).message).toContain(
    "strings or objects",
  );
});

describe("responses", () => {
  test("needs an input that is a string or an array of objects", () => {
    accepted("responses", { model: "m", input: "hello" });
    accepted("responses", { model: "m", input: [] });
    expect(refused("responses", { model: "m" }).param).toBe("input");
    expect(refused("responses", { model: "m", input: 5 }).param).toBe("input");
    expect(refused("responses", { model: "m", input: ["x"] }).param).toBe("input[0]");
  });

  test("checks its other fields", () => {
    for (const [field, value] of Object.entries({
      instructions: 5,
      stream: "x",
      max_output_tokens: 0,
      tools: {},
      tool_choice: 1,
    })) {
      expect(refused("responses", { model: "m", input: "x", [field]: value }).param).toBe(field);
    }
  });
});

describe("messages and count_tokens", () => {
  for (const kind of ["messages", "count_tokens"] as const) {
    test(`${kind} needs typed content`, () => {
      const withContent = (content: JsonObject["x"]) => ({
        model: "m",
        messages: [{ role: "user", content }],
      });
      accepted(kind, withContent([{ type: "text" }]));
      expect(refused(kind, withContent(undefined)).param).toBe("messages[0].content");
      expect(refused(kind, withContent(null)).param).toBe("messages[0].content");
      expect(refused(kind, withContent([{ text: "x" }])).param).toBe("messages[0].content[0].type");
      expect(refused(kind, { ...chat, system: [{}] }).param).toBe("system[0].type");
      expect(refused(kind, { ...chat, tool_choice: "auto" }).param).toBe("tool_choice");
    });

    test(`${kind} takes the role system only with an anthropic-beta header`, () => {
      const body = { model: "m", messages: [message, { role: "system", content: "x" }] };
      accepted(kind, body, true);
      expect(refused(kind, body)).toEqual({
        param: "messages[1].role",
        message:
          "`messages[1].role` must be one of `user`, `assistant`. System text belongs in the top-level field `system`.",
      });
      expect(refused(kind, { model: "m", messages: [{ role: "tool", content: "x" }] }, true).param).toBe(
        "messages[0].role",
      );
    });
  }

  test("have no bounds on temperature and top_p, and integers that a double holds", () => {
    accepted("messages", { ...chat, temperature: 5, top_p: 2, top_k: -1, max_tokens: 1 });
    for (const [field, value] of Object.entries({
      top_k: 2 ** 53,
      max_tokens: 0,
      stop_sequences: [5],
      metadata: "x",
    })) {
      expect(refused("messages", { ...chat, [field]: value }).param).toMatch(new RegExp(`^${field}`));
    }
  });
});
