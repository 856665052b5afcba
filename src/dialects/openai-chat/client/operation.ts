import type { ClientOperation } from "../../client-dialect.ts";
import { chatChunk, chatMessage, chatRequest, chatResponse } from "./schema.ts";

export const operation: ClientOperation = {
  operationId: "createChatCompletion",
  summary: "Create chat completion",
  request: "ChatCompletionRequest",
  response: "ChatCompletionResponse",
  events: "Lines `data: ` with a ChatCompletionChunk each; the last is `data: [DONE]`.",
  schemas: {
    ChatMessage: chatMessage,
    ChatCompletionRequest: chatRequest,
    ChatCompletionResponse: chatResponse,
    ChatCompletionChunk: chatChunk,
  },
};
