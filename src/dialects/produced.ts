import { isObject, type Json, type JsonObject } from "../base/json.ts";
import type { Passthrough } from "./provider-dialect.ts";

/** Fields whose values the model wrote, unlike ids and types. */
const written = new Set([
  "content",
  "text",
  "thinking",
  "reasoning_content",
  "reasoning",
  "refusal",
  "name",
  "arguments",
  "input",
]);

/** All text that the model wrote in a whole answer, for counting it if the provider reported no usage. */
export function producedText({ answerField }: Pick<Passthrough, "answerField">, body: JsonObject): string {
  return textIn(body[answerField]);
}

function textIn(value: Json | undefined): string {
  if (Array.isArray(value)) return value.map(textIn).join("");
  if (!isObject(value)) return "";
  let text = "";
  for (const [name, inner] of Object.entries(value)) {
    if (typeof inner === "string") text += written.has(name) ? inner : "";
    else if (name === "input" && isObject(inner)) text += JSON.stringify(inner);
    else text += textIn(inner);
  }
  return text;
}
