import { describe, expect, test } from "bun:test";
import type { Json, JsonObject } from "../../../src/base/json.ts";
import type { Target } from "../../../src/dialects/contract/provider-dialect.ts";
import { clientDialect } from "../../../src/dialects/registry.ts";
import { translate } from "../../../src/dialects/translation/translate.ts";
import type { BodyDialectName } from "../../support/body-dialects.ts";
import { usualTargets } from "../golden-file.ts";

const messages: Target = { ...usualTargets.messages, marksCache: true };
const converse: Target = { ...usualTargets.converse, marksCache: true };

const functions = ["look", "hear"].map((name) => ({ name, parameters: { type: "object", properties: {} } }));

type Turn = readonly [role: "user" | "assistant" | "system", text: string, mark?: JsonObject];

const conversation: readonly Turn[] = [
  ["user", "first"],
  ["assistant", "one"],
  ["user", "second"],
  ["assistant", "two"],
  ["user", "third"],
];

function chat(turns: readonly Turn[], tools: boolean): JsonObject {
  const said = turns.map(([role, text, mark]) => ({ role, content: [{ type: "text", text, ...mark }] }));
  return {
    messages: [{ role: "system", content: "Be brief." }, ...said],
    ...(tools ? { tools: functions.map((each) => ({ type: "function", function: each })) } : {}),
  };
}

function responses(turns: readonly Turn[], tools: boolean): JsonObject {
  const typeOf = (role: string) => (role === "assistant" ? "output_text" : "input_text");
  const input = turns.map(([role, text, mark]) => ({
    role,
    content: [{ type: typeOf(role), text, ...mark }],
  }));
  return {
    instructions: "Be brief.",
    input,
    ...(tools ? { tools: functions.map((each) => ({ type: "function", ...each })) } : {}),
  };
}

function written(client: BodyDialectName, body: JsonObject, target: Target): JsonObject {
  const dialect = clientDialect(client);
  return translate({ dialect, body, model: "m", nowSeconds: 0, estimatedInputTokens: 1 }, target).body;
}

/** The texts and names that a mark is on, or right behind. */
function markedIn(body: JsonObject): string[] {
  const found: string[] = [];
  const walk = (value: Json | undefined): void => {
    if (Array.isArray(value)) {
      value.forEach((entry, index) => {
        const isPoint = typeof entry === "object" && entry !== null && "cachePoint" in entry;
        if (isPoint) found.push(named(value[index - 1]));
        walk(entry);
      });
    } else if (typeof value === "object" && value !== null) {
      if (value["cache_control"] !== undefined) found.push(named(value));
      for (const inner of Object.values(value)) walk(inner);
    }
  };
  const config = body["toolConfig"] as JsonObject | undefined;
  for (const part of [body["tools"] ?? config?.["tools"], body["system"], body["messages"]]) walk(part);
  return found;
}

function named(value: Json | undefined): string {
  const { toolSpec, name, text, tool_use_id: id } = value as JsonObject;
  return String(name ?? text ?? id ?? (toolSpec as JsonObject)["name"]);
}

const clients = { chat, responses } as const;
const all = ["hear", "Be brief.", "second", "third"];

describe.each(["chat", "responses"] as const)("a conversation of a %s client with Claude", (client) => {
  const body = (turns: readonly Turn[], tools = true) => clients[client](turns, tools);

  for (const target of [messages, converse]) {
    const { name } = target.dialect;

    test(`is marked on its tools, its instructions and the last two turns (${name})`, () => {
      expect(markedIn(written(client, body(conversation), target))).toEqual(all);
    });

    test(`a later request keeps the mark where the earlier one ended (${name})`, () => {
      const later = [...conversation, ["assistant", "three"], ["user", "fourth"]] as const;
      const marks = markedIn(written(client, body(later), target));
      expect(marks).toEqual(["hear", "Be brief.", "third", "fourth"]);
    });

    test(`is not marked before its first answer, nor without tools (${name})`, () => {
      expect(markedIn(written(client, body(conversation.slice(0, 1)), target))).toEqual([]);
      expect(markedIn(written(client, body(conversation, false), target))).toEqual([]);
    });

    test(`is left as it is where the client has marks of its own, or the operator wants none (${name})`, () => {
      const mark = { prompt_cache_breakpoint: { mode: "explicit" } };
      const own = body([["user", "first", mark], ...conversation.slice(1)]);
      expect(markedIn(written(client, own, target))).toEqual(["first"]);
      const none = written(client, body(conversation), { ...target, marksCache: false });
      expect(markedIn(none)).toEqual([]);
    });
  }

  test("is not marked for other models", () => {
    const others: Target[] = [
      { ...messages, upstreamModel: "kimi-k2" },
      { ...converse, upstreamModel: "amazon.nova-2-lite-v1:0" },
      { ...converse, upstreamModel: "anthropic.claude-3-sonnet-20240229-v1:0" },
      { ...usualTargets.gemini, marksCache: true },
    ];
    for (const target of others) expect(markedIn(written(client, body(conversation), target))).toEqual([]);
  });
});

test("the result of a tool is marked, and blank text is not", () => {
  const call = { id: "c1", type: "function", function: { name: "look", arguments: "{}" } };
  const turns = [
    { role: "user", content: "first" },
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "c1", content: "fog" },
    { role: "user", content: " " },
  ];
  const body = { messages: turns, tools: functions.map((each) => ({ type: "function", function: each })) };
  expect(markedIn(written("chat", body, messages))).toEqual(["hear", "first", "c1"]);
});

test("a messages client knows that it has to mark what it wants cached", () => {
  const body = {
    max_tokens: 10,
    tools: functions.map(({ name, parameters }) => ({ name, input_schema: parameters })),
    messages: conversation.map(([role, content]) => ({ role, content })),
  };
  expect(markedIn(written("messages", body, converse))).toEqual([]);
});
