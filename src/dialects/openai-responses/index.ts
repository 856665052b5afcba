import type { ClientDialect } from "../client-dialect.ts";
import { forwardHeaders, requestHeaders } from "../openai/headers.ts";
import type { ProviderDialect } from "../provider-dialect.ts";
import { givenIds } from "./given-ids.ts";
import { heartbeat, inBandError } from "./in-band.ts";
import { limitOutput } from "./output-limit.ts";
import { readRequest } from "./request-in.ts";
import { writeRequest } from "./request-out.ts";
import { readResponse } from "./response-in.ts";
import { writeResponse } from "./response-out.ts";
import { responsesRequest } from "./schema.ts";
import { createStreamReader } from "./stream-in.ts";
import { createStreamWriter } from "./stream-out.ts";
import { ResponsesScanner } from "./stream-scanner.ts";
import { stripForeignReasoning } from "./strip-foreign-reasoning.ts";
import { toolRules } from "./tool-rules.ts";
import { readExtras, readUsage } from "./usage-in.ts";

/** OpenAI's Responses API, as of openai-node 7.53: https://platform.openai.com/docs/api-reference/responses */
const client: ClientDialect = {
  name: "responses",
  route: { path: "/v1/responses", acceptsApiKeyHeader: false },
  errorFormat: "openai",
  isClientTool: () => false,
  fieldNames: {
    effort: "reasoning",
    reasoning: "reasoning",
    stop: "stop",
    cacheMark: "prompt_cache_breakpoint",
    imageDetail: "detail",
    formatDescription: "text.format.description",
  },
  requestSchema: () => responsesRequest,
  timeoutCode: "upstream_error",
  forwardHeaders,
  limitOutput,
  readRequest,
  writeResponse,
  createStreamWriter,
  stripForeignReasoning,
  inBandError,
  heartbeat,
};

const provider: ProviderDialect = {
  name: "responses",
  richness: 3,
  takesStopSequences: false,
  paths: { generate: "/responses", countTokens: null },
  requestHeaders,
  answerField: "output",
  readUsage,
  readExtras,
  smallRequest: (question, { upstreamModel: model, maxOutputTokens }) => ({
    model,
    input: question,
    max_output_tokens: maxOutputTokens,
  }),
  toolRules,
  writeRequest,
  readResponse,
  passthrough: { usageOption: null, createScanner: (options) => new ResponsesScanner(options), givenIds },
  createStreamReader,
};

export const openAiResponses = { client, provider };
