import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { openingHash } from "../../src/dialects/opening.ts";
import { sessionOf } from "../../src/gateway/request/labels.ts";

describe("a client's name for its conversation", () => {
  /** The first that is there counts. */
  const names: readonly [string, Readonly<Record<string, string>>, JsonObject][] = [
    ["Claude Code's header", { "x-claude-code-session-id": "a" }, {}],
    ["Codex's session", { "session-id": "b" }, {}],
    ["Codex's thread", { "thread-id": "c" }, {}],
    ["the session of an older Codex", { session_id: "d" }, {}],
    ["the conversation of an older Codex", { conversation_id: "e" }, {}],
    ["the usual header", { "x-session-id": "f" }, {}],
    ["the key of the cache", {}, { prompt_cache_key: "g" }],
    ["the user's id", {}, { metadata: { user_id: "h" } }],
  ];

  for (const [index, [what]] of names.entries()) {
    test(`is ${what}, where nothing before it is given`, () => {
      const rest = names.slice(index);
      const headers = new Headers(Object.assign({}, ...rest.map(([, each]) => each)));
      const body = Object.assign({}, ...rest.map(([, , each]) => each));
      expect(sessionOf(headers, body)).toBe("abcdefgh".charAt(index));
    });
  }

  test("is nothing that is empty or no text", () => {
    const headers = new Headers({ "x-session-id": "" });
    expect(sessionOf(headers, { prompt_cache_key: "", metadata: { user_id: 1 } })).toBeNull();
    expect(sessionOf(headers, { metadata: "f" })).toBeNull();
  });
});

describe("how a conversation begins", () => {
  const question = { role: "user", content: "Who?" };
  const base = openingHash({ system: "Be brief.", messages: [question] });

  const same: readonly [string, JsonObject][] = [
    [
      "later turns",
      {
        system: "Be brief.",
        messages: [question, { role: "assistant", content: "I." }, { role: "user", content: "Why?" }],
      },
    ],
    [
      "texts in parts",
      {
        system: [{ type: "text", text: "Be brief." }],
        messages: [{ role: "user", content: [{ type: "text", text: "Who?" }] }],
      },
    ],
    [
      "marks for the cache",
      {
        system: "Be brief.",
        messages: [
          { role: "user", content: [{ type: "text", text: "Who?", cache_control: { type: "ephemeral" } }] },
        ],
      },
    ],
    ["instructions as a message", { messages: [{ role: "system", content: "Be brief." }, question] }],
    [
      "the responses' names",
      {
        instructions: "Be brief.",
        input: [{ type: "message", id: "msg_1", status: "completed", ...question }],
      },
    ],
    ["input that is one text", { instructions: "Be brief.", input: "Who?" }],
    [
      "Google's contents, and a role that is left out",
      { systemInstruction: { parts: [{ text: "Be brief." }] }, contents: [{ parts: [{ text: "Who?" }] }] },
    ],
    [
      "Google's other spelling, without lists",
      { system_instruction: { parts: { text: "Be brief." } }, contents: { parts: { text: "Who?" } } },
    ],
  ];
  for (const [what, body] of same)
    test(`is the same with ${what}`, () => expect(openingHash(body)).toBe(base));

  const other: readonly [string, JsonObject][] = [
    ["another system prompt", { system: "Be long.", messages: [question] }],
    ["another question", { system: "Be brief.", messages: [{ role: "user", content: "Why?" }] }],
    [
      "a picture",
      {
        system: "Be brief.",
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "Who?" },
              { type: "image_url", image_url: { url: "data:1" } },
            ],
          },
        ],
      },
    ],
    ["no question of the user", { system: "Be brief.", messages: [{ role: "tool", content: "12" }] }],
  ];
  for (const [what, body] of other)
    test(`differs with ${what}`, () => expect(openingHash(body)).not.toBe(base));
});
