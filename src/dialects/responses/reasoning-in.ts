import type { Json, JsonObject } from "../../base/json.ts";
import { isCarrier, partSeparator, uncarry } from "../carrier.ts";
import type { IrReasoning, Seal } from "../ir.ts";
import { objectsOf, stringOf } from "../json-fields.ts";

/**
 * Our own carrier gives the reasoning back to the provider that made it. Anything else was sealed by
 * OpenAI, or by an open model that shows its reasoning in `content`.
 */
export function readReasoning(item: JsonObject): IrReasoning[] {
  const summary = textsOf(item["summary"]);
  const encrypted = stringOf(item["encrypted_content"]);
  if (encrypted !== null && isCarrier(encrypted)) {
    const carried = uncarry(encrypted, summary.join(partSeparator));
    return carried === null ? [] : [carried];
  }
  const content = textsOf(item["content"]);
  const raw = content.length > 0;
  const parts = raw ? content : summary;
  if (parts.length === 0 && encrypted === null) return [];
  return [{ type: "reasoning", parts, seal: sealOf(item, raw) }];
}

/** How OpenAI recognises its own reasoning when it comes back. */
export function sealOf(item: JsonObject, raw: boolean): Seal {
  return {
    maker: "openai",
    id: stringOf(item["id"]),
    encryptedContent: stringOf(item["encrypted_content"]),
    raw,
  };
}

function textsOf(parts: Json | undefined): string[] {
  return objectsOf(parts).flatMap((part) => stringOf(part["text"]) ?? []);
}
