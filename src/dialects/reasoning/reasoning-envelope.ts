import { isObject, type JsonObject, tryParse } from "../../base/json.ts";
import type { IrReasoning, ReasoningSignature } from "../ir/ir.ts";
import { objectsOf, stringOf } from "../json/json-fields.ts";

/**
 * A provider's reasoning inside an opaque field of a different dialect: the `signature` of a Messages thinking block, or the
 * `encrypted_content` of a Responses item. Clients replay these fields verbatim, so the provider gets its own
 * reasoning back unchanged. The prefix distinguishes an envelope from a vendor's own value, because neither vendor may
 * ever see the other's. The payload's name `seal` stays: clients hold envelopes of earlier versions.
 */
export const envelopeMark = "slu1.";

export function isReasoningEnvelope(text: string): boolean {
  return text.startsWith(envelopeMark);
}

/** For Responses, whose clients may rewrite the visible summary: the envelope contains the text as well. */
export function wrapReasoning(signature: ReasoningSignature, parts: readonly string[]): string {
  return encode({ seal: { ...signature }, parts: [...parts] });
}

/** For Messages, whose clients replay the visible text: the envelope only contains the lengths of its parts. */
export function wrapSignature(signature: ReasoningSignature, partLengths: readonly number[]): string {
  return encode(
    partLengths.length === 1
      ? { seal: { ...signature } }
      : { seal: { ...signature }, lengths: [...partLengths] },
  );
}

/** Separates the parts of a summary in a dialect that has a single text. */
export const partSeparator = "\n\n";

/** Null if the text is not an envelope, or is damaged: such reasoning is dropped. */
export function unwrapReasoning(text: string, visible: string): IrReasoning | null {
  if (!isReasoningEnvelope(text)) return null;
  const payload = tryParse(Buffer.from(text.slice(envelopeMark.length), "base64url").toString());
  if (!isObject(payload) || !isObject(payload["seal"])) return null;
  const signature = readSignature(payload["seal"]);
  return signature === null ? null : { type: "reasoning", parts: readParts(payload, visible), signature };
}

function encode(payload: JsonObject): string {
  return envelopeMark + Buffer.from(JSON.stringify(payload)).toString("base64url");
}

function readParts(payload: JsonObject, visible: string): string[] {
  const { parts, lengths } = payload;
  if (Array.isArray(parts)) return parts.filter((part) => typeof part === "string");
  if (!Array.isArray(lengths)) return [visible];
  const cut: string[] = [];
  let at = 0;
  for (const length of lengths) {
    if (typeof length !== "number") return [visible];
    cut.push(visible.slice(at, at + length));
    at += length + partSeparator.length;
  }
  return cut;
}

function readSignature(seal: JsonObject): ReasoningSignature | null {
  const { maker, signature, data, id, encryptedContent, raw, origin } = seal;
  if (maker === "chat") {
    const details = [...objectsOf(seal["details"])];
    return details.length === 0 ? { maker } : { maker, details };
  }
  if (maker === "anthropic" && typeof signature === "string") return { maker, signature };
  if (maker === "anthropic-redacted" && typeof data === "string") return { maker, data };
  if (maker === "google") return { maker, signature: stringOf(signature), origin: stringOf(origin) };
  if (maker !== "openai") return null;
  return {
    maker,
    id: typeof id === "string" ? id : null,
    encryptedContent: typeof encryptedContent === "string" ? encryptedContent : null,
    raw: raw === true,
  };
}
