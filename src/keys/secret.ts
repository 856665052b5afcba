import { mintSecret } from "../base/secrets/mint-secret.ts";

/**
 * A key is `slu_`, 30 random base62 characters (178 bits) and 6 characters of checksum. The checksum catches
 * typing errors and made-up strings before any look-up, and lets secret scanners recognise a real key.
 */
const keyStart = "slu_";
const randomLength = 30;
const checksumLength = 6;
const bodyLength = keyStart.length + randomLength;
const keyLength = bodyLength + checksumLength;
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Length of a key's visible prefix: enough to distinguish keys, too little to guess one. */
export const prefixLength = 12;

export function newSecret(): string {
  const body = keyStart + mintSecret(randomLength);
  return body + checksumOf(body);
}

/** All refresh tokens of a sign-in have the same family, so that a former one is recognized. */
const familyLength = 30;
const refreshForm = /^slr_[0-9A-Za-z]{60}$/;

export function newFamily(): string {
  return `slr_${mintSecret(familyLength)}`;
}

export function newRefreshToken(family: string): string {
  return family + mintSecret(randomLength);
}

/** Null for what is not a refresh token. */
export function familyOf(refreshToken: string): string | null {
  return refreshForm.test(refreshToken) ? refreshToken.slice(0, keyStart.length + familyLength) : null;
}

/** Checks only length and prefix: enough to decide whether a lookup is worthwhile. */
export function looksLikeKey(text: string): boolean {
  return text.length === keyLength && text.startsWith(keyStart);
}

/** Whether the text has the form of a key and a valid checksum. */
export function hasKeyForm(text: string): boolean {
  return looksLikeKey(text) && text.endsWith(checksumOf(text.slice(0, bodyLength)));
}

function checksumOf(body: string): string {
  let rest = Bun.hash.crc32(body);
  let text = "";
  for (let position = 0; position < checksumLength; position += 1) {
    text = alphabet.charAt(rest % alphabet.length) + text;
    rest = Math.floor(rest / alphabet.length);
  }
  return text;
}

const digest = Buffer.alloc(32);

/**
 * Keys are stored and found by this hash. A plain SHA-256 is enough: a key has 178 random bits, so it cannot be
 * guessed, and a slow hash would only slow down every request.
 */
export function hashSecret(secret: string): string {
  Bun.SHA256.hash(secret, digest);
  return digest.toString("hex");
}
