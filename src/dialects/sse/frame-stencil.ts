import type { JsonObject } from "../../base/json.ts";
import { dataOf } from "./data-field.ts";
import { jsonOf } from "./raw-events.ts";

const quote = 34;
const backslash = 92;
const firstPrintable = 32;

/** Contains nothing that JSON escapes. */
const probe = "<another text>";

/**
 * A frame without its text. Nearly all frames of a stream are the same frame with a different text, and a frame that fits
 * the stencil is read by comparing bytes: JSON consists of tokens, so if one string replaces another and all other
 * bytes are equal, then all other values are equal too.
 */
export class FrameStencil {
  /** Up to and including the opening quote of the text, and from the closing one on. */
  readonly #before: Buffer;
  readonly #after: Buffer;

  private constructor(before: string, after: string) {
    this.#before = Buffer.from(before);
    this.#after = Buffer.from(after);
  }

  /**
   * `text` is what `textOf` finds in the frame. To verify which of the frame's strings it is, it is replaced by the
   * probe, which `textOf` has to find instead. Null if it does not.
   */
  static of(frame: string, text: string, textOf: (event: JsonObject) => string): FrameStencil | null {
    const literal = JSON.stringify(text);
    const at = frame.lastIndexOf(literal);
    if (at === -1 || text === probe) return null;
    const before = frame.slice(0, at + 1);
    const after = frame.slice(at + literal.length - 1);
    const probed = jsonOf(dataOf(before + probe + after));
    return probed !== null && textOf(probed) === probe ? new FrameStencil(before, after) : null;
  }

  /** The frame without its text. */
  get bytes(): Buffer {
    return Buffer.concat([this.#before, this.#after]);
  }

  /** The texts of frames that fit, one after the other; null if one of them does not fit, or has an escape. */
  read(frames: Buffer): string | null {
    let text = "";
    for (let at = 0; at < frames.length; ) {
      if (!isAt(frames, at, this.#before)) return null;
      const start = at + this.#before.length;
      const end = closingQuote(frames, start);
      if (end === -1 || !isAt(frames, end, this.#after)) return null;
      text += frames.toString("utf8", start, end);
      at = end + this.#after.length;
    }
    return text;
  }
}

/** The index of the quote that ends a string without escapes; -1 if it has one, or a control character, or no end. */
function closingQuote(bytes: Buffer, from: number): number {
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === quote) return at;
    if (byte === backslash || byte < firstPrintable) return -1;
  }
  return -1;
}

function isAt(bytes: Buffer, start: number, wanted: Buffer): boolean {
  const end = start + wanted.length;
  return end <= bytes.length && bytes.compare(wanted, 0, wanted.length, start, end) === 0;
}
