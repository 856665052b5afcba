import type { Dialect } from "../dialect.ts";
import { readRequest } from "./request-in.ts";
import { writeRequest } from "./request-out.ts";
import { readResponse } from "./response-in.ts";
import { writeResponse } from "./response-out.ts";
import { createStreamReader } from "./stream-in.ts";
import { createStreamWriter } from "./stream-out.ts";

/** OpenAI's Responses API, as of openai-node 7.53: https://platform.openai.com/docs/api-reference/responses */
export const responses: Dialect = {
  name: "responses",
  client: { readRequest, writeResponse, createStreamWriter },
  provider: { writeRequest, readResponse, createStreamReader },
};
