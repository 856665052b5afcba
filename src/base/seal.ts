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

/** Null if it was sealed with another key, for another place, or was changed. */
export function unseal(sealed: Uint8Array, key: Uint8Array, context: string): Uint8Array | null {
  if (sealed.length < 1 + nonceBytes + tagBytes) return null;
  try {
    const opening = createDecipheriv(cipher, key, sealed.subarray(1, 1 + nonceBytes));
    opening.setAAD(Buffer.from(context)).setAuthTag(sealed.subarray(-tagBytes));
    return Buffer.concat([opening.update(sealed.subarray(1 + nonceBytes, -tagBytes)), opening.final()]);
  } catch {
    return null;
  }
}
