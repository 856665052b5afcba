import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/base/json.ts";
import type { IrEvent } from "../../../src/dialects/ir/ir.ts";
import { clientDialect, providerDialect } from "../../../src/dialects/registry.ts";
import { validateRequest } from "../../../src/dialects/request-kinds.ts";
import { translate } from "../../../src/dialects/translation/translate.ts";
import type { BodyDialectName } from "../../support/body-dialects.ts";
import { answerIn } from "../../support/read-stream.ts";
import { usualTargets } from "../golden-file.ts";
import { collected } from "../ir-events.ts";

/** What servers in Go write of a call: all fields, with zero values where nothing is meant. */
const zeroCustom = { name: "", input: "" };
const zeroFunction = { name: "", arguments: "" };
const look = { name: "look", arguments: '{"at":1}' };

function translated(body: JsonObject, toward: "messages" | "responses") {
  const client: BodyDialectName = "chat";
  const all = { model: "m", max_tokens: 100, ...body };
  const source = {
    dialect: clientDialect(client),
    body: all,
    model: "m",
    nowSeconds: 0,
    estimatedInputTokens: 1,
  };
  const { body: sent, dropped } = translate(source, usualTargets[toward]);
  return { sent, dropped };
}

describe("a tool call with Go's zero values", () => {
  const calls = {
    "of a function": [{ id: "c1", type: "function", function: look, custom: zeroCustom }, "look", "function"],
    "of a custom tool": [
      { id: "c1", type: "custom", function: zeroFunction, custom: { name: "look", input: "x" } },
      ...["look", "custom"],
    ],
  } as const;

  test.each(Object.entries(calls))("%s is read from a whole answer", (_, [call, name, kind]) => {
    const message = { role: "assistant", content: null, tool_calls: [call] };
    const body = { choices: [{ index: 0, message, finish_reason: "tool_calls" }] } as unknown as JsonObject;
    const { blocks } = collected(providerDialect("chat").readResponse(body, usualTargets.chat));
    expect(blocks).toMatchObject([{ type: "tool_call", name, kind }]);
  });

  test("is read from a stream, also where only the id comes first", () => {
    const events: IrEvent[] = [];
    const reader = providerDialect("chat").createStreamReader({ target: usualTargets.chat });
    const read = (data: string) => events.push(...answerIn(reader.read({ event: "", data })));
    const push = (delta: object, finish: string | null = null) =>
      read(JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] }));
    push({
      tool_calls: [{ index: 0, id: "c1", type: "function", function: zeroFunction, custom: zeroCustom }],
    });
    push({
      tool_calls: [{ index: 0, id: "", function: { name: "look", arguments: "" }, custom: zeroCustom }],
    });
    push({ tool_calls: [{ index: 0, id: "", function: { name: "", arguments: "{}" }, custom: zeroCustom }] });
    push({}, "tool_calls");
    read("[DONE]");
    expect(JSON.stringify(events)).toContain('"kind":"function"');
    expect(JSON.stringify(events)).toContain('"name":"look"');
    expect(JSON.stringify(events)).not.toContain("custom");
  });

  test.each(["messages", "responses"] as const)("is read from a client's history (%s)", (toward) => {
    const history = {
      messages: [
        { role: "user", content: "look" },
        { role: "assistant", content: null, tool_calls: [calls["of a function"][0]] },
        { role: "tool", tool_call_id: "c1", content: "fog" },
      ],
    };
    expect(JSON.stringify(translated(history as unknown as JsonObject, toward).sent)).toContain('"look"');
  });
});

describe("a chat tool without a type", () => {
  const messages = [{ role: "user", content: "look" }];

  test.each(["messages", "responses"] as const)("is a function if it has one (%s)", (toward) => {
    for (const type of [{}, { type: "" }, { type: null }]) {
      const tools = [{ ...type, function: { name: "look", parameters: { type: "object" } } }];
      const { sent, dropped } = translated({ messages, tools }, toward);
      expect(sent["tools"]).toMatchObject([{ name: "look" }]);
      expect(dropped).toEqual([]);
    }
  });

  test("is a custom tool if it has one", () => {
    const { sent } = translated({ messages, tools: [{ custom: { name: "look" } }] }, "responses");
    expect(sent["tools"]).toMatchObject([{ type: "custom", name: "look" }]);
  });

  test("is refused with its path if it has neither", () => {
    const tools = [{ name: "look", parameters: { type: "object" } }];
    expect(() => translated({ messages, tools }, "messages")).toThrow("tools[0].type");
  });
});

describe("a client that uses functions", () => {
  const body = {
    messages: [
      { role: "user", content: "look" },
      { role: "assistant", content: null, function_call: { name: "look", arguments: "{}" } },
      { role: "function", name: "look", content: "fog" },
      { role: "assistant", content: null, function_call: { name: "look", arguments: "{}" } },
      { role: "function", name: "look", content: "rain" },
    ],
    functions: [{ name: "look", parameters: { type: "object" } }],
  };

  test("returns results by the function's name (messages)", () => {
    expect(translated(body, "messages").sent["messages"]).toMatchObject([
      { role: "user" },
      { role: "assistant", content: [{ type: "tool_use", id: "call_function_1", name: "look" }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "call_function_1", content: "fog" }] },
      { role: "assistant", content: [{ type: "tool_use", id: "call_function_3" }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "call_function_3", content: "rain" }] },
    ]);
  });

  test("returns results by the function's name (responses)", () => {
    expect(translated(body, "responses").sent["input"]).toMatchObject([
      { role: "user" },
      { type: "function_call", call_id: "call_function_1", name: "look" },
      { type: "function_call_output", call_id: "call_function_1", output: "fog" },
      { type: "function_call", call_id: "call_function_3" },
      { type: "function_call_output", call_id: "call_function_3", output: "rain" },
    ]);
  });

  test("passes the check of its body", () => {
    expect(() => validateRequest("chat", { model: "m", ...body }, { hasBetas: false })).not.toThrow();
  });

  test("is told which message names no function", () => {
    const messages = [{ role: "function", name: "jump", content: "fog" }];
    expect(() => translated({ messages }, "messages")).toThrow("messages[0].name");
  });
});

test("stop sequences are dropped toward responses, and named", () => {
  const messages = [{ role: "user", content: "hi" }];
  expect(translated({ messages, stop: ["END"] }, "responses").dropped).toEqual(["stop"]);
});
