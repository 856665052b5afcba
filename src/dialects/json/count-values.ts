import { comma, endOfString, isEmpty, notJson, openBrace, openBracket, quote } from "./json-bytes.ts";
import type { TruncatedJson } from "./truncate-strings.ts";

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
      if (!isEmpty(bytes, at)) values += 1;
    }
  }
  return values;
}

/** Whether a body has more values than `most`. A truncated body has already been counted. */
export function hasMoreValues(bytes: Uint8Array, truncated: TruncatedJson | null, max: number): boolean {
  return (truncated?.valueCount ?? countValues(bytes, max)) > max;
}

/**
 * More than a real event of a stream or a real input of a tool has. Parsing them takes 30 ms if each is a new name, and a few
 * otherwise.
 */
export const maxParsedValues = 50_000;

/** How many values of a larger event are kept. */
export const maxKeptValues = 10_000;

/** Whether parsing a text would block the event loop for too long. */
export function hasTooManyValues(text: string): boolean {
  return hasMoreValuesThan(text, maxParsedValues);
}

/** A text too short for that many values is not counted. */
export function hasMoreValuesThan(text: string, max: number): boolean {
  if (text.length < max * bytesPerValue) return false;
  return countValues(Buffer.from(text), max) > max;
}
