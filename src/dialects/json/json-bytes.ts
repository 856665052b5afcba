/** The bytes of JSON's structure. Everything else is in a string, or is a number, a literal or white space. */
export const quote = 0x22;
export const backslash = 0x5c;
export const openBrace = 0x7b;
export const closeBrace = 0x7d;
export const openBracket = 0x5b;
export const closeBracket = 0x5d;
export const comma = 0x2c;
export const colon = 0x3a;

/** Returned instead of an index. */
export const notJson = -1;
export const tooDeep = -2;

/** Up to this many bytes, a loop is faster than a native search. */
const nearby = 24;

/**
 * The index of the quote that closes the string opened at `open`, or `notJson` if it is never closed.
 * Names are short, and quotes in code are close together, so it first loops over the nearby bytes. Texts are long, so it
 * then jumps from quote to quote by native search.
 */
export function endOfString(bytes: Uint8Array, open: number): number {
  let at = open + 1;
  for (;;) {
    const near = Math.min(at + nearby, bytes.length);
    while (at < near) {
      const byte = bytes[at];
      if (byte === quote) return at;
      at += byte === backslash ? 2 : 1;
    }
    const next = bytes.indexOf(quote, at);
    if (next === -1) return notJson;
    if (!isEscaped(bytes, at, next)) return next;
    at = next + 1;
  }
}

/** A quote is escaped if an odd number of backslashes precedes it. `from` is never the second byte of an escape. */
function isEscaped(bytes: Uint8Array, from: number, at: number): boolean {
  let first = at;
  while (first > from && bytes[first - 1] === backslash) first -= 1;
  return (at - first) % 2 === 1;
}

/** Counts the members of the objects that are skipped. */
export interface MemberTally {
  members: number;
}

/**
 * The index after the value that starts at `start`, or `notJson`, or `tooDeep`. It checks no more than it needs to,
 * because the bytes are parsed as well.
 */
export function skipValue(bytes: Uint8Array, start: number, levelsLeft: number, tally: MemberTally): number {
  const first = bytes[start];
  if (first === quote) {
    const end = endOfString(bytes, start);
    return end === -1 ? notJson : end + 1;
  }
  if (first === openBrace || first === openBracket) return skipNested(bytes, start, levelsLeft, tally);
  let at = start;
  // The cast: `at` is below the length.
  while (at < bytes.length && isScalarByte(bytes[at] as number)) at += 1;
  return at === start ? notJson : at;
}

function skipNested(bytes: Uint8Array, start: number, levelsLeft: number, tally: MemberTally): number {
  let depth = 0;
  for (let at = start; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) {
      at = endOfString(bytes, at);
      if (at === -1) return notJson;
    } else if (byte === openBrace || byte === openBracket) {
      depth += 1;
      if (depth > levelsLeft) return tooDeep;
    } else if (byte === closeBrace || byte === closeBracket) {
      depth -= 1;
      if (depth === 0) return at + 1;
    } else if (byte === colon) {
      tally.members += 1;
    }
  }
  return notJson;
}

/** A byte of a number or a literal. */
function isScalarByte(byte: number): boolean {
  return byte > 0x20 && byte !== comma && byte !== closeBrace && byte !== closeBracket && byte !== quote;
}

/** Whether the object or list that opens here has nothing in it. */
export function isEmpty(bytes: Uint8Array, open: number): boolean {
  const next = bytes[skipSpace(bytes, open + 1)];
  return next === closeBrace || next === closeBracket;
}

/** The index of the first byte from `at` on that is not white space. */
export function skipSpace(bytes: Uint8Array, at: number): number {
  let next = at;
  while (isSpace(bytes[next])) next += 1;
  return next;
}

export function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

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
export function hasMoreValues(
  bytes: Uint8Array,
  truncated: { readonly valueCount: number } | null,
  max: number,
): boolean {
  return (truncated?.valueCount ?? countValues(bytes, max)) > max;
}

/**
 * More than a real event of a stream or a real input of a tool has. Parsing them takes 30 ms if each is a new name, and a few
 * otherwise.
 */
export const maxParsedValues = 50_000;

/** Maximum number of values that are kept of a larger event. */
export const maxKeptValues = 10_000;

/** Whether parsing a text would block the event loop for too long. One too short for that many values is not counted. */
export function hasTooManyValues(text: string): boolean {
  if (text.length < maxParsedValues * bytesPerValue) return false;
  return countValues(Buffer.from(text), maxParsedValues) > maxParsedValues;
}

const [lineFeed, carriageReturn, space] = [10, 13, 32];

/** JSON without line breaks: it has them only between its tokens, where a space means the same. */
export function onOneLine(json: Uint8Array): Uint8Array {
  if (!json.includes(lineFeed) && !json.includes(carriageReturn)) return json;
  const line = Buffer.from(json);
  for (const lineBreak of [lineFeed, carriageReturn]) {
    for (let at = line.indexOf(lineBreak); at !== -1; at = line.indexOf(lineBreak, at + 1)) line[at] = space;
  }
  return line;
}
