import { hexDigit, noDigit } from "../../base/hex-digit.ts";
import { backslash, notJson, quote } from "./json-bytes.ts";

/** Texts have a line break or a quote now and then; what has none for so long is most likely a picture. */
const longestRun = 16 * 1024;

const letterU = 0x75;

/** By byte, whether it makes an escape together with the backslash before it. */
const escapable = new Uint8Array(256);
for (const byte of Buffer.from('"\\/bfnrt')) escapable[byte] = 1;

/** What is learned of a string while its end is looked for. */
export interface TextMeasure {
  /** Bytes that its escapes take beyond the text that they stand for. */
  escapeBytes: number;
}

/**
 * The index of the quote that closes the string opened at `open`, if it is a string as JSON wants it: without
 * control characters, and with no escapes but its own. `notJson` if not, and for encoded data, which the
 * parser is quicker with. The bytes must be UTF-8; `view` is a view of the same.
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
 * The first quote, backslash or control character, or where it gave up. Four bytes are looked at together:
 * a byte below a bound goes under zero when the bound is subtracted, which shows in its highest bit. What
 * it borrows then can only disturb the bytes above it, when there is something to find already. With its
 * second bit turned over, a quote comes next to the control characters, so that one bound is for all.
 */
function endOfRun(bytes: Uint8Array, view: DataView, from: number): number {
  const lastWord = Math.min(bytes.length - 4, from + longestRun);
  let at = from;
  while (at <= lastWord) {
    const word = view.getInt32(at, true);
    const turned = word ^ 0x02020202;
    const slashes = word ^ 0x5c5c5c5c;
    const found = (((turned - 0x21212121) | 0) & ~turned) | (((slashes - 0x01010101) | 0) & ~slashes);
    if ((found & 0x80808080) !== 0) break;
    at += 4;
  }
  const end = Math.min(at + 4, bytes.length);
  while (at < end && isPlain(bytes[at] as number)) at += 1;
  return at;
}

function isPlain(byte: number): boolean {
  return byte !== quote && byte !== backslash && byte >= 0x20;
}

/** How many bytes of text the escape at this backslash stands for. */
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

/** Half of a pair counts as half of the four bytes that a pair takes. */
function utf8Bytes(code: number): number {
  if (code < 0x80) return 1;
  return code < 0x800 || (code >= 0xd800 && code <= 0xdfff) ? 2 : 3;
}
