import type { Dialect } from "../dialect.ts";
import { readRequest } from "./request-in.ts";
import { writeRequest } from "./request-out.ts";
import { readResponse } from "./response-in.ts";
import { writeResponse } from "./response-out.ts";
import { ChatStreamReader } from "./stream-in.ts";
import { ChatStreamWriter } from "./stream-out.ts";

/** OpenAI's Chat Completions, and what others made of it. https://platform.openai.com/docs/api-reference/chat */
export const chat: Dialect = {
  name: "chat",
  client: { readRequest, writeResponse, createStreamWriter: (call) => new ChatStreamWriter(call) },
  provider: { writeRequest, readResponse, createStreamReader: (emit) => new ChatStreamReader(emit) },
};
