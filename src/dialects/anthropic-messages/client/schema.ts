import { type TSchema, Type } from "@sinclair/typebox";
import type { ValidationOptions } from "../../contract/client-dialect.ts";
import {
  anyInteger,
  anyObject,
  arrayOfObjects,
  modelName,
  optional,
  positiveInteger,
  streamFlag,
  tokenCount,
} from "../../schema/fields.ts";
import { defaultMaxTokens } from "./request-in.ts";

/** Interface 2.8 to 2.11. https://docs.claude.com/en/api/messages */

const typedBlocks = Type.Array(Type.Object({ type: Type.String() }));

const messagesContent = Type.Union([Type.String(), typedBlocks]);

const user = Type.Literal("user");
const assistant = Type.Literal("assistant");
const system = Type.Literal("system");

export const inputMessage = Type.Object({
  role: Type.Union([user, assistant], {
    description: "System text belongs in the top-level field `system`.",
  }),
  content: messagesContent,
});

/**
 * For model names it does not know, Claude Code sends messages of the role `system` in the conversation. It then always
 * sends `anthropic-beta`, which distinguishes such a request from a mistake.
 */
const betaInputMessage = Type.Union([
  Type.Object({ role: Type.Union([user, assistant, system]), content: messagesContent }),
  // A system message without content may only change settings from here on.
  Type.Object({ role: system, content: optional(messagesContent) }),
]);

const countFields = (message: typeof inputMessage | typeof betaInputMessage) => ({
  model: modelName,
  messages: Type.Array(message, { minItems: 1 }),
  system: optional(messagesContent),
  tools: optional(arrayOfObjects),
  tool_choice: optional(anyObject),
});

const requestFields = (message: typeof inputMessage | typeof betaInputMessage) => ({
  ...countFields(message),
  max_tokens: optional(
    positiveInteger({
      default: defaultMaxTokens,
      description: "Capped at the model's published output limit.",
    }),
  ),
  stream: optional(streamFlag),
  temperature: optional(Type.Number()),
  top_p: optional(Type.Number()),
  top_k: optional(anyInteger),
  stop_sequences: optional(Type.Array(Type.String())),
  metadata: optional(anyObject),
});

export const messagesRequest = Type.Object(requestFields(inputMessage));
export const betaMessagesRequest = Type.Object(requestFields(betaInputMessage));

export const countTokensRequest = Type.Object(countFields(inputMessage));
const betaCountTokensRequest = Type.Object(countFields(betaInputMessage));

export const messagesResponse = Type.Object({
  id: Type.String(),
  type: Type.Literal("message"),
  role: assistant,
  model: Type.String(),
  content: arrayOfObjects,
  stop_reason: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  stop_sequence: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  usage: Type.Optional(Type.Object({ input_tokens: tokenCount, output_tokens: tokenCount })),
});

export const countTokensResponse = Type.Object({ input_tokens: tokenCount }, { additionalProperties: false });

export function requestSchema({ hasBetas }: ValidationOptions): TSchema {
  return hasBetas ? betaMessagesRequest : messagesRequest;
}

export function countTokensSchema({ hasBetas }: ValidationOptions): TSchema {
  return hasBetas ? betaCountTokensRequest : countTokensRequest;
}
