import { isUtf8 } from "node:buffer";
import {
  closeBrace,
  closeBracket,
  colon,
  notJson,
  openBrace,
  openBracket,
  quote,
  skipSpace,
} from "./json-bytes.ts";
import { endOfText } from "./json-text.ts";

/**
 * A JSON text with its long strings cut short. Most of a long conversation is text that nobody here reads:
 * it passes through as it came. What is left of one with short turns is a seventh of the bytes, with every
 * name, number and shape of the whole, and parsing it costs a fifth.
 *
 * Strings are replaced by strings, so the whole is JSON exactly when the outline is and its cut strings
 * were; the latter is seen to here, everything else by the parser.
 */
export interface Outline {
  /** A view of memory that the next outline will use: parse it before anything is awaited. */
  readonly bytes: Uint8Array;
  /** How much more text, in bytes of UTF-8, the whole has. */
  readonly cutBytes: number;
  /** Where the objects and arrays that are the body's own members stand in the whole, in order. */
  readonly nested: readonly Span[];
  /** The members of all its objects; a name that stands twice counts twice. */
  readonly memberCount: number;
}

export interface Span {
  readonly start: number;
  /** The index after its last byte. */
  readonly end: number;
}

/** Below it nothing is gained, and what is translated has to be parsed whole anyway. */
const smallestBody = 8 * 1024;

/** Long enough to be worth it, and longer than any word that has a meaning in a dialect. */
const shortestCut = 64;

/** What is left of a long string: one character, because some strings must not be empty. */
const remainder = 0x7e;
export const cutText = String.fromCharCode(remainder);

/** So many bytes are cheaper to copy one by one than to call the native copy for. */
const nearby = 128;

const room = new Uint8Array(256 * 1024);

/**
 * Null where the body is better parsed whole: when it is small, mostly structure or mostly pictures, and
 * when something is wrong with it, so that there is one place that says what. The body's own strings stay,
 * the model's name among them.
 */
export function outlineOf(bytes: Uint8Array, maxDepth: number): Outline | null {
  if (bytes.length < smallestBody || !isUtf8(bytes)) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const text = { escapeBytes: 0 };
  const nested: Span[] = [];
  let nestedStart = 0;
  let depth = 0;
  let copied = 0;
  let written = 0;
  let cutBytes = 0;
  let memberCount = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) {
      const open = at;
      at = endOfText(bytes, view, open, text);
      if (at === notJson) return null;
      const length = at - open - 1;
      if (length < shortestCut || depth < 2 || isName(bytes, at)) continue;
      written = keep(bytes, copied, open + 1, written);
      if (written >= room.length) return null;
      room[written] = remainder;
      written += 1;
      copied = at;
      cutBytes += length - text.escapeBytes - 1;
    } else if (byte === openBrace || byte === openBracket) {
      depth += 1;
      if (depth === 2) nestedStart = at;
      if (depth > maxDepth) return null;
    } else if (byte === closeBrace || byte === closeBracket) {
      depth -= 1;
      if (depth === 1) nested.push({ start: nestedStart, end: at + 1 });
    } else if (byte === colon) {
      memberCount += 1;
    }
  }
  written = keep(bytes, copied, bytes.length, written);
  if (written > room.length) return null;
  return { bytes: room.subarray(0, written), cutBytes, nested, memberCount };
}

/** Whether the string that ends here names a member. Names stay, so that twice the same is seen. */
function isName(bytes: Uint8Array, closedAt: number): boolean {
  return bytes[skipSpace(bytes, closedAt + 1)] === colon;
}

/** Copies a part of the body behind what is there; past the room's end nothing is written, only counted. */
function keep(bytes: Uint8Array, from: number, to: number, written: number): number {
  const end = written + to - from;
  if (to - from > nearby) {
    if (end <= room.length) room.set(bytes.subarray(from, to), written);
    return end;
  }
  for (let at = from; at < to; at += 1) room[written + at - from] = bytes[at] as number;
  return end;
}
