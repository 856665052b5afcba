import type { JsonObject } from "../../base/json.ts";
import type { WriterContext } from "../contract/client-dialect.ts";
import type { IrReasoning, ReasoningSignature } from "../ir/ir.ts";
import { isZero, nonEmpty, objectOf, stringOf } from "../json/json-fields.ts";
import { isReasoningEnvelope, unwrapReasoning, wrapSignature } from "../reasoning/reasoning-envelope.ts";

/** Google's extension of chat: a tool call has Gemini's signature in `extra_content.google.thought_signature`. */
export function signatureIn(call: JsonObject): string | null {
  return stringOf(objectOf(objectOf(call["extra_content"])?.["google"])?.["thought_signature"]);
}

export function addSignature(call: JsonObject, signature: string): void {
  call["extra_content"] = { google: { thought_signature: signature } };
}

/** The signature as the client gets it: in an envelope that also names the place where it is valid. Null if there is none. */
export function signatureFor(
  signature: ReasoningSignature | null,
  { keepsSignatures }: WriterContext,
): string | null {
  if (signature?.maker !== "google" || signature.signature === null) return null;
  return keepsSignatures === true ? signature.signature : wrapSignature(signature, [0]);
}

/** The reasoning that holds a replayed call's signature. One that never was in an envelope is of unknown origin. */
export function readCallSignature(call: JsonObject): IrReasoning[] {
  const signature = signatureIn(call);
  if (signature === null) return [];
  if (!isReasoningEnvelope(signature)) {
    return [{ type: "reasoning", parts: [], signature: { maker: "google", signature, origin: null } }];
  }
  const reasoning = unwrapReasoning(signature, "");
  return reasoning === null ? [] : [{ ...reasoning, parts: [] }];
}

/**
 * The custom tool in a call, a fragment of one or a choice; null if it is about a function. Servers in Go write both,
 * with empty values in the unused one, so the one with a name counts, or else the one that is not empty.
 */
export function customPart(part: JsonObject): JsonObject | null {
  const custom = objectOf(part["custom"]);
  const called = objectOf(part["function"]);
  if (custom === null || called === null) return custom;
  if (isZero(called)) return isZero(custom) && part["type"] !== "custom" ? null : custom;
  return nonEmpty(called["name"]) !== null || isZero(custom) ? null : custom;
}
