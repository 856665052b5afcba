import type { ClientDialect } from "../client-dialect.ts";
import { forwardHeaders, requestHeaders } from "../openai/headers.ts";
import type { ProviderDialect } from "../provider-dialect.ts";
import { keepaliveComment } from "../sse/frame.ts";
import { shortCallIds } from "../tools/call-id.ts";
import { requestFields } from "./client/fields.ts";
import { inBandError } from "./client/in-band.ts";
import { operation } from "./client/operation.ts";
import { limitOutput } from "./client/output-limit.ts";
import { readRequest } from "./client/request-in.ts";
import { writeResponse } from "./client/response-out.ts";
import { chatRequest } from "./client/schema.ts";
import { ChatStreamWriter } from "./client/stream-out.ts";
import { stripForeignReasoning } from "./client/strip-foreign-reasoning.ts";
import { givenIds } from "./provider/given-ids.ts";
import { writeRequest } from "./provider/request-out.ts";
import { failedStart, failureIn, readResponse } from "./provider/response-in.ts";
import { ChatStreamReader } from "./provider/stream-in.ts";
import { ChatScanner } from "./provider/stream-scanner.ts";
import { toolRules } from "./provider/tool-rules.ts";
import { figures } from "./provider/usage-in.ts";
import { usageOption } from "./provider/usage-option.ts";

/** OpenAI's Chat Completions, and what others made of it. https://platform.openai.com/docs/api-reference/chat */
const client: ClientDialect = {
  name: "chat",
  route: { path: "/v1/chat/completions", acceptsApiKeyHeader: false },
  operation,
  errorFormat: "openai",
  isClientTool: () => false,
  expectsCaching: true,
  callIds: shortCallIds,
  requestFields,
  fieldNames: {
    effort: "reasoning_effort",
    reasoning: "reasoning_content",
    stop: "stop",
    cacheMark: "cache_control",
    imageDetail: "image_url.detail",
    formatDescription: "response_format.json_schema.description",
    user: "user",
    singleCall: "parallel_tool_calls",
  },
  requestSchema: () => chatRequest,
  timeoutCode: "upstream_error",
  forwardHeaders,
  limitOutput,
  readRequest,
  writeResponse,
  createStreamWriter: (call) => new ChatStreamWriter(call),
  stripForeignReasoning,
  stripProvenReasoning: null,
  inBandError,
  heartbeat: () => keepaliveComment,
};

const provider: ProviderDialect = {
  name: "chat",
  richness: 1,
  takesStopSequences: true,
  paths: { generate: "/chat/completions", countTokens: null },
  requestHeaders,
  ...figures,
  smallRequest: (question, { upstreamModel: model, maxTokensField, maxOutputTokens }) => ({
    model,
    messages: [{ role: "user", content: question }],
    [maxTokensField]: maxOutputTokens,
  }),
  toolRules,
  writeRequest,
  readResponse,
  passthrough: {
    answerField: "choices",
    failureIn,
    usageOption,
    createScanner: (options) => new ChatScanner(options),
    givenIds,
  },
  createStreamReader: (emit, target) => new ChatStreamReader(emit, target),
  failedStart,
};

export const openAiChat = { client, provider };
