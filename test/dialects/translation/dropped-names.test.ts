import { expect, test } from "bun:test";
import type { JsonObject } from "../../../src/base/json.ts";
import type { Target } from "../../../src/dialects/contract/provider-dialect.ts";
import { clientDialect, type ProviderDialectName, providerDialect } from "../../../src/dialects/registry.ts";
import { translate } from "../../../src/dialects/translation/translate.ts";
import type { BodyDialectName } from "../../support/body-dialects.ts";

function droppedOf(
  from: BodyDialectName,
  to: ProviderDialectName,
  body: JsonObject,
  target: Partial<Target> = {},
) {
  const source = {
    dialect: clientDialect(from),
    body,
    model: "m",
    nowSeconds: 1,
    estimatedInputTokens: 1,
  };
  return translate(source, {
    dialect: providerDialect(to),
    upstreamModel: "m",
    provider: "p",
    isStrict: false,
    maxOutputTokens: null,
    maxTokensField: "max_tokens",
    streamUsage: true,
    capabilities: {},
    ...target,
  }).dropped;
}

const message = { model: "m", max_tokens: 9, messages: [{ role: "user", content: "Fog?" }] };

test("a dropped field has the name that the client gave it", () => {
  const tools = [{ name: "look", input_schema: { type: "object" } }];
  const oneCall = { tools, tool_choice: { type: "auto", disable_parallel_tool_use: true } };
  expect(droppedOf("messages", "converse", { ...message, ...oneCall })).toEqual([
    "tool_choice.disable_parallel_tool_use",
  ]);
  const user = { metadata: { user_id: "u" } };
  expect(droppedOf("messages", "chat", { ...message, ...user }, { quirks: ["no_user"] })).toEqual([
    "metadata.user_id",
  ]);
});

test("a conversation without a user's message is named as the client writes it", () => {
  const body = { model: "m", input: [] };
  expect(() => droppedOf("responses", "gemini", body)).toThrow("`input` must have a user message");
});
