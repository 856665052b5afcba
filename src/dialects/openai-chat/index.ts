import type { ClientDialect, OtherRequest } from "../contract/client-dialect.ts";
import { sharedNames } from "../contract/field-decisions.ts";
import { asIs, choicesOf, rejectOverLimit } from "../contract/output-limit.ts";
import type { ProviderDialect } from "../contract/provider-dialect.ts";
import { hasQuirk } from "../contract/quirks.ts";
import { objectOf } from "../json/json-fields.ts";
import { batchRequest } from "../openai/batch-request.ts";
import { openAiErrors } from "../openai/error-format.ts";
import { forwardHeaders, readUser, requestHeaders } from "../openai/request-fields.ts";
import { mayHoldEnvelope } from "../reasoning/reasoning-envelope.ts";
import { keepaliveComment } from "../sse/sse.ts";
import { legalCallId, mistralId, shortCallIds } from "../tools/call-id.ts";
import { bodyNames } from "./client/body-names.ts";
import { requestFields } from "./client/fields.ts";
import { readRequest } from "./client/request-in.ts";
import { writeResponse, writeUsage } from "./client/response-out.ts";
import { acceptedChatRequest, chatChunk, chatMessage, chatRequest, chatResponse } from "./client/schema.ts";
import { ChatStreamWriter, inBandError } from "./client/stream-out.ts";
import { holdsState, stripForeignReasoning } from "./client/strip-foreign-reasoning.ts";
import { isOpeningChunk, issuedIds } from "./provider/delta-in.ts";
import { writeRequest } from "./provider/request-out.ts";
import { failedStart, failureIn, readResponse } from "./provider/response-in.ts";
import { ChatStreamReader } from "./provider/stream-in.ts";
import { usageReader, wantsUsage } from "./provider/usage-in.ts";

/** OpenAI's Chat Completions and its compatible variants. https://platform.openai.com/docs/api-reference/chat */
const client: ClientDialect = {
  name: "chat",
  route: { path: "/v1/chat/completions", keyHeader: null },
  operation: {
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
  },
  errorFormat: openAiErrors,
  isClientTool: () => false,
  expectsCaching: true,
  callIds: shortCallIds,
  callLimit: null,
  requestFields,
  bodyNames,
  systemFields: [],
  fieldNames: {
    ...sharedNames,
    turns: "messages",
    effort: "reasoning_effort",
    reasoning: "reasoning_content",
    stop: "stop",
    cacheMark: "cache_control",
    imageDetail: "image_url.detail",
    formatDescription: "response_format.json_schema.description",
    user: "user",
    singleCall: "parallel_tool_calls",
  },
  requestSchema: () => acceptedChatRequest,
  timeoutCode: "upstream_error",
  marks: [],
  betaHeader: null,
  forwardHeaders,
  readUser,
  limitOutput: (body, model) =>
    asIs(rejectOverLimit(body, ["max_completion_tokens", "max_tokens"], model) * choicesOf(body)),
  readRequest,
  writeResponse,
  createStreamWriter: (call) => new ChatStreamWriter(call),
  mayHoldForeignReasoning: mayHoldEnvelope,
  stripForeignReasoning,
  stripSignedReasoning: null,
  holdsState,
  writeHiddenUsage: writeUsage,
  inBandError,
  heartbeat: () => keepaliveComment,
};

const provider: ProviderDialect = {
  name: "chat",
  richness: 1,
  takesStopSequences: true,
  paths: { generate: "/chat/completions", countTokens: null, metered: ({ method }) => `/${method}` },
  requestHeaders,
  ...usageReader,
  smallRequest: (question, { upstreamModel: model, maxTokensField, maxOutputTokens }) => ({
    model,
    messages: [{ role: "user", content: question }],
    [maxTokensField]: maxOutputTokens,
  }),
  /** Only OpenAI limits the length of ids; others accept their own. */
  toolRules: {
    takesFreeform: false,
    definesMentioned: false,
    callId: (id, target) => {
      if (hasQuirk(target, "ids9")) return mistralId(id);
      return target.isStrict ? legalCallId(id, shortCallIds) : id;
    },
    forcesFormat: () => false,
  },
  writeRequest,
  readResponse,
  passthrough: {
    output: ({ choices }) => choices,
    failureIn,
    usageOption: {
      isSet: wantsUsage,
      changes: ({ stream_options: options }) => ({
        stream_options: { ...objectOf(options), include_usage: true },
      }),
    },
    issuedIds,
  },
  createStreamReader: (options) => new ChatStreamReader(options),
  failedStart,
  isOpening: isOpeningChunk,
};

const requests = {
  batch: { requestSchema: () => batchRequest },
} as const satisfies Readonly<Record<string, OtherRequest>>;

export const openAiChat = { client, provider, requests };
