import { tryParse } from "../../base/json.ts";
import { stringOf } from "./json-fields.ts";

/** Reads and writes the inside of a JSON string, without its quotes, where a document is not parsed as a whole. */

/** Longer texts are left to the parser, which limits the length of an event. */
const maxTextChars = 64 * 1024;

const quote = 34;
const backslash = 92;
const firstPrintable = 32;

/** The index of the quote that closes the string; -1 if there is none or a control character comes first. */
export function closingQuote(text: string, from: number): number {
  const limit = Math.min(text.length, from + maxTextChars);
  for (let at = from; at < limit; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) return at;
    if (code < firstPrintable) return -1;
    if (code === backslash) at += 1;
  }
  return -1;
}

/** Like `closingQuote`, for a string in which nothing is escaped; -1 if something is. */
export function plainClosingQuote(text: string, from: number): number {
  const { length } = text;
  for (let at = from; at < length; at += 1) {
    const code = text.charCodeAt(at);
    if (code > backslash) continue;
    if (code === quote) return at;
    if (code === backslash || code < firstPrintable) return -1;
  }
  return -1;
}

export function escapeText(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** Null if it is not valid inside a JSON string. */
export function unescapeText(inside: string): string | null {
  return stringOf(tryParse(`"${inside}"`));
}
