import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

const cipher = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;

/** Encrypts with the key, for use only in the place that `context` names. The first byte says how it is done. */
export function seal(content: Uint8Array, key: Uint8Array, context: string, version: number): Uint8Array {
  const nonce = randomBytes(nonceBytes);
  const sealing = createCipheriv(cipher, key, nonce).setAAD(Buffer.from(context));
  const text = [sealing.update(content), sealing.final()];
  return Buffer.concat([Buffer.of(version), nonce, ...text, sealing.getAuthTag()]);
}

/** Null if it was sealed with another key, for another place, in another way, or was changed. */
export function unseal(
  sealed: Uint8Array,
  key: Uint8Array,
  context: string,
  version: number,
): Uint8Array | null {
  if (sealed.length < 1 + nonceBytes + tagBytes || sealed[0] !== version) return null;
  try {
    const opening = createDecipheriv(cipher, key, sealed.subarray(1, 1 + nonceBytes));
    opening.setAAD(Buffer.from(context)).setAuthTag(sealed.subarray(-tagBytes));
    return Buffer.concat([opening.update(sealed.subarray(1 + nonceBytes, -tagBytes)), opening.final()]);
  } catch {
    return null;
  }
}

/** The same as text. */
export function sealText(content: Uint8Array, key: Uint8Array, context: string, version: number): string {
  return Buffer.from(seal(content, key, context, version)).toString("base64url");
}

/** Decoding skips what is no base64, and bits that the last character does not need: only the text that was written is read. */
export function unsealText(
  text: string,
  key: Uint8Array,
  context: string,
  version: number,
): Uint8Array | null {
  const sealed = Buffer.from(text, "base64url");
  return sealed.toString("base64url") === text ? unseal(sealed, key, context, version) : null;
}
