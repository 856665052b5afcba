import { isObject, type Json, type JsonObject, tryParse } from "../../base/json.ts";
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

/**
 * A conversation that began on another provider holds that provider's reasoning in envelopes. Anthropic and OpenAI would
 * reject the whole conversation because of a signature that is not theirs, so it is removed from requests that pass through.
 */

const mark = Buffer.from(`"${envelopeMark}`);

/** Whether a body may hold an envelope. */
export function mayHoldEnvelope(bytes: Uint8Array): boolean {
  return holds(bytes, mark);
}

export function holds(bytes: Uint8Array, text: Buffer): boolean {
  // Called on the bytes as they are: to make a Buffer of a small array, the runtime first makes a buffer for it (1.7 µs).
  return Buffer.prototype.indexOf.call(bytes, text) !== -1;
}

/** Whether a block or an item is a compacted conversation. */
export function isCompacted({ type }: JsonObject): boolean {
  return typeof type === "string" && type.startsWith("compaction");
}

/** Whether a block or item of this type has any signature, in the field where its vendor puts it. */
export function hasSignature(value: Json, type: string, field: string): boolean {
  return isObject(value) && value["type"] === type && (stringOf(value[field]) ?? "") !== "";
}

/** Whether a block or item of this type has an envelope in the field where its vendor puts the signature. */
export function isForeignReasoning(value: Json, type: string, field: string): boolean {
  return isObject(value) && value["type"] === type && isReasoningEnvelope(stringOf(value[field]) ?? "");
}
