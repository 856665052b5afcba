import { isObject, type Json, type JsonObject } from "../base/json.ts";
import type { ProviderDialect } from "./provider-dialect.ts";

/** Names whose values the model wrote; ids, types and the like are the provider's own. */
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

/** All that the model has written in a whole answer, for counting it where the provider has not. */
export function producedText(
  { answerField }: Pick<ProviderDialect, "answerField">,
  body: JsonObject,
): string {
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
