import { isObject, type JsonObject } from "../../base/json.ts";
import type { IrReasoning, Seal } from "../ir/ir.ts";

/**
 * Reasoning of one provider inside the opaque field of another dialect: the `signature` of a Messages
 * thinking block, the `encrypted_content` of a Responses item. Clients replay these fields verbatim, so the
 * provider gets its own reasoning back bit by bit. The prefix tells ours from a vendor's own, because
 * neither vendor may ever see the other's.
 */
export const carrierMark = "slu1.";

export function isCarrier(text: string): boolean {
  return text.startsWith(carrierMark);
}

/** For Responses, whose clients may rewrite the visible summary: the carrier holds the text as well. */
export function carryWhole(seal: Seal, parts: readonly string[]): string {
  return encode({ seal: { ...seal }, parts: [...parts] });
}

/** For Messages, whose clients replay the visible text: the carrier only knows where its parts end. */
export function carrySeal(seal: Seal, partLengths: readonly number[]): string {
  return encode(
    partLengths.length === 1 ? { seal: { ...seal } } : { seal: { ...seal }, lengths: [...partLengths] },
  );
}

/** What stands between the parts of a summary in a dialect that has one text only. */
export const partSeparator = "\n\n";

/** Null when the text is no carrier, or a damaged one: such reasoning is dropped, never guessed at. */
export function uncarry(text: string, visible: string): IrReasoning | null {
  if (!isCarrier(text)) return null;
  try {
    const payload: unknown = JSON.parse(Buffer.from(text.slice(carrierMark.length), "base64url").toString());
    if (!isObject(payload) || !isObject(payload["seal"])) return null;
    const seal = readSeal(payload["seal"]);
    return seal === null ? null : { type: "reasoning", parts: readParts(payload, visible), seal };
  } catch {
    return null;
  }
}

function encode(payload: JsonObject): string {
  return carrierMark + Buffer.from(JSON.stringify(payload)).toString("base64url");
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

function readSeal(seal: JsonObject): Seal | null {
  const { maker, signature, data, id, encryptedContent, raw } = seal;
  if (maker === "chat") return { maker };
  if (maker === "anthropic" && typeof signature === "string") return { maker, signature };
  if (maker === "anthropic-redacted" && typeof data === "string") return { maker, data };
  if (maker !== "openai") return null;
  return {
    maker,
    id: typeof id === "string" ? id : null,
    encryptedContent: typeof encryptedContent === "string" ? encryptedContent : null,
    raw: raw === true,
  };
}
