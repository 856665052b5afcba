import { type ClientDialect, countDescription, type OtherRequest } from "../contract/client-dialect.ts";
import { sharedNames } from "../contract/field-decisions.ts";
import type { ProviderDialect } from "../contract/provider-dialect.ts";
import { type ForwardedHeaders, isSendable } from "../headers.ts";
import { countOf, objectOf } from "../json/json-fields.ts";
import { openingTest } from "../sse/event.ts";
import { takesOutputFormat } from "../target/model-traits.ts";
import { legalCallId, wordCallIds } from "../tools/call-id.ts";
import { bodyNames } from "./client/body-names.ts";
import { anthropicErrors } from "./client/error-format.ts";
import { requestFields } from "./client/fields.ts";
import { defaultMaxTokens, limitOutput, readRequest, readUser } from "./client/request-in.ts";
import { writeResponse } from "./client/response-out.ts";
import {
  countTokensRequest,
  countTokensResponse,
  countTokensSchema,
  inputMessage,
  messagesRequest,
  messagesResponse,
  requestSchema,
} from "./client/schema.ts";
import { heartbeat, inBandError, MessagesStreamWriter } from "./client/stream-out.ts";
import {
  holdsState,
  mayHoldForeignReasoning,
  stripForeignReasoning,
  stripSignedReasoning,
} from "./client/strip-foreign-reasoning.ts";
import { issuedIds } from "./provider/issued-ids.ts";
import { writeRequest } from "./provider/request-out.ts";
import { failureIn, readResponse } from "./provider/response-in.ts";
import { MessagesStreamReader } from "./provider/stream-in.ts";
import { readUsage, usageReader } from "./provider/usage-in.ts";

const prefix = "anthropic-";

const version = "anthropic-version";
const betas = "anthropic-beta";

/** Chooses among the workspaces of the account that pays, which is the operator's business. */
const workspace = "anthropic-workspace-id";

const headers = ["compat-version", version, betas];

/** Sent if the client names no version, and with translated requests. */
const defaultVersion = "2023-06-01";

/** Anthropic defines the names and schemas of these tools, and the client runs them. */
const clientTools = /^(?:bash|text_editor|memory|computer|(?:computer|browser)_toolset)_\d+$/;

/** Anthropic's Messages. https://platform.claude.com/docs/en/api/messages */
const client: ClientDialect = {
  name: "messages",
  route: { path: "/v1/messages", keyHeader: "x-api-key" },
  operation: {
    operationId: "createMessage",
    summary: "Create message",
    description: `When \`max_tokens\` is omitted it is ${defaultMaxTokens}; it is capped at the model's published output limit.`,
    headers,
    request: "MessageRequest",
    response: "MessageResponse",
    events: "Events named by their `type`, from `message_start` to `message_stop`.",
    schemas: {
      InputMessage: inputMessage,
      MessageRequest: messagesRequest,
      MessageResponse: messagesResponse,
    },
  },
  errorFormat: anthropicErrors,
  isClientTool: (type) => clientTools.test(type),
  expectsCaching: false,
  callIds: wordCallIds,
  callLimit: "tool",
  requestFields,
  bodyNames,
  systemFields: ["system"],
  fieldNames: {
    ...sharedNames,
    turns: "messages",
    effort: "thinking",
    reasoning: "thinking",
    stop: "stop_sequences",
    cacheMark: "cache_control",
    imageDetail: "detail",
    formatDescription: "output_config.format.description",
    user: "metadata.user_id",
    singleCall: "tool_choice.disable_parallel_tool_use",
  },
  requestSchema,
  timeoutCode: "upstream_timeout",
  marks: [version, betas],
  betaHeader: betas,
  forwardHeaders,
  readUser,
  limitOutput,
  readRequest,
  writeResponse,
  createStreamWriter: (call) => new MessagesStreamWriter(call),
  mayHoldForeignReasoning,
  stripForeignReasoning,
  stripSignedReasoning,
  holdsState,
  inBandError,
  heartbeat,
};

const provider: ProviderDialect = {
  name: "messages",
  richness: 2,
  takesStopSequences: true,
  takesCacheMarks: true,
  paths: { generate: "/messages", countTokens: "/messages/count_tokens" },
  countTokens: {
    writeRequest: (body) => body,
    countField: "input_tokens",
    originalCount: ({ context_management: edited }) => countOf(objectOf(edited)?.["original_input_tokens"]),
  },
  requestHeaders,
  ...usageReader,
  smallRequest: (question, { upstreamModel: model, maxOutputTokens }) => ({
    model,
    messages: [{ role: "user", content: question }],
    max_tokens: maxOutputTokens,
  }),
  toolRules: {
    takesFreeform: false,
    definesMentioned: true,
    callId: (id) => legalCallId(id, wordCallIds),
    forcesFormat: (target) => !takesOutputFormat(target),
  },
  writeRequest,
  readResponse,
  passthrough: {
    output: ({ content }) => content,
    failureIn,
    usageOption: null,
    issuedIds,
  },
  createStreamReader: (options) => new MessagesStreamReader(options),
  isOpening: openingTest("message_start", "ping"),
  openingUsage: ({ message }) => readUsage(objectOf(message)?.["usage"]),
};

const requests = {
  count_tokens: {
    requestSchema: countTokensSchema,
    counting: {
      path: "/v1/messages/count_tokens",
      operation: {
        operationId: "countTokens",
        ...countDescription,
        headers,
        request: "TokenCountRequest",
        response: "TokenCountResponse",
        schemas: { TokenCountRequest: countTokensRequest, TokenCountResponse: countTokensResponse },
      },
      write: ({ tokens, originalTokens }) => ({
        input_tokens: tokens,
        ...(originalTokens === null ? {} : { context_management: { original_input_tokens: originalTokens } }),
      }),
    },
  },
} as const satisfies Readonly<Record<string, OtherRequest>>;

export const anthropicMessages = { client, provider, requests };

/**
 * All that Anthropic's clients send to Anthropic: it adds such headers with new features. `compat-version` is the
 * interface's own name for `anthropic-version`.
 */
function forwardHeaders(client: Headers): ForwardedHeaders {
  const forwarded: Record<string, string> = {};
  client.forEach((value, name) => {
    if (name.startsWith(prefix) && name !== workspace && isSendable(value)) forwarded[name] = value;
  });
  const requested = client.get("compat-version");
  if (isSendable(requested)) forwarded[version] = requested;
  return forwarded;
}

/** A translated request has no headers of the client's dialect. */
function requestHeaders(forwarded: ForwardedHeaders): ForwardedHeaders {
  const headers: Record<string, string> = { [version]: defaultVersion };
  for (const name in forwarded) if (name.startsWith(prefix)) headers[name] = forwarded[name] ?? "";
  return headers;
}
