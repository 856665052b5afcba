import type { JsonObject } from "../../base/json.ts";
import { objectOf, stringOf } from "../json/json-fields.ts";

/** Google's extension of chat: a tool call has Gemini's signature in `extra_content.google.thought_signature`. */
export function signatureIn(call: JsonObject): string | null {
  return stringOf(objectOf(objectOf(call["extra_content"])?.["google"])?.["thought_signature"]);
}

export function addSignature(call: JsonObject, signature: string): void {
  call["extra_content"] = { google: { thought_signature: signature } };
}
