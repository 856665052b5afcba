import {
  closeBrace,
  closeBracket,
  comma,
  endOfString,
  notJson,
  openBrace,
  openBracket,
  quote,
  skipSpace,
} from "./json-bytes.ts";

/** The shortest value: a digit and a comma. */
const bytesPerValue = 2;

/**
 * Counts the list items and object members of a JSON text, all levels together, and stops above `enough`. A text that
 * is too short to have that many is not scanned.
 */
export function countValues(bytes: Uint8Array, enough: number): number {
  if (bytes.length < enough * bytesPerValue) return 0;
  let values = 0;
  for (let at = 0; at < bytes.length && values <= enough; at += 1) {
    const byte = bytes[at];
    if (byte === quote) {
      at = endOfString(bytes, at);
      if (at === notJson) break;
    } else if (byte === comma) {
      values += 1;
    } else if (byte === openBrace || byte === openBracket) {
      const next = bytes[skipSpace(bytes, at + 1)];
      if (next !== closeBrace && next !== closeBracket) values += 1;
    }
  }
  return values;
}
