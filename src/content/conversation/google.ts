import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { fieldOf, repeated } from "../../base/proto-json.ts";
import { type GenAiPart, mediumOf, reasoningPart, resultPart, textIn, textPart } from "./part.ts";

/** The role of a content, as the other formats call it. */
export function googleRole(content: JsonObject): string {
  const role = textIn(content["role"]);
  if (role === "model") return "assistant";
  return role === "function" ? "tool" : role || "user";
}

/** The parts of a content of Google's form. */
export function googleParts(content: Json | undefined): readonly GenAiPart[] {
  return isObject(content) ? repeated(content["parts"]).flatMap(partsIn) : [];
}

function partsIn(part: Json): readonly GenAiPart[] {
  if (!isObject(part)) return [{ type: "other", name: "value", value: part }];
  const { text, thought } = part;
  if (typeof text === "string") return thought === true ? reasoningPart(text) : textPart(text);
  const call = fieldOf(part, "functionCall");
  if (isObject(call)) {
    const name = textIn(call["name"]);
    return [{ type: "tool_call", id: textIn(call["id"]) || null, name, arguments: call["args"] ?? null }];
  }
  const result = fieldOf(part, "functionResponse");
  if (isObject(result)) return [resultPart(result["id"] ?? result["name"], result["response"])];
  const medium = fieldOf(part, "inlineData") ?? fieldOf(part, "fileData") ?? null;
  const type = isObject(medium) ? textIn(fieldOf(medium, "mimeType")) : "";
  const read = isObject(medium) ? mediumOf(withAddress(medium), type || "file") : null;
  return [read ?? { type: "other", name: Object.keys(part)[0] ?? "value", value: part }];
}

/** An address is found by its name, as in the other formats. */
function withAddress(medium: JsonObject): JsonObject {
  const { fileUri, ...others } = medium;
  return fileUri === undefined ? medium : { ...others, file_uri: fileUri };
}
