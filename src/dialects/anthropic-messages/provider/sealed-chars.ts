import { isObject, type Json } from "../../../base/json.ts";
import { stringOf } from "../../json/json-fields.ts";

/** The length of the reasoning in a block or a delta that only Anthropic can read: hidden altogether, or in its signature. */
export function sealedChars(block: Json | undefined): number {
  if (!isObject(block)) return 0;
  const { type, signature, data } = block;
  const hidden = type === "redacted_thinking" ? (stringOf(data)?.length ?? 0) : 0;
  return hidden + (stringOf(signature)?.length ?? 0);
}
