import type { ClientDialect } from "../client-dialect.ts";
import { forwardHeaders, requestHeaders } from "../openai/headers.ts";
import type { ProviderDialect } from "../provider-dialect.ts";
import { keepaliveComment } from "../sse/frame.ts";
import { givenIds } from "./given-ids.ts";
import { inBandError } from "./in-band.ts";
import { limitOutput } from "./output-limit.ts";
import { readRequest } from "./request-in.ts";
import { writeRequest } from "./request-out.ts";
import { readResponse } from "./response-in.ts";
import { writeResponse } from "./response-out.ts";
import { chatRequest } from "./schema.ts";
import { ChatStreamReader } from "./stream-in.ts";
import { ChatStreamWriter } from "./stream-out.ts";
import { ChatScanner } from "./stream-scanner.ts";
import { toolRules } from "./tool-rules.ts";
import { readExtras, readUsage } from "./usage-in.ts";
import { usageOption } from "./usage-option.ts";

/** OpenAI's Chat Completions, and what others made of it. https://platform.openai.com/docs/api-reference/chat */
const client: ClientDialect = {
  name: "chat",
  route: { path: "/v1/chat/completions", acceptsApiKeyHeader: false },
  errorFormat: "openai",
  isClientTool: () => false,
  fieldNames: {
    effort: "reasoning_effort",
    reasoning: "reasoning_content",
    stop: "stop",
    cacheMark: "cache_control",
    imageDetail: "image_url.detail",
    formatDescription: "response_format.json_schema.description",
  },
  requestSchema: () => chatRequest,
  timeoutCode: "upstream_error",
  forwardHeaders,
  limitOutput,
  readRequest,
  writeResponse,
  createStreamWriter: (call) => new ChatStreamWriter(call),
  stripForeignReasoning: null,
  inBandError,
  heartbeat: () => keepaliveComment,
};

const provider: ProviderDialect = {
  name: "chat",
  richness: 1,
  takesStopSequences: true,
  paths: { generate: "/chat/completions", countTokens: null },
  requestHeaders,
  answerField: "choices",
  readUsage,
  readExtras,
  smallRequest: (question, { upstreamModel: model, maxTokensField, maxOutputTokens }) => ({
    model,
    messages: [{ role: "user", content: question }],
    [maxTokensField]: maxOutputTokens,
  }),
  toolRules,
  writeRequest,
  readResponse,
  passthrough: { usageOption, createScanner: (options) => new ChatScanner(options), givenIds },
  createStreamReader: (emit) => new ChatStreamReader(emit),
};

export const openAiChat = { client, provider };
