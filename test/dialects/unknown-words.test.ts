import { expect, test } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import type { JsonObject } from "../../src/base/json.ts";
import { readFinish as readMessagesFinish } from "../../src/dialects/anthropic-messages/finish.ts";
import { readFinish as readConverseFinish } from "../../src/dialects/bedrock-converse/provider/ending-in.ts";
import { readGeminiFinish } from "../../src/dialects/gemini/provider/finish-in.ts";
import { tierOf } from "../../src/dialects/gemini/provider/usage-in.ts";
import type { IrFinish } from "../../src/dialects/ir/ir.ts";
import { readFinish as readChatFinish } from "../../src/dialects/openai-chat/finish.ts";
import { countItem } from "../../src/dialects/openai-responses/provider/usage-in.ts";
import { clientDialect, providerDialect } from "../../src/dialects/registry.ts";
import { translate } from "../../src/dialects/translation/translate.ts";
import { CallCounter } from "../../src/dialects/usage/extra-usage.ts";
import type { BodyDialectName } from "../support/body-dialects.ts";

const target = {
  dialect: providerDialect("messages"),
  isStrict: true,
  upstreamModel: "claude-opus-4-6",
  provider: "p",
  maxOutputTokens: 4096,
  maxTokensField: "max_tokens",
  streamUsage: true,
  capabilities: {},
} as const;

const asked: Readonly<Record<BodyDialectName, JsonObject>> = {
  chat: { messages: [{ role: "user", content: "Hi" }] },
  responses: { input: "Hi" },
  messages: { max_tokens: 10, messages: [{ role: "user", content: "Hi" }] },
};

function refusedField(dialect: BodyDialectName, fields: JsonObject): string | null {
  const toward = dialect === "messages" ? ({ ...target, dialect: providerDialect("chat") } as const) : target;
  try {
    translate(
      {
        dialect: clientDialect(dialect),
        body: { model: "m", ...asked[dialect], ...fields },
        model: "m",
        nowSeconds: 1,
        estimatedInputTokens: 1,
      },
      toward,
    );
    return null;
  } catch (error) {
    return error instanceof GatewayError ? (error.param ?? "") : String(error);
  }
}

const tools = [{ name: "f", input_schema: { type: "object" } }];

test.each([
  ["chat", { reasoning_effort: "enormous" }, "reasoning_effort"],
  ["chat", { response_format: { type: "yaml" } }, "response_format.type"],
  ["chat", { tool_choice: "perhaps" }, "tool_choice"],
  ["responses", { reasoning: { effort: "enormous" } }, "reasoning.effort"],
  ["responses", { text: { format: { type: "yaml" } } }, "text.format.type"],
  ["messages", { output_config: { effort: "enormous" } }, "output_config.effort"],
  ["messages", { output_config: { format: { type: "yaml" } } }, "output_config.format.type"],
  ["messages", { thinking: { type: "sometimes" } }, "thinking.type"],
  ["messages", { tools, tool_choice: { type: "perhaps" } }, "tool_choice.type"],
] as const)(
  "%s: a word that nobody knows is refused where it stands, and not passed over: %o",
  (dialect, fields, field) => {
    expect(refusedField(dialect, fields as unknown as JsonObject)).toBe(field);
  },
);

/** What every object inherits is in no table of the gateway's. */
const inherited = ["constructor", "toString", "__proto__", "hasOwnProperty"];

test.each(inherited)("a provider's word for an ending, %s, is one that nobody knows", (word) => {
  const explanation = `The provider ended the response with an unknown reason: ${word}.`;
  const other: IrFinish = { reason: "refusal", stopSequence: null, explanation };
  expect(readChatFinish(word)).toEqual(other);
  expect(readMessagesFinish({ stop_reason: word })).toEqual(other);
  expect(readConverseFinish(word)).toEqual(other);
  expect(readGeminiFinish({ finishReason: word })).toEqual({ finish: other, failure: null });
});

test.each(inherited)("an item of the type %s is no call of a hosted tool", (type) => {
  const calls = new CallCounter();
  countItem({ type }, calls);
  expect(calls.isEmpty).toBe(true);
  expect(tierOf({ trafficType: type })).toBeNull();
});
