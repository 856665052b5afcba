import type { BodyNames } from "../../contract/body-names.ts";
import { snakeCase } from "./proto-json.ts";

const both = (names: readonly string[]) => [...new Set(names.flatMap((name) => [name, snakeCase(name)]))];

export const bodyNames: BodyNames = {
  top: both([
    ...["model", "stream", "contents", "tools", "toolConfig", "systemInstruction"],
    ...["generationConfig", "safetySettings", "serviceTier", "cachedContent"],
  ]),
  nested: both([
    ...["role", "parts", "tools", "functionDeclarations", "maxOutputTokens", "candidateCount"],
    ...["responseModalities", "inlineData", "fileData", "fileUri", "mimeType"],
  ]),
  // Not `generationConfig`: Vertex AI has options there that choose another model.
  defined: both(["contents", "tools", "toolConfig", "systemInstruction"]),
  callers: both([
    ...["args", "response", "labels", "parametersJsonSchema"],
    ...["responseSchema", "responseJsonSchema", "_responseJsonSchema"],
  ]),
  stored: [],
  mentions: {
    top: [["tools", "tools"]],
    nested: both(["inlineData", "fileData"]).map((name) => [name, "media"] as const),
  },
};
