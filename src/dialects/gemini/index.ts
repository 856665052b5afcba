import type { ProviderDialect } from "../provider-dialect.ts";
import { countTokens } from "./provider/count-tokens.ts";
import { failedStart } from "./provider/finish-in.ts";
import { writeRequest } from "./provider/request-out.ts";
import { readResponse } from "./provider/response-in.ts";
import { GeminiStreamReader } from "./provider/stream-in.ts";
import { paths } from "./provider/targets.ts";
import { toolRules } from "./provider/tool-rules.ts";
import { figures } from "./provider/usage-in.ts";

/** Google's generateContent, of the Gemini API and of Vertex AI. https://ai.google.dev/api/generate-content */
const provider: ProviderDialect = {
  name: "gemini",
  richness: 4,
  takesStopSequences: true,
  paths,
  countTokens,
  requestHeaders: () => ({}),
  ...figures,
  smallRequest: (question, { maxOutputTokens }) => ({
    contents: [{ role: "user", parts: [{ text: question }] }],
    generationConfig: { maxOutputTokens },
  }),
  toolRules,
  writeRequest,
  readResponse,
  passthrough: null,
  createStreamReader: (emit, target) => new GeminiStreamReader(emit, target),
  failedStart,
};

export const gemini = { provider };
