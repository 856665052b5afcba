import type { Dialect } from "../dialect.ts";
import { readRequest } from "./request-in.ts";
import { writeRequest } from "./request-out.ts";
import { readResponse } from "./response-in.ts";
import { writeResponse } from "./response-out.ts";
import { MessagesStreamReader } from "./stream-in.ts";
import { MessagesStreamWriter } from "./stream-out.ts";

/** Anthropic's Messages. https://platform.claude.com/docs/en/api/messages */
export const messages: Dialect = {
  name: "messages",
  client: { readRequest, writeResponse, createStreamWriter: (call) => new MessagesStreamWriter(call) },
  provider: { writeRequest, readResponse, createStreamReader: (emit) => new MessagesStreamReader(emit) },
};
