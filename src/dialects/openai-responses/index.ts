import type { TSchema } from "@sinclair/typebox";
import type { JsonObject } from "../../base/json.ts";
import { type ClientDialect, countDescription, type OtherRequest } from "../contract/client-dialect.ts";
import { sharedNames } from "../contract/field-decisions.ts";
import { asIs, choicesOf, rejectOverLimit } from "../contract/output-limit.ts";
import type { ProviderDialect } from "../contract/provider-dialect.ts";
import { listOf } from "../json/json-fields.ts";
import type { BodyChanges } from "../json/patch.ts";
import { openAiErrors } from "../openai/error-format.ts";
import { forwardHeaders, readUser, requestHeaders } from "../openai/request-fields.ts";
import { mayHoldEnvelope } from "../reasoning/reasoning-envelope.ts";
import { openingTest } from "../sse/event.ts";
import { legalCallId, wordCallIds } from "../tools/call-id.ts";
import { bodyNames } from "./client/body-names.ts";
import {
  conversationItemsRequest,
  conversationRequest,
  conversationUpdateRequest,
} from "./client/conversation-schema.ts";
import { requestFields } from "./client/fields.ts";
import { checkItems } from "./client/input-in.ts";
import { readRequest } from "./client/request-in.ts";
import { writeResponse } from "./client/response-out.ts";
import {
  compactRequest,
  inputTokensRequest,
  inputTokensResponse,
  responsesRequest,
  responsesResponse,
} from "./client/schema.ts";
import { heartbeat, inBandError, ResponsesStreamWriter } from "./client/stream-out.ts";
import { holdsState, stripForeignReasoning, stripSignedReasoning } from "./client/strip-foreign-reasoning.ts";
import { endedIds } from "./client/turn-items.ts";
import { writeRequest } from "./provider/request-out.ts";
import { failureIn, readResponse } from "./provider/response-in.ts";
import { ResponsesStreamReader } from "./provider/stream-in.ts";
import { usageReader } from "./provider/usage-in.ts";
import { issuedIds, storedReferences } from "./stored-items.ts";

/** llama.cpp makes a chat request of a body, in which these count before `max_output_tokens`. */
const chatLimits = ["max_completion_tokens", "max_tokens"];

/** OpenAI's Responses API, as of openai-node 7.53: https://platform.openai.com/docs/api-reference/responses */
const client: ClientDialect = {
  name: "responses",
  route: { path: "/v1/responses", keyHeader: null, isTriedByWebSocket: true },
  operation: {
    operationId: "createResponse",
    summary: "Create a response",
    request: "ResponsesRequest",
    response: "ResponsesResponse",
    events: "Events named by their `type`, ended by `response.completed`, `.incomplete` or `.failed`.",
    schemas: { ResponsesRequest: responsesRequest, ResponsesResponse: responsesResponse },
  },
  errorFormat: openAiErrors,
  isClientTool: () => false,
  expectsCaching: true,
  callIds: wordCallIds,
  callLimit: "request",
  itemsField: "input",
  requestFields,
  bodyNames,
  systemFields: ["instructions"],
  storedReferences,
  fieldNames: {
    ...sharedNames,
    turns: "input",
    outputLimit: "max_output_tokens",
    effort: "reasoning",
    reasoning: "reasoning",
    stop: "stop",
    cacheMark: "prompt_cache_breakpoint",
    imageDetail: "detail",
    formatDescription: "text.format.description",
    user: "user",
    singleCall: "parallel_tool_calls",
  },
  requestSchema: () => responsesRequest,
  timeoutCode: "upstream_error",
  marks: [],
  betaHeader: null,
  forwardHeaders,
  readUser,
  limitOutput: (body, model) =>
    asIs(rejectOverLimit(body, ["max_output_tokens"], model, chatLimits) * choicesOf(body)),
  readRequest,
  writeResponse,
  statelessChanges,
  createStreamWriter: (call) => new ResponsesStreamWriter(call),
  mayHoldForeignReasoning: mayHoldEnvelope,
  stripForeignReasoning,
  stripSignedReasoning,
  holdsState,
  inBandError,
  heartbeat,
};

/** Fields of a request for a token count. OpenAI rejects all others. */
const counted: ReadonlySet<string> = new Set([
  ...["model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "text", "reasoning"],
  ...["truncation", "previous_response_id", "conversation"],
]);

const provider: ProviderDialect = {
  name: "responses",
  richness: 3,
  takesStopSequences: false,
  paths: {
    generate: "/responses",
    countTokens: "/responses/input_tokens",
    compact: "/responses/compact",
  },
  countTokens: {
    hasOwnForm: true,
    writeRequest: (body) => Object.fromEntries(Object.entries(body).filter(([name]) => counted.has(name))),
    countField: "input_tokens",
  },
  requestHeaders,
  ...usageReader,
  smallRequest: (question, { upstreamModel: model, maxOutputTokens }) => ({
    model,
    input: question,
    max_output_tokens: maxOutputTokens,
  }),
  toolRules: {
    takesFreeform: true,
    definesMentioned: false,
    callId: (id) => legalCallId(id, wordCallIds),
    forcesFormat: () => false,
  },
  writeRequest,
  readResponse,
  passthrough: {
    output: ({ output }) => output,
    failureIn,
    usageOption: null,
    issuedIds,
    endedIds,
  },
  createStreamReader: (options) => new ResponsesStreamReader(options),
  isOpening: openingTest("response.created", "response.queued", "response.in_progress", "keepalive"),
};

const conversationForm = (schema: TSchema): OtherRequest => ({
  itemsField: "items",
  requestSchema: () => schema,
  check: ({ items }) => checkItems(items, "items"),
});

const requests = {
  input_tokens: {
    itemsField: "input",
    requestSchema: () => inputTokensRequest,
    counting: {
      path: "/v1/responses/input_tokens",
      switchedBy: "input_tokens",
      operation: {
        operationId: "countInputTokens",
        ...countDescription,
        request: "InputTokensRequest",
        response: "InputTokensResponse",
        schemas: { InputTokensRequest: inputTokensRequest, InputTokensResponse: inputTokensResponse },
      },
      write: ({ tokens }) => ({ object: "response.input_tokens", input_tokens: tokens }),
    },
  },
  compact: { itemsField: "input", requestSchema: () => compactRequest },
  conversation: conversationForm(conversationRequest),
  conversation_items: conversationForm(conversationItemsRequest),
  conversation_update: conversationForm(conversationUpdateRequest),
} as const satisfies Readonly<Record<string, OtherRequest>>;

export const openAiResponses = { client, provider, requests };

const encryptedReasoning = "reasoning.encrypted_content";

/**
 * Requests the ciphertext of reasoning, which would otherwise be lost to the conversation, because the provider stores
 * none.
 */
function statelessChanges({ include }: JsonObject, mayReason: boolean): BodyChanges {
  const included = listOf(include);
  if (!mayReason || included.includes(encryptedReasoning)) return { store: false };
  return { store: false, include: [...included, encryptedReasoning] };
}
