import { isObject } from "../../base/json.ts";
import { fieldOf, spellings } from "../../base/proto-json.ts";
import type { ClientDialect } from "../contract/client-dialect.ts";
import type { ProviderDialect } from "../contract/provider-dialect.ts";
import { reportedFailure } from "../errors/failure.ts";
import { noHeaders } from "../headers.ts";
import { objectOf, stringOf } from "../json/json-fields.ts";
import { wordCallIds } from "../tools/call-id.ts";
import { askedExtras, outputField } from "./client/asked-extras.ts";
import { bodyNames } from "./client/body-names.ts";
import { checkBody, documentedRequest, documentedResponse, requestSchema } from "./client/check-body.ts";
import { documentedEmbeddings } from "./client/embeddings-documented.ts";
import { googleErrors } from "./client/error-format.ts";
import { requestFields } from "./client/fields.ts";
import { limitOutput } from "./client/output-limit.ts";
import { addPathFacts, readPath } from "./client/path.ts";
import { readRequest } from "./client/request-in.ts";
import { writeResponse } from "./client/response-out.ts";
import { GeminiStreamWriter, heartbeat, inBandError, isHeartbeat } from "./client/stream-out.ts";
import {
  holdsState,
  mayHoldForeignReasoning,
  stripForeignReasoning,
  stripSignedReasoning,
} from "./client/strip-foreign-reasoning.ts";
import { failedStart } from "./provider/finish-in.ts";
import { takesFormatWithTools } from "./provider/model.ts";
import { writeRequest } from "./provider/request-out.ts";
import { GeminiStreamReader, readResponse } from "./provider/stream-in.ts";
import { modelName, paths } from "./provider/targets.ts";
import { usageReader } from "./provider/usage-in.ts";

/** Google's generateContent, of the Gemini API and of Vertex AI. https://ai.google.dev/api/generate-content */
const provider: ProviderDialect = {
  name: "gemini",
  richness: 4,
  takesStopSequences: true,
  paths,
  /**
   * On the Gemini API, instructions and tools are accepted only within a complete `generateContentRequest`; Vertex
   * accepts them directly.
   */
  countTokens: {
    writeRequest: ({ model: _, stream: __, ...body }, target) => {
      const { contents, systemInstruction, tools, generationConfig } = body;
      if (target.capabilities["bare_token_counts"] === true)
        return { contents, systemInstruction, tools, generationConfig };
      return { generateContentRequest: { model: modelName(target.upstreamModel), ...body } };
    },
    countField: "totalTokens",
    hasOwnForm: true,
  },
  requestHeaders: () => ({}),
  ...usageReader,
  smallRequest: (question, { maxOutputTokens }) => ({
    contents: [{ role: "user", parts: [{ text: question }] }],
    generationConfig: { maxOutputTokens },
  }),
  toolRules: {
    takesFreeform: false,
    definesMentioned: false,
    callId: (id) => id,
    forcesFormat: (target, { tools }) => tools.length > 0 && !takesFormatWithTools(target),
    namesBeginWithLetter: true,
  },
  writeRequest,
  readResponse,
  passthrough: {
    output: ({ candidates, promptFeedback }) =>
      candidates ?? (isObject(promptFeedback) ? [promptFeedback] : undefined),
    failureIn: (answer) => (isObject(answer["error"]) ? reportedFailure(answer, usageReader) : null),
    usageOption: null,
    issuedIds: () => [],
  },
  createStreamReader: (options) => new GeminiStreamReader(options),
  failedStart,
};

/** Google's generateContent, whichever provider answers. */
const client: ClientDialect = {
  name: "gemini",
  route: { path: "/v1beta/models/*", keyHeader: "x-goog-api-key", keyParameter: "key" },
  operation: {
    operationId: "generateContent",
    summary: "Generate content",
    description:
      "The path ends in `{model}:generateContent`, `{model}:streamGenerateContent` (a JSON list without `?alt=sse`), `{model}:countTokens`, `{model}:embedContent` or `{model}:batchEmbedContents`, each with its own request and response below.",
    inPath: "model",
    request: "GenerateContentRequest",
    response: "GenerateContentResponse",
    events: "Lines `data: ` with a GenerateContentResponse each.",
    schemas: {
      GenerateContentRequest: documentedRequest,
      GenerateContentResponse: documentedResponse,
      ...documentedEmbeddings,
    },
  },
  errorFormat: googleErrors,
  marks: ["x-goog-api-key", "x-goog-api-client"],
  betaHeader: null,
  isClientTool: () => false,
  hasToolMembers: true,
  askedExtras,
  outputField,
  expectsCaching: true,
  callIds: wordCallIds,
  callLimit: null,
  requestFields,
  bodyNames,
  systemFields: spellings(["systemInstruction"]),
  fieldNames: {
    turns: "contents",
    outputLimit: "generationConfig.maxOutputTokens",
    effort: "generationConfig.thinkingConfig",
    reasoning: "thoughtSignature",
    stop: "generationConfig.stopSequences",
    cacheMark: "contents[].parts[]",
    imageDetail: "generationConfig.mediaResolution",
    formatDescription: "generationConfig.responseJsonSchema",
    user: "labels",
    singleCall: "toolConfig",
    temperature: "generationConfig.temperature",
    topP: "generationConfig.topP",
    topK: "generationConfig.topK",
    serviceTier: "serviceTier",
    modalities: "generationConfig.responseModalities",
    safetyIdentifier: "labels",
    promptCacheKey: "labels",
    verbosity: "generationConfig",
    store: "store",
    metadata: "labels",
    toolChoice: "toolConfig.functionCallingConfig",
    strict: "toolConfig.functionCallingConfig.mode",
    blockedDomains: "tools[].googleSearch",
    messageName: "contents[].role",
    prefill: "contents",
  },
  requestSchema: () => requestSchema,
  check: checkBody,
  timeoutCode: "upstream_timeout",
  forwardHeaders: () => noHeaders,
  readUser: (body) => stringOf(objectOf(body["labels"])?.["user"]),
  limitOutput,
  readStops: (body) => fieldOf(objectOf(fieldOf(body, "generationConfig")) ?? {}, "stopSequences"),
  inPath: {
    paths: [
      ...["/v1beta/*", "/v1alpha/*", "/v1/models/*"],
      ...["/v1beta1/*", "/v1/projects/*", "/v1/publishers/*"],
    ],
    switchedBy: "gemini",
    read: readPath,
    addTo: addPathFacts,
    writeCount: ({ tokens }) => ({ totalTokens: tokens }),
    isHeartbeat,
  },
  readRequest,
  writeResponse,
  createStreamWriter: (call) => new GeminiStreamWriter(call),
  mayHoldForeignReasoning,
  stripForeignReasoning,
  stripSignedReasoning,
  holdsState,
  inBandError,
  breaksOffAfterError: true,
  rejectsComments: true,
  heartbeat,
};

export const gemini = { client, provider };
