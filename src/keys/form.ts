import { randomBase62 } from "../base/id.ts";

/**
 * A key is `slu_`, 30 random base62 characters (178 bits) and 6 characters of checksum. The checksum catches
 * typing errors and made-up strings before any look-up, and lets secret scanners know a real key when they see it.
 */
const keyStart = "slu_";
const randomLength = 30;
const checksumLength = 6;
const bodyLength = keyStart.length + randomLength;
const keyLength = bodyLength + checksumLength;
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** So much of a key may be shown: enough to tell keys apart, too little to guess one. */
export const prefixLength = 12;

export function newSecret(): string {
  const body = keyStart + randomBase62(randomLength);
  return body + checksumOf(body);
}

/** Whether this could be a key at all. */
export function hasKeyForm(text: string): boolean {
  if (text.length !== keyLength || !text.startsWith(keyStart)) return false;
  return checksumOf(text.slice(0, bodyLength)) === text.slice(bodyLength);
}

function checksumOf(body: string): string {
  let rest = Bun.hash.crc32(body);
  let text = "";
  for (let position = 0; position < checksumLength; position += 1) {
    text = alphabet.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}
