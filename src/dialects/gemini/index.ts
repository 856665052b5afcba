import type { ProviderDialect } from "../contract/provider-dialect.ts";
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
    writeRequest: (body, target) => {
      const { contents, systemInstruction, tools, generationConfig } = body;
      if (target.capabilities["bare_token_counts"] === true)
        return { contents, systemInstruction, tools, generationConfig };
      return { generateContentRequest: { model: modelName(target.upstreamModel), ...body } };
    },
    countField: "totalTokens",
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
  passthrough: null,
  createStreamReader: ({ target }) => new GeminiStreamReader(target),
  failedStart,
};

export const gemini = { provider };
