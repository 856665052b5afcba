import type { TokenCounting } from "../../provider-dialect.ts";
import { modelName } from "./targets.ts";

/** On the Gemini API only a whole request in the request may have instructions and tools; Vertex takes them directly. */
export const countTokens: TokenCounting = {
  writeRequest: (body, target) => {
    const { contents, systemInstruction, tools, generationConfig } = body;
    if (target.capabilities["bare_token_counts"] === true)
      return { contents, systemInstruction, tools, generationConfig };
    return { generateContentRequest: { model: modelName(target.upstreamModel), ...body } };
  },
  countField: "totalTokens",
};
