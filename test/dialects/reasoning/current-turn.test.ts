import { describe, expect, test } from "bun:test";
import type { Json, JsonObject } from "../../../src/base/json.ts";
import type { Target } from "../../../src/dialects/contract/provider-dialect.ts";
import { anySignature } from "../../../src/dialects/reasoning/google-signature.ts";
import { wrapReasoning } from "../../../src/dialects/reasoning/reasoning-envelope.ts";
import { clientDialect } from "../../../src/dialects/registry.ts";
import { translate } from "../../../src/dialects/translation/translate.ts";
import type { BodyDialectName } from "../../support/body-dialects.ts";
import { usualTargets } from "../golden-file.ts";

/** Whatever a client adds behind the result of a call: interrupted, instructed, and continued on another model. */
const behindResults: Readonly<Record<string, readonly (readonly [role: string, text: string])[]>> = {
  nothing: [],
  "one message": [["user", "go on"]],
  "two messages": [
    ["user", "<turn_aborted>"],
    ["user", "go on"],
  ],
  "an instruction": [["developer", "Be brief."]],
  "an instruction and a message": [
    ["developer", "Be brief."],
    ["user", "go on"],
  ],
  "a message, an instruction and two messages": [
    ["user", "<turn_aborted>"],
    ["developer", "Be brief."],
    ["user", "go on"],
    ["user", "please"],
  ],
};

const claudes: readonly Target[] = [
  { ...usualTargets.messages, upstreamModel: "claude-sonnet-4-5" },
  { ...usualTargets.converse, upstreamModel: "eu.anthropic.claude-sonnet-4-5-20250929-v1:0" },
];
const geminis: readonly Target[] = [
  usualTargets.gemini,
  { ...usualTargets.chat, upstreamModel: "gemini-3.1-pro-preview" },
];

type Said = readonly (readonly [role: string, text: string])[];

/** A conversation in which a tool was called, with what is said behind its result. */
const conversations: Readonly<Record<BodyDialectName, (said: Said, thinking?: JsonObject[]) => JsonObject>> =
  {
    responses: (said, thinking = []) => ({
      input: [
        { role: "user", content: "look" },
        ...thinking,
        { type: "function_call", call_id: "c1", name: "look", arguments: "{}" },
        { type: "function_call_output", call_id: "c1", output: "aborted" },
        ...said.map(([role, content]) => ({ role, content })),
      ],
      reasoning: { effort: "high" },
      tools: [{ type: "function", name: "look", parameters: { type: "object" } }],
      max_output_tokens: 8000,
    }),
    chat: (said) => ({
      messages: [
        { role: "user", content: "look" },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c1", type: "function", function: { name: "look", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "c1", content: "aborted" },
        ...said.map(([role, content]) => ({ role, content })),
      ],
      reasoning_effort: "high",
      tools: [{ type: "function", function: { name: "look", parameters: { type: "object" } } }],
      max_tokens: 8000,
    }),
    messages: (said, thinking = []) => ({
      messages: [
        { role: "user", content: "look" },
        {
          role: "assistant",
          content: [...thinking, { type: "tool_use", id: "c1", name: "look", input: {} }],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "aborted" }] },
        ...said.map(([role, content]) => ({ role: role === "developer" ? "system" : role, content })),
      ],
      thinking: { type: "enabled", budget_tokens: 4000 },
      tools: [{ name: "look", input_schema: { type: "object" } }],
      max_tokens: 8000,
    }),
  };

function written(client: BodyDialectName, body: JsonObject, target: Target): JsonObject {
  const source = { dialect: clientDialect(client), body, model: "m", nowSeconds: 0, estimatedInputTokens: 1 };
  return translate(source, target).body;
}

function thinkingOf(body: JsonObject): Json | undefined {
  const extra = body["additionalModelRequestFields"] as JsonObject | undefined;
  return body["thinking"] ?? extra?.["thinking"];
}

const answer = ["assistant", "It is blue."] as const;
const envelope = wrapReasoning({ maker: "anthropic", signature: "EqQB" }, ["Hm."]);
const claudesThinking = [{ type: "reasoning", id: "rs_1", summary: [], encrypted_content: envelope }];

for (const [name, said] of Object.entries(behindResults)) {
  describe(`a result followed by ${name} continues its turn`, () => {
    for (const client of ["responses", "chat"] as const) {
      for (const target of claudes) {
        test(`so Claude does not think in it (${client} to ${target.dialect.name})`, () => {
          expect(thinkingOf(written(client, conversations[client](said), target))).toBeUndefined();
        });
      }
    }

    for (const client of ["responses", "chat", "messages"] as const) {
      for (const target of geminis.filter(({ dialect }) => dialect.name !== client)) {
        test(`so Gemini gets a signature for its call (${client} to ${target.dialect.name})`, () => {
          const body = JSON.stringify(written(client, conversations[client](said), target));
          expect(body).toContain(anySignature);
        });
      }
    }

    for (const target of claudes) {
      test(`which Claude began with thinking, and goes on with it (${target.dialect.name})`, () => {
        const body = conversations.responses(said, claudesThinking);
        expect(thinkingOf(written("responses", body, target))).toMatchObject({ type: "enabled" });
      });
    }

    test("so it is not continued with thinking where that was stripped", () => {
      const foreign = {
        type: "thinking",
        thinking: "hm",
        signature: wrapReasoning({ maker: "chat" }, ["hm"]),
      };
      const body = conversations.messages(said, [foreign]);
      const strip = clientDialect("messages").stripForeignReasoning;
      expect(strip?.(body)).toMatchObject({ thinking: { type: "disabled" } });
    });
  });

  test(`a message after the answer to a result followed by ${name} begins another turn`, () => {
    const all = [...said, answer, ["user", "And now?"] as const];
    for (const target of claudes) {
      expect(thinkingOf(written("responses", conversations.responses(all), target))).toMatchObject({
        type: "enabled",
      });
    }
    for (const target of geminis) {
      expect(JSON.stringify(written("responses", conversations.responses(all), target))).not.toContain(
        anySignature,
      );
    }
    const foreign = { type: "thinking", thinking: "hm", signature: wrapReasoning({ maker: "chat" }, ["hm"]) };
    const strip = clientDialect("messages").stripForeignReasoning;
    expect(strip?.(conversations.messages(all, [foreign]))).toMatchObject({ thinking: { type: "enabled" } });
  });
}
