import { nextTurn } from "../../base/loop/next-iteration.ts";
import { backslash, quote } from "../../dialects/json/json-bytes.ts";

/** Scanned without a pause: takes a millisecond or two. */
const sliceBytes = 512 * 1024;

/** Longer strings, and longer runs of white space or digits between them, are truncated. */
const longestString = 64;
const longestRun = 32;

const cut = Buffer.from("~");

/** From this size on, a body is read by `shortened`. */
export const largeBodyBytes = 1024 * 1024;

/**
 * The JSON text of a large body with its long strings truncated, which is all that the demo needs. It has no thread to
 * parse on, so it scans in slices and yields to the event loop in between.
 */
export async function shortened(bytes: Uint8Array): Promise<string> {
  const truncation = new Truncation(bytes);
  for (let from = 0; from < bytes.length; from += sliceBytes) {
    truncation.scan(from, Math.min(from + sliceBytes, bytes.length));
    await nextTurn();
  }
  return truncation.text();
}

class Truncation {
  readonly #bytes: Uint8Array;
  readonly #kept: Uint8Array[] = [];
  #copiedTo = 0;
  /** The start of the current string, or of the run between two strings. */
  #start = 0;
  #isString = false;
  #isEscaped = false;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  scan(from: number, to: number): void {
    const bytes = this.#bytes;
    let isString = this.#isString;
    let isEscaped = this.#isEscaped;
    for (let at = from; at < to; at += 1) {
      // The cast: `to` is at most the length.
      const byte = bytes[at] as number;
      if (isEscaped) isEscaped = false;
      else if (isString && byte === backslash) isEscaped = true;
      else if (isString && byte === quote) {
        this.#endString(at);
        isString = false;
      } else if (!isString && isStructure[byte] === 1) {
        this.#endRun(at);
        isString = byte === quote;
      }
    }
    this.#isString = isString;
    this.#isEscaped = isEscaped;
  }

  text(): string {
    this.#endRun(this.#bytes.length);
    return Buffer.concat([...this.#kept, this.#bytes.subarray(this.#copiedTo)]).toString();
  }

  #endString(at: number): void {
    if (at - this.#start > longestString) {
      this.#kept.push(this.#bytes.subarray(this.#copiedTo, this.#start), cut);
      this.#copiedTo = at;
    }
    this.#start = at + 1;
  }

  #endRun(at: number): void {
    if (at - this.#start > longestRun) {
      this.#kept.push(this.#bytes.subarray(this.#copiedTo, this.#start + longestRun));
      this.#copiedTo = at;
    }
    this.#start = at + 1;
  }
}

const isStructure = new Uint8Array(256);
for (const byte of Buffer.from('{}[]:,"')) isStructure[byte] = 1;
