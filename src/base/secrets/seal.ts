import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { sharedBytes } from "../bytes.ts";

const cipher = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = 1 + nonceBytes;

/** What takes about a millisecond. */
const partBytes = 1024 * 1024;

/** What content is encrypted with, for use only in the place that `context` names. */
export interface Seal {
  readonly key: Uint8Array;
  readonly context: string;
  /** The first byte of what is sealed: it says how that was done. */
  readonly version: number;
}

/** The encrypted content in pieces, each encrypted when it is read. */
export function* sealing(
  pieces: Iterable<Uint8Array>,
  { key, context, version }: Seal,
): Generator<Uint8Array> {
  const nonce = randomBytes(nonceBytes);
  const encryption = createCipheriv(cipher, key, nonce).setAAD(Buffer.from(context));
  yield Buffer.of(version);
  yield nonce;
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += partBytes)
      yield encryption.update(piece.subarray(at, at + partBytes));
  }
  yield encryption.final();
  yield encryption.getAuthTag();
}

/**
 * Decrypts. Null if the key, the context or the version differs, or the bytes were changed. Yields after each part, so that
 * large content does not block the event loop. Large content is decrypted into shared memory, which all threads can read.
 */
export function* unsealing(
  sealed: Uint8Array,
  { key, context, version }: Seal,
): Generator<undefined, Uint8Array | null> {
  const length = sealed.length - headBytes - tagBytes;
  if (length < 0 || sealed[0] !== version) return null;
  const opening = createDecipheriv(cipher, key, sealed.subarray(1, headBytes));
  opening.setAAD(Buffer.from(context)).setAuthTag(sealed.subarray(-tagBytes));
  const content = length <= partBytes ? Buffer.alloc(length) : sharedBytes(length);
  for (let at = 0; at < length; at += partBytes) {
    if (at > 0) yield;
    const end = Math.min(at + partBytes, length);
    content.set(opening.update(sealed.subarray(headBytes + at, headBytes + end)), at);
  }
  try {
    opening.final();
    return content;
  } catch {
    return null;
  }
}

/** The sealed content as text. */
export function sealText(content: Uint8Array, seal: Seal): string {
  return Buffer.concat([...sealing([content], seal)]).toString("base64url");
}

/** Decoding ignores characters outside base64 and unused bits of the last one, so only the exact text that was written is accepted. */
export function unsealText(text: string, seal: Seal): Uint8Array | null {
  const sealed = Buffer.from(text, "base64url");
  if (sealed.toString("base64url") !== text) return null;
  const steps = unsealing(sealed, seal);
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}
