import { hexDigit, noDigit } from "../../base/bytes.ts";
import { backslash, notJson, quote } from "./json-bytes.ts";

/** Text has a line break or a quote now and then. A longer run without one is most likely an image. */
const maxRunLength = 16 * 1024;

const letterU = 0x75;

/** Indexed by byte: 1 if it forms an escape with the backslash before it. */
const escapable = new Uint8Array(256);
for (const byte of Buffer.from('"\\/bfnrt')) escapable[byte] = 1;

/** Filled in while the end of a string is searched for. */
export interface TextMeasure {
  /** Number of bytes by which the escapes are longer than the text they encode. */
  escapeBytes: number;
}

/**
 * The index of the quote that closes the string opened at `open`, if it is a valid JSON string: no control characters
 * and only JSON's escapes. Else `notJson`; also for long encoded data, which the parser handles faster. The bytes must
 * be UTF-8, and `view` must be a view of them.
 */
export function endOfText(bytes: Uint8Array, view: DataView, open: number, measure: TextMeasure): number {
  measure.escapeBytes = 0;
  let at = open + 1;
  for (;;) {
    at = endOfRun(bytes, view, at);
    if (bytes[at] === quote) return at;
    if (bytes[at] !== backslash) return notJson;
    const shown = escapedAt(bytes, at);
    if (shown === notJson) return notJson;
    const length = bytes[at + 1] === letterU ? 6 : 2;
    measure.escapeBytes += length - shown;
    at += length;
  }
}

/**
 * The index of the first quote, backslash or control character, or where the search gave up. Four bytes are tested at
 * once: subtracting a bound makes a byte below it negative, which sets its highest bit. The borrow can only affect
 * higher bytes, and only after a match. Flipping the second bit puts the quote next to the control characters, so that
 * one bound covers both.
 */
function endOfRun(bytes: Uint8Array, view: DataView, from: number): number {
  const lastWord = Math.min(bytes.length - 4, from + maxRunLength);
  let at = from;
  while (at <= lastWord) {
    const word = view.getInt32(at, true);
    const turned = word ^ 0x02020202;
    const slashes = word ^ 0x5c5c5c5c;
    const below = (((turned - 0x21212121) | 0) & ~turned) | (((slashes - 0x01010101) | 0) & ~slashes);
    const found = below & 0x80808080;
    if (found !== 0) return at + ((31 - Math.clz32(found & -found)) >> 3);
    at += 4;
  }
  const end = Math.min(at + 4, bytes.length);
  // The cast: `at` is below the length.
  while (at < end && isPlain(bytes[at] as number)) at += 1;
  return at;
}

function isPlain(byte: number): boolean {
  return byte !== quote && byte !== backslash && byte >= 0x20;
}

/** Number of bytes of text that the escape at this backslash encodes. */
function escapedAt(bytes: Uint8Array, at: number): number {
  const letter = bytes[at + 1] ?? 0;
  if (escapable[letter] === 1) return 1;
  const code = letter === letterU ? hexAt(bytes, at + 2) : notJson;
  return code === notJson ? notJson : utf8Bytes(code);
}

/** Four digits as a number. */
function hexAt(bytes: Uint8Array, from: number): number {
  let code = 0;
  for (let at = from; at < from + 4; at += 1) {
    const digit = hexDigit(bytes[at] ?? 0);
    if (digit === noDigit) return notJson;
    code = code * 16 + digit;
  }
  return code;
}

/** A surrogate counts as half of the four bytes that its pair takes. */
function utf8Bytes(code: number): number {
  if (code < 0x80) return 1;
  return code < 0x800 || (code >= 0xd800 && code <= 0xdfff) ? 2 : 3;
}
