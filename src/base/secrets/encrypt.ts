import { createCipheriv, createDecipheriv, type DecipherGCM, randomBytes } from "node:crypto";
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

/** Decrypts content that is read in parts. */
export class PartDecryption {
  readonly #encryption: Encryption;
  #opening: DecipherGCM | null = null;
  /** Read, and not decrypted: the head until it is whole, and then what may be the tag. */
  #rest: Uint8Array = new Uint8Array();
  #isOurs = true;

  constructor(encryption: Encryption) {
    this.#encryption = encryption;
  }

  /** Content that may still turn out to be another: `isWhole` knows at the end. */
  push(part: Uint8Array): Uint8Array {
    const bytes = Buffer.concat([this.#rest, part]);
    if (this.#opening === null && bytes.length < headBytes) {
      this.#rest = bytes;
      return new Uint8Array();
    }
    const start = this.#opening === null ? headBytes : 0;
    this.#opening ??= this.#begin(bytes);
    const end = Math.max(start, bytes.length - tagBytes);
    this.#rest = Buffer.from(bytes.subarray(end));
    return this.#opening.update(bytes.subarray(start, end));
  }

  /** Call it after the last part. False if the key, the context or the version differs, or the bytes were changed. */
  isWhole(): boolean {
    if (this.#opening === null || !this.#isOurs || this.#rest.length !== tagBytes) return false;
    try {
      this.#opening.setAuthTag(this.#rest).final();
      return true;
    } catch {
      return false;
    }
  }

  #begin(bytes: Uint8Array): DecipherGCM {
    const { key, context, version } = this.#encryption;
    this.#isOurs = bytes[0] === version;
    return createDecipheriv(cipher, key, bytes.subarray(1, headBytes)).setAAD(Buffer.from(context));
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
