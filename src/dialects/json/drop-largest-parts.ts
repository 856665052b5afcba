import {
  closeBrace,
  closeBracket,
  comma,
  endOfString,
  isEmpty,
  notJson,
  openBrace,
  openBracket,
  quote,
} from "./json-bytes.ts";

/** No field that is read is nested more deeply. Also limits how often a part of the text is scanned. */
const maxLevels = 16;

const cut = Buffer.from("null");

/**
 * JSON text without its largest parts: objects and lists become null until at most `max` values are left. All members
 * of an object get the same share, so that small members survive next to a large one, and a large one keeps its outer
 * levels. Null if nothing would be left, or if the text is not JSON.
 */
export function dropLargestParts(bytes: Uint8Array, max: number): string | null {
  const start = bytes.findIndex((byte) => byte === openBrace || byte === openBracket);
  const whole = start === -1 ? null : scanParts(bytes, start, max);
  if (whole === null || whole.parts === null) return null;
  const cutter = new Cutter(bytes);
  cutter.shorten(whole.parts, max - whole.ownValues, maxLevels - 1);
  return cutter.text();
}

/** An object or a list. */
interface Part {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
  /** Items and members, at every level. */
  readonly values: number;
}

interface ScannedObject {
  /** Items and members of the outermost level. */
  readonly ownValues: number;
  /** The objects and lists among them, in order; null if there are more values than requested. */
  readonly parts: readonly Part[] | null;
}

/** Null if the text ends before the object or list does. */
function scanParts(bytes: Uint8Array, open: number, maxOwn: number): ScannedObject | null {
  const parts: Part[] = [];
  let depth = 0;
  let start = open;
  let ownValues = 0;
  let values = 0;
  for (let at = open; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) {
      at = endOfString(bytes, at);
      if (at === notJson) return null;
    } else if (byte === comma) {
      if (depth === 1) ownValues += 1;
      else values += 1;
    } else if (byte === openBrace || byte === openBracket) {
      if (depth === 1) [start, values] = [at, 0];
      if (!isEmpty(bytes, at)) {
        if (depth === 0) ownValues += 1;
        else values += 1;
      }
      depth += 1;
    } else if (byte === closeBrace || byte === closeBracket) {
      depth -= 1;
      if (depth === 1) parts.push({ start, end: at + 1, values });
      if (depth === 0) return { ownValues, parts };
    }
    if (ownValues > maxOwn) return { ownValues, parts: null };
  }
  return null;
}

/** Copies a text without some of its parts. */
class Cutter {
  readonly #bytes: Uint8Array;
  readonly #kept: Uint8Array[] = [];
  #copied = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Shortens the parts of an object or list, so that at most `max` values are left in all of them. */
  shorten(parts: readonly Part[], max: number, levels: number): void {
    const share = fairShare(parts, max);
    for (const part of parts) if (part.values > share) this.#shortenOne(part, Math.floor(share), levels);
  }

  #shortenOne({ start, end }: Part, max: number, levels: number): void {
    const scanned = levels === 0 ? null : scanParts(this.#bytes, start, max);
    if (scanned !== null && scanned.parts !== null) {
      this.shorten(scanned.parts, max - scanned.ownValues, levels - 1);
      return;
    }
    this.#kept.push(this.#bytes.subarray(this.#copied, start), cut);
    this.#copied = end;
  }

  text(): string {
    return Buffer.concat([...this.#kept, this.#bytes.subarray(this.#copied)]).toString();
  }
}

/** Distributes `max` values over the parts: those that need fewer leave more to the others. */
function fairShare(parts: readonly Part[], max: number): number {
  const sizes = parts.map(({ values }) => values).sort((a, b) => a - b);
  let left = max;
  for (const [index, size] of sizes.entries()) {
    const share = left / (sizes.length - index);
    if (size > share) return share;
    left -= size;
  }
  return Number.POSITIVE_INFINITY;
}
