import type { Json, JsonObject } from "../../base/json.ts";
import type { IrReasoning, ReasoningSignature } from "../ir/ir.ts";
import { objectsOf, stringOf } from "../json/json-fields.ts";
import { isReasoningEnvelope, partSeparator, unwrapReasoning } from "../reasoning/reasoning-envelope.ts";

/** Reads reasoning that a client replays; an envelope is unwrapped for the provider that made it. */
export function readReplayedReasoning(item: JsonObject): IrReasoning[] {
  const encrypted = stringOf(item["encrypted_content"]);
  if (encrypted === null || !isReasoningEnvelope(encrypted)) return readReasoning(item);
  const carried = unwrapReasoning(encrypted, textsOf(item["summary"]).join(partSeparator));
  return carried === null ? [] : [carried];
}

/**
 * Reads a provider's reasoning. Its signature stays unchanged, even if it looks like an envelope: the provider may be
 * another Sluice. Open models have their reasoning in `content`.
 */
export function readReasoning(item: JsonObject): IrReasoning[] {
  const content = textsOf(item["content"]);
  const raw = content.length > 0;
  const parts = raw ? content : textsOf(item["summary"]);
  const signature = signatureOf(item, raw);
  return parts.length === 0 && signature.encryptedContent === null
    ? []
    : [{ type: "reasoning", parts, signature }];
}

/** The signature that lets OpenAI accept its own reasoning when it is replayed. */
export function signatureOf(item: JsonObject, raw: boolean): ReasoningSignature & { maker: "openai" } {
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

export function summaryPart(text: string): JsonObject {
  return { type: "summary_text", text };
}
