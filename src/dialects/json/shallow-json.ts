import {
  closeBrace,
  closeBracket,
  comma,
  endOfString,
  notJson,
  openBrace,
  openBracket,
  quote,
} from "./json-bytes.ts";

/** Nothing that is read is nested more deeply. */
const mostLevels = 16;

/** With less, nothing is left of an event but its type. */
const fewestLevels = 2;

const cut = Buffer.from("null");

/**
 * A JSON text without what is nested deeply: null is in the place of objects and lists, so that at most `most` values are
 * left. Null if that would leave nothing of interest, or if the text is not JSON. Takes memory for what is left alone.
 */
export function shallowJson(bytes: Uint8Array, most: number): string | null {
  const levels = levelsWithin(bytes, most);
  return levels < fewestLevels ? null : withoutDeeper(bytes, levels);
}

/** How many levels have at most `most` values together. */
function levelsWithin(bytes: Uint8Array, most: number): number {
  const values = new Uint32Array(mostLevels + 1);
  let depth = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) {
      at = endOfString(bytes, at);
      if (at === notJson) return 0;
    } else if (byte === openBrace || byte === openBracket) {
      depth += 1;
      if (depth <= mostLevels) values[depth] = (values[depth] ?? 0) + 1;
    } else if (byte === comma) {
      if (depth <= mostLevels) values[depth] = (values[depth] ?? 0) + 1;
    } else if (byte === closeBrace || byte === closeBracket) depth -= 1;
  }
  let levels = 0;
  let left = most;
  for (; levels < mostLevels && left >= 0; levels += 1) left -= values[levels + 1] ?? 0;
  return left >= 0 ? levels : levels - 1;
}

function withoutDeeper(bytes: Uint8Array, levels: number): string {
  const kept: Uint8Array[] = [];
  let copied = 0;
  let depth = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) at = endOfString(bytes, at);
    else if (byte === openBrace || byte === openBracket) {
      depth += 1;
      if (depth === levels + 1) kept.push(bytes.subarray(copied, at), cut);
    } else if (byte === closeBrace || byte === closeBracket) {
      if (depth === levels + 1) copied = at + 1;
      depth -= 1;
    }
  }
  kept.push(bytes.subarray(copied));
  return Buffer.concat(kept).toString();
}
