import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { sharedBytes } from "../bytes.ts";

const cipher = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = 1 + nonceBytes;

/** Encrypting this much takes about a millisecond. */
const partBytes = 1024 * 1024;

/** Encrypts content for the one purpose that `context` names. */
export interface Encryption {
  readonly key: Uint8Array;
  readonly context: string;
  /** The first byte of the encrypted content: how it was encrypted. */
  readonly version: number;
}

/** The encrypted content in pieces, each encrypted when it is read. */
export function* encrypting(
  pieces: Iterable<Uint8Array>,
  { key, context, version }: Encryption,
): Generator<Uint8Array> {
  const nonce = randomBytes(nonceBytes);
  const cipherText = createCipheriv(cipher, key, nonce).setAAD(Buffer.from(context));
  yield Buffer.of(version);
  yield nonce;
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += partBytes)
      yield cipherText.update(piece.subarray(at, at + partBytes));
  }
  yield cipherText.final();
  yield cipherText.getAuthTag();
}

/**
 * Decrypts. Null if the key, the context or the version differs, or the bytes were changed. Yields after each part, so that
 * large content does not block the event loop. Large content is decrypted into shared memory, which all threads can read.
 */
export function* decrypting(
  encrypted: Uint8Array,
  { key, context, version }: Encryption,
): Generator<undefined, Uint8Array | null> {
  const length = encrypted.length - headBytes - tagBytes;
  if (length < 0 || encrypted[0] !== version) return null;
  const opening = createDecipheriv(cipher, key, encrypted.subarray(1, headBytes));
  opening.setAAD(Buffer.from(context)).setAuthTag(encrypted.subarray(-tagBytes));
  const content = length <= partBytes ? Buffer.alloc(length) : sharedBytes(length);
  for (let at = 0; at < length; at += partBytes) {
    if (at > 0) yield;
    const end = Math.min(at + partBytes, length);
    content.set(opening.update(encrypted.subarray(headBytes + at, headBytes + end)), at);
  }
  try {
    opening.final();
    return content;
  } catch {
    return null;
  }
}

/** The encrypted content as text. */
export function encryptText(content: Uint8Array, encryption: Encryption): string {
  return Buffer.concat([...encrypting([content], encryption)]).toString("base64url");
}

/** Decoding ignores characters outside base64 and unused bits of the last one, so only the exact text that was written is accepted. */
export function decryptText(text: string, encryption: Encryption): Uint8Array | null {
  const encrypted = Buffer.from(text, "base64url");
  if (encrypted.toString("base64url") !== text) return null;
  const steps = decrypting(encrypted, encryption);
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}
