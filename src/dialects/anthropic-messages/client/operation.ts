import type { ClientOperation } from "../../client-dialect.ts";
import { defaultMaxTokens } from "./output-limit.ts";
import { inputMessage, messagesRequest, messagesResponse } from "./schema.ts";

export const operation: ClientOperation = {
  operationId: "createMessage",
  summary: "Create message",
  description: `When \`max_tokens\` is omitted it is ${defaultMaxTokens}; it is capped at the model's published output limit.`,
  headers: ["compat-version", "anthropic-version", "anthropic-beta"],
  request: "MessageRequest",
  response: "MessageResponse",
  events: "Events named by their `type`, from `message_start` to `message_stop`.",
  schemas: { InputMessage: inputMessage, MessageRequest: messagesRequest, MessageResponse: messagesResponse },
};
