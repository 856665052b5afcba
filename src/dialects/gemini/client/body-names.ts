import { spellings } from "../../../base/proto-json.ts";
import type { BodyNames } from "../../contract/body-names.ts";

export const bodyNames: BodyNames = {
  top: spellings([
    ...["model", "stream", "contents", "tools", "toolConfig", "systemInstruction"],
    ...["generationConfig", "safetySettings", "serviceTier", "cachedContent"],
  ]),
  nested: spellings([
    ...["role", "parts", "tools", "functionDeclarations", "maxOutputTokens", "candidateCount"],
    ...["responseModalities", "inlineData", "fileData", "fileUri", "mimeType"],
  ]),
  // Not `generationConfig`: Vertex AI has options there that choose another model.
  defined: spellings(["contents", "tools", "toolConfig", "systemInstruction"]),
  callers: spellings([
    ...["args", "response", "labels", "parametersJsonSchema"],
    ...["responseSchema", "responseJsonSchema", "_responseJsonSchema"],
  ]),
  stored: [],
  mentions: {
    top: [["tools", "tools"]],
    nested: spellings(["inlineData", "fileData"]).map((name) => [name, "media"] as const),
  },
};
