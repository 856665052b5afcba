import { isUtf8 } from "node:buffer";
import { invalidRequest } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import {
  closeBrace,
  closeBracket,
  colon,
  comma,
  isEmpty,
  notJson,
  openBrace,
  openBracket,
  quote,
  skipSpace,
} from "./json-bytes.ts";
import { brokenJson, type JsonSpans, maxDepth, type Span, scanTopLevel } from "./json-spans.ts";
import { endOfText } from "./json-text.ts";

/** A parsed body: values to read, and the positions in its bytes that can be patched (patch.ts). */
export interface ParsedBody {
  /** The body; its long strings may be truncated. */
  readonly truncated: JsonObject;
  /** Number of bytes of text that were cut; 0 if nothing was truncated. */
  readonly cutBytes: number;
  readonly spans: JsonSpans;
  /** Members of all objects, at every level. A duplicate name counts twice. */
  readonly memberCount: number;
}

/** A byte-order mark is kept, so that it is rejected as invalid JSON: a provider that gets these bytes may reject it too. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Throws `invalid_request` if the body is not a JSON object, not UTF-8, nested too deeply, or has a governed name
 * twice. The bytes are scanned before they are parsed, because parsing millions of open brackets takes
 * seconds. Names like `__proto__` become plain fields.
 */
export function parseBody(bytes: Uint8Array, truncated = truncateBody(bytes)): ParsedBody {
  if (bytes.length === 0) throw invalidRequest("The request body is empty. Send a JSON object.");
  if (truncated === null) {
    const tally = { members: 0 };
    const spans = scanTopLevel(bytes, undefined, tally);
    const memberCount = spans.memberCount + tally.members;
    return { truncated: parseWhole(bytes), cutBytes: 0, spans, memberCount };
  }
  const { cutBytes, nested, memberCount } = truncated;
  const spans = scanTopLevel(bytes, nested);
  return { truncated: parseWhole(truncated.bytes), cutBytes, spans, memberCount };
}

/** The first step of parsing, for callers that check the body's structure first. */
export function truncateBody(bytes: Uint8Array): TruncatedJson | null {
  return truncateStrings(bytes, maxDepth);
}

/** Parses without truncating. `scanTopLevel` has seen an opening brace, so a successful parse returns an object. */
export function parseWhole(bytes: Uint8Array): JsonObject {
  const text = decodeUtf8(bytes);
  try {
    return JSON.parse(text);
  } catch {
    throw brokenJson();
  }
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw invalidRequest("The request body is not valid UTF-8.");
  }
}

/**
 * A JSON text with its long strings truncated. Most of a long conversation is text that the gateway only forwards.
 * Without it, a conversation of short turns shrinks to a seventh of its bytes, keeps every name, number and shape,
 * and costs a fifth to parse.
 *
 * A string is always replaced by a string. So the original is valid JSON if and only if the truncated text is and the
 * removed strings were. The removed strings are checked here, the rest by the parser.
 */
export interface TruncatedJson {
  /** A view of a shared buffer that the next call overwrites: parse it before any await. */
  readonly bytes: Uint8Array;
  /** Bytes of UTF-8 text that the original has beyond this. */
  readonly cutBytes: number;
  /** Positions in the original of the objects and arrays that are direct members of the body, in order. */
  readonly nested: readonly Span[];
  /** Members of all objects, at every level. A duplicate name counts twice. */
  readonly memberCount: number;
  /** Members and list items, as `countValues` counts them. */
  readonly valueCount: number;
}

/** Truncating a smaller body saves nothing, and a translated one has to be parsed completely anyway. */
const smallestBody = 8 * 1024;

/** Longer than any string that has a meaning in a dialect. */
const shortestCut = 64;

/** Replaces a long string. One character, because schemas require some strings to be non-empty. */
const remainder = 0x7e;
export const cutText = String.fromCharCode(remainder);

/** Up to this many bytes, a loop is faster than a native copy. */
const nearby = 128;

const room = new Uint8Array(256 * 1024);

/**
 * Null if the body should be parsed whole: it is small, mostly structure or mostly images, or it is invalid, so that
 * errors are reported in one place. Strings of the body's two outermost levels, such as the
 * model's name and the user's id, are kept.
 */
export function truncateStrings(bytes: Uint8Array, maxDepth: number): TruncatedJson | null {
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
  let valueCount = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) {
      const open = at;
      at = endOfText(bytes, view, open, text);
      if (at === notJson) return null;
      const length = at - open - 1;
      if (length < shortestCut || depth < 3 || isName(bytes, at)) continue;
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
      if (!isEmpty(bytes, at)) valueCount += 1;
    } else if (byte === closeBrace || byte === closeBracket) {
      depth -= 1;
      if (depth === 1) nested.push({ start: nestedStart, end: at + 1 });
    } else if (byte === colon) {
      memberCount += 1;
    } else if (byte === comma) {
      valueCount += 1;
    }
  }
  written = keep(bytes, copied, bytes.length, written);
  if (written > room.length) return null;
  return { bytes: room.subarray(0, written), cutBytes, nested, memberCount, valueCount };
}

/** Whether the string that ends here is a member's name. Names are kept, so that duplicates are found. */
function isName(bytes: Uint8Array, closedAt: number): boolean {
  return bytes[skipSpace(bytes, closedAt + 1)] === colon;
}

/** Appends a part of the body to `room`. What does not fit is counted but not written. */
function keep(bytes: Uint8Array, from: number, to: number, written: number): number {
  const end = written + to - from;
  if (to - from > nearby) {
    if (end <= room.length) room.set(bytes.subarray(from, to), written);
    return end;
  }
  // The cast: `at` is below the body's length.
  for (let at = from; at < to; at += 1) room[written + at - from] = bytes[at] as number;
  return end;
}
