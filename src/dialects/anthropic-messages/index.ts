import type { ClientDialect } from "../client-dialect.ts";
import type { ProviderDialect } from "../provider-dialect.ts";
import { givenIds } from "./given-ids.ts";
import { forwardHeaders, requestHeaders } from "./headers.ts";
import { heartbeat, inBandError } from "./in-band.ts";
import { limitOutput } from "./output-limit.ts";
import { readRequest } from "./request-in.ts";
import { writeRequest } from "./request-out.ts";
import { readResponse } from "./response-in.ts";
import { writeResponse } from "./response-out.ts";
import { requestSchema } from "./schema.ts";
import { MessagesStreamReader } from "./stream-in.ts";
import { MessagesStreamWriter } from "./stream-out.ts";
import { MessagesScanner } from "./stream-scanner.ts";
import { stripForeignReasoning } from "./strip-foreign-reasoning.ts";
import { toolRules } from "./tool-rules.ts";
import { readExtras, readUsage } from "./usage-in.ts";

/** Anthropic gives these their names and schemas, and the client runs them. */
const clientTools = /^(bash|text_editor|memory|computer)_/;

/** Anthropic's Messages. https://platform.claude.com/docs/en/api/messages */
const client: ClientDialect = {
  name: "messages",
  route: { path: "/v1/messages", acceptsApiKeyHeader: true },
  errorFormat: "anthropic",
  isClientTool: (type) => clientTools.test(type),
  fieldNames: {
    effort: "thinking",
    reasoning: "thinking",
    stop: "stop_sequences",
    cacheMark: "cache_control",
    imageDetail: "detail",
    formatDescription: "output_config.format.description",
  },
  requestSchema,
  timeoutCode: "upstream_timeout",
  forwardHeaders,
  limitOutput,
  readRequest,
  writeResponse,
  createStreamWriter: (call) => new MessagesStreamWriter(call),
  stripForeignReasoning,
  inBandError,
  heartbeat,
};

const provider: ProviderDialect = {
  name: "messages",
  richness: 2,
  takesStopSequences: true,
  paths: { generate: "/messages", countTokens: "/messages/count_tokens" },
  requestHeaders,
  answerField: "content",
  readUsage,
  readExtras,
  smallRequest: (question, { upstreamModel: model, maxOutputTokens }) => ({
    model,
    messages: [{ role: "user", content: question }],
    max_tokens: maxOutputTokens,
  }),
  toolRules,
  writeRequest,
  readResponse,
  passthrough: { usageOption: null, createScanner: (options) => new MessagesScanner(options), givenIds },
  createStreamReader: (emit) => new MessagesStreamReader(emit),
};

export const anthropicMessages = { client, provider };
