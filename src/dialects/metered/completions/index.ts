import { Type } from "@sinclair/typebox";
import { invalidRequest } from "../../../base/errors.ts";
import type { JsonObject } from "../../../base/json.ts";
import { choicesOf, rejectOverLimit, shownChoices } from "../../contract/output-limit.ts";
import { malformedResponse } from "../../errors/failure.ts";
import { ChatStreamReader } from "../../openai-chat/provider/stream-in.ts";
import { usageIn } from "../../openai-chat/provider/usage-in.ts";
import { parseResponse } from "../../provider-response/outline.ts";
import { writtenText } from "../../provider-response/produced.ts";
import { anyObject, modelName, optional, positiveInteger, streamFlag } from "../../schema/fields.ts";
import {
  type MeteredDemand,
  type MeteredModel,
  type MeteredReading,
  type MeteredResponse,
  type MeteredRoute,
  maxTokenIds,
  meteredDialect,
  openAiFormat,
  type RequestedForm,
} from "../route.ts";
import { listed, textsOrTokenIds } from "../texts.ts";

const shared = {
  model: modelName,
  suffix: optional(Type.String()),
  stream: optional(streamFlag),
  stream_options: optional(anyObject),
};

const completionRequest = Type.Object({
  ...shared,
  prompt: optional(textsOrTokenIds),
  max_tokens: optional(
    Type.Integer({
      minimum: 0,
      description: "Maximum output tokens per choice; 0 scores the prompt.",
      default: 16,
    }),
  ),
});

const fimRequest = Type.Object({
  ...shared,
  prompt: Type.String(),
  max_tokens: optional(positiveInteger({ description: "Maximum output tokens." })),
});

const streamEvents = "Lines `data: ` with a part of the response each; the last is `data: [DONE]`.";

const completionResponse = Type.Object({ id: Type.String(), choices: Type.Array(anyObject) });

/** Servers read one or the other. */
const limitFields = ["max_tokens", "max_completion_tokens"];

/** OpenAI's default if the request sets no limit. */
const usualMaxTokens = 16;

/** The prompts of a valid request: texts, or ids of tokens. Without one the model begins a document. */
function promptsOf({ prompt: requested }: JsonObject): readonly (string | readonly number[])[] {
  return requested == null ? [""] : listed(requested);
}

/** Every prompt has as many completions as requested, and each can reach the limit. */
function demandOf(body: JsonObject, { estimatedInput }: MeteredModel, maxTokens: number): MeteredDemand {
  const prompts = promptsOf(body);
  const ids = prompts.filter((one) => typeof one !== "string");
  const count = ids.reduce((sum, { length }) => sum + length, 0);
  return {
    input: count + (ids.length === 0 || body["suffix"] ? estimatedInput : 0),
    output: maxTokens * choicesOf(body) * prompts.length,
    isInTokens: true,
    canBeCounted: ids.length === 0,
    maxExtras: {},
    certain: {},
  };
}

function textsOf(body: JsonObject): readonly string[] {
  const { suffix } = body;
  const texts = promptsOf(body).filter((one) => typeof one === "string");
  return typeof suffix === "string" ? [...texts, suffix] : texts;
}

/** Completions generated for each one returned: `best_of` are generated, and `n` are returned. */
function writtenTimes(body: JsonObject): number {
  return choicesOf(body) / choicesOf(body, shownChoices);
}

function rejectUncountable(body: JsonObject): void {
  if (body["stream"] !== true || writtenTimes(body) === 1) return;
  throw invalidRequest("`best_of` must equal `n` if `stream` is true.", "best_of");
}

function passResponse(answer: MeteredResponse, { body: requested }: RequestedForm): MeteredReading {
  const body = parseResponse(answer);
  if (!Array.isArray(body["choices"])) throw malformedResponse("it has no choices");
  return {
    written: null,
    usage: usageIn(body),
    extras: {},
    produced: writtenText(body["choices"]),
    writtenTimes: writtenTimes(requested),
  };
}

const sharedByBothRoutes = {
  switchedBy: "completions",
  use: "completions",
  tracedAs: "text_completion",
  prices: ["input", "output"],
  check: rejectUncountable,
  streams: {
    dialect: meteredDialect,
    createReader: () => new ChatStreamReader({ target: null }),
    takesUsageOption: true,
  },
  texts: textsOf,
} as const;

/** The continuation of a text. Only providers of this very shape can write it. https://platform.openai.com/docs/api-reference/completions */
export const completions: MeteredRoute = {
  ...sharedByBothRoutes,
  paths: ["/v1/completions"],
  operation: {
    operationId: "createCompletion",
    summary: "Create a completion",
    request: "CompletionRequest",
    response: "CompletionResponse",
    events: streamEvents,
    schemas: { CompletionRequest: completionRequest, CompletionResponse: completionResponse },
  },
  requestSchema: completionRequest,
  maxTokenIds,
  formats: {
    openai: {
      ...openAiFormat("completions", passResponse),
      parsesWhole: true,
      // Other servers would write on until the model's limit, which is not what was held for.
      changes: ({ max_tokens: max }) => (max == null ? { max_tokens: usualMaxTokens } : undefined),
    },
  },
  demand({ truncated }, model) {
    const requested = { ...truncated, max_tokens: truncated["max_tokens"] ?? usualMaxTokens };
    return demandOf(truncated, model, rejectOverLimit(requested, limitFields, model.limits));
  },
};

/** Fill in the middle: the text between a prompt and a suffix, in the format of chat. https://docs.mistral.ai/api/endpoint/fim */
export const fimCompletions: MeteredRoute = {
  ...sharedByBothRoutes,
  paths: ["/v1/fim/completions"],
  operation: {
    operationId: "createFimCompletion",
    summary: "Create a fill-in-the-middle completion",
    request: "FimCompletionRequest",
    response: "CompletionResponse",
    events: streamEvents,
    schemas: { FimCompletionRequest: fimRequest, CompletionResponse: completionResponse },
  },
  requestSchema: fimRequest,
  formats: { openai: { ...openAiFormat("fim/completions", passResponse), parsesWhole: true } },
  demand: ({ truncated }, model) =>
    demandOf(truncated, model, rejectOverLimit(truncated, limitFields, model.limits)),
};
