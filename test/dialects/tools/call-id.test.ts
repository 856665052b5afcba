import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/base/json.ts";
import type { CallIdForm } from "../../../src/dialects/contract/client-dialect.ts";
import type { Target } from "../../../src/dialects/contract/provider-dialect.ts";
import { clientDialect } from "../../../src/dialects/registry.ts";
import {
  legalCallId,
  originalCallId,
  shortCallIds,
  wordCallIds,
} from "../../../src/dialects/tools/call-id.ts";
import { translate } from "../../../src/dialects/translation/translate.ts";
import type { BodyDialectName } from "../../support/body-dialects.ts";
import { usualTargets } from "../golden-file.ts";

const ids = [
  "functions.Bash:1",
  "functions.mcp__files__read:12",
  "call abc",
  "вызов-1",
  "呼び出し",
  "a/b+c==",
  "sluid_YQ",
  "sluid_",
  `call_${"x".repeat(59)}`,
  `call_${"x".repeat(60)}`,
  `call_1__thought__${"QUJD+/".repeat(500)}=`,
  `chatcmpl-tool-${"0123456789abcdef".repeat(2)}`,
];

describe("an id that a dialect does not take", () => {
  const forms: Readonly<Record<string, CallIdForm>> = { wordCallIds, shortCallIds };
  for (const [name, form] of Object.entries(forms)) {
    test(`becomes one that it takes (${name})`, () => {
      for (const id of ids) {
        const told = legalCallId(id, form);
        expect(told).toMatch(form.legal);
        expect(told.length).toBeLessThanOrEqual(form.maxLength);
        expect(legalCallId(id, form)).toBe(told);
      }
      expect(new Set(ids.map((id) => legalCallId(id, form))).size).toBe(ids.length);
    });
  }

  test("is held in the one that is told, so that its provider gets it back", () => {
    for (const id of ids.filter((each) => Buffer.byteLength(each) <= 43)) {
      expect(originalCallId(legalCallId(id, wordCallIds))).toBe(id);
    }
  });

  test("is told apart from another that is as long and begins the same", () => {
    const start = "call_".padEnd(200, "x");
    expect(legalCallId(`${start}1`, wordCallIds)).not.toBe(legalCallId(`${start}2`, wordCallIds));
  });

  test("stays what it is where it only looks like one that holds another", () => {
    for (const id of ["sluid_", "sluid_!", "sluid_YR", "sluid_gICA", "toolu_1"]) {
      expect(originalCallId(id)).toBe(id);
    }
  });
});

function sourceOf(client: BodyDialectName, body: JsonObject) {
  return { dialect: clientDialect(client), body, model: "m", nowSeconds: 0, estimatedInputTokens: 1 };
}

const ask: Readonly<Record<"messages" | "responses", JsonObject>> = {
  messages: {
    max_tokens: 100,
    messages: [{ role: "user", content: "go" }],
    tools: [{ name: "Bash", input_schema: { type: "object" } }],
  },
  responses: { input: "go", tools: [{ type: "function", name: "Bash", parameters: { type: "object" } }] },
};

function called(id: string) {
  return { id, type: "function", function: { name: "Bash", arguments: "{}" } };
}

/** The ids that the client gets, non-streaming and streaming. */
function toldIds(client: "messages" | "responses", id: string): string[] {
  const source = sourceOf(client, ask[client]);
  const message = { role: "assistant", content: null, tool_calls: [called(id)] };
  const whole = translate(source, usualTargets.chat).response({
    choices: [{ index: 0, message, finish_reason: "tool_calls" }],
  });
  const stream = translate(source, usualTargets.chat).stream();
  const delta = { role: "assistant", tool_calls: [{ index: 0, ...called(id) }] };
  const chunk = { choices: [{ index: 0, delta, finish_reason: "tool_calls" }] };
  let read = stream.push({ event: "", data: JSON.stringify(chunk) });
  read += stream.push({ event: "", data: "[DONE]" }) + stream.end() + stream.terminal();
  return [JSON.stringify(whole.body), read].flatMap((text) =>
    [...text.matchAll(client === "messages" ? /"tool_use","id":"([^"]*)"/g : /"call_id":"([^"]*)"/g)].map(
      (match) => match[1] ?? "",
    ),
  );
}

/** The conversation with the call and its result, as the client sends it back. */
function continued(client: "messages" | "responses", id: string): JsonObject {
  if (client === "responses") {
    return {
      ...ask.responses,
      input: [
        { role: "user", content: "go" },
        { type: "function_call", call_id: id, name: "Bash", arguments: "{}" },
        { type: "function_call_output", call_id: id, output: "x" },
      ],
    };
  }
  return {
    ...ask.messages,
    messages: [
      { role: "user", content: "go" },
      { role: "assistant", content: [{ type: "tool_use", id, name: "Bash", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "x" }] },
    ],
  };
}

function idsToward(client: BodyDialectName, body: JsonObject, target: Target): string[] {
  const text = JSON.stringify(translate(sourceOf(client, body), target).body);
  const found = text.matchAll(/"(?:id|tool_call_id|tool_use_id|toolUseId|call_id)":"([^"]*)"/g);
  return [...found].map((match) => match[1] ?? "");
}

for (const client of ["messages", "responses"] as const) {
  describe(`a ${client} client and a chat provider's ids`, () => {
    test("whole or streamed, it is told one that every provider of its dialect takes", () => {
      for (const id of ids) {
        const told = toldIds(client, id);
        expect(told.length).toBeGreaterThan(1);
        expect(new Set(told).size).toBe(1);
        expect(told[0]).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      }
    });

    test("the provider gets its own id back, on the call and on the result", () => {
      const [told = ""] = toldIds(client, "functions.Bash:1");
      const back = idsToward(client, continued(client, told), usualTargets.chat);
      expect(back).toEqual(["functions.Bash:1", "functions.Bash:1"]);
    });

    test("any other provider gets one that it takes", () => {
      for (const id of ids) {
        const [told = ""] = toldIds(client, id);
        for (const target of [usualTargets.converse, usualTargets.messages, usualTargets.responses]) {
          if (target.dialect.name === client) continue;
          const [call, result, ...others] = idsToward(client, continued(client, told), target);
          expect(call).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
          expect(result).toBe(call);
          expect(others).toEqual([]);
        }
      }
    });
  });
}

test("OpenAI's chat gets ids of at most 40 characters from its own clients too", () => {
  const long = `call_${"x".repeat(50)}`;
  const source = sourceOf("chat", { messages: [{ role: "user", content: "go" }] });
  const { body } = translate(source, usualTargets.responses).response({
    status: "completed",
    output: [{ type: "function_call", id: "fc_1", call_id: long, name: "Bash", arguments: "{}" }],
  });
  expect(JSON.stringify(body)).toMatch(/"id":"call_x{12}_[\w-]{22}"/);
});
