import type { ProviderDialect } from "../contract/provider-dialect.ts";
import { openingTest } from "../sse/event.ts";
import { modelName, takesOutputFormat } from "../target/model-traits.ts";
import { legalCallId, mistralId, wordCallIds } from "../tools/call-id.ts";
import { usageReader } from "./provider/ending-in.ts";
import { canBeForced, familyOf } from "./provider/model-family.ts";
import { writeRequest } from "./provider/request-out.ts";
import { readResponse } from "./provider/response-in.ts";
import { ConverseStreamReader } from "./provider/stream-in.ts";

/** Amazon Bedrock's Converse. https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html */
const provider: ProviderDialect = {
  name: "converse",
  richness: 1,
  takesStopSequences: true,
  takesCacheMarks: true,
  paths: {
    generate: ({ model, stream }) => `${modelPath(model)}/${stream ? "converse-stream" : "converse"}`,
    countTokens: ({ model }) => `${modelPath(model)}/count-tokens`,
    metered: ({ model, method }) => `${modelPath(model)}/${method}`,
  },
  countTokens: {
    writeRequest: ({ messages, system, toolConfig }) => ({
      input: { converse: { messages, system, toolConfig } },
    }),
    countField: "inputTokens",
  },
  requestHeaders: () => ({}),
  ...usageReader,
  smallRequest: (question, { maxOutputTokens }) => ({
    messages: [{ role: "user", content: [{ text: question }] }],
    inferenceConfig: { maxTokens: maxOutputTokens },
  }),
  toolRules: {
    takesFreeform: false,
    definesMentioned: true,
    callId: (id, target) =>
      familyOf(modelName(target)) === "mistral" ? mistralId(id) : legalCallId(id, wordCallIds),
    forcesFormat: (target) => !takesOutputFormat(target) && canBeForced(familyOf(modelName(target))),
  },
  writeRequest,
  readResponse,
  passthrough: null,
  createStreamReader: () => new ConverseStreamReader(),
  isOpening: openingTest("messageStart"),
};

export const bedrockConverse = { provider };

/** The model is one segment of the path and has to be encoded: an ARN has colons and slashes. */
function modelPath(model: string): string {
  return `/model/${encodeURIComponent(model)}`;
}
