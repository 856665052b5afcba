import type { JsonObject } from "../../base/json.ts";
import { parseObject } from "../json/json-fields.ts";

/**
 * Nearly all frames of a stream are the same frame with a different text. Once one of them has been parsed, the
 * following ones need not be: their text is cut out of the provider's frame and pasted into the client's. This is
 * correct because JSON consists of tokens: if one string replaces another and all other characters are equal, then all
 * other values are equal too.
 */

/** A frame without its text, which goes between the two parts as the inside of a JSON string. */
export interface FrameTemplate {
  /** Up to and including the opening quote. */
  readonly before: string;
  /** From the closing quote on, to the end of the frame. */
  readonly after: string;
}

export function fillTemplate({ before, after }: FrameTemplate, text: string): string {
  return before + escaped(text) + after;
}

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** Contains nothing that JSON escapes. */
const probe = "<another text>";

/**
 * The template of a frame with one `data` line. To verify which of its strings is the text, it is replaced by the
 * probe, and `textOf` has to find the probe. Null if it does not, or if the text was escaped differently than
 * `JSON.stringify` does it.
 */
export function templateOf(
  event: string,
  data: string,
  text: string,
  textOf: (data: JsonObject) => string | null,
): FrameTemplate | null {
  const literal = JSON.stringify(text);
  const at = data.lastIndexOf(literal);
  if (at === -1 || text === probe || data.includes("\n")) return null;
  const before = data.slice(0, at + 1);
  const after = data.slice(at + literal.length - 1);
  const probed = parseObject(before + probe + after);
  if (probed === null || textOf(probed) !== probe) return null;
  return { before: frameHead(event) + before, after: after + frameEnd };
}

const frameEnd = "\n\n";

function frameHead(event: string): string {
  return event === "" ? "data: " : `event: ${event}\ndata: `;
}

/** Longer texts are left to the decoder, which limits the length of a frame. */
const maxTextChars = 64 * 1024;

const quote = 34;
const backslash = 92;
const firstPrintable = 32;

/** Rewrites frames of one shape into another. Valid until a frame of another shape arrives. */
export class Shortcut {
  /** The index of the block that the deltas belong to. */
  readonly index: number;
  readonly #from: FrameTemplate;
  readonly #to: FrameTemplate;
  /** The end of one frame and the start of the next in one string, because concatenating fewer strings is faster. */
  readonly #between: string;
  readonly #produce: (text: string) => void;
  #written = "";

  constructor(index: number, from: FrameTemplate, to: FrameTemplate, produce: (text: string) => void) {
    this.index = index;
    this.#from = from;
    this.#to = to;
    this.#between = to.after + to.before;
    this.#produce = produce;
  }

  /** Whether a frame that holds one delta of the block `index`, and nothing else, has this shape. */
  fits(index: number, event: string, data: string): boolean {
    if (index !== this.index) return false;
    const { before, after } = this.#from;
    const frame = frameHead(event) + data + frameEnd;
    return frame.length > before.length + after.length && frame.startsWith(before) && frame.endsWith(after);
  }

  /** Rewrites from the start of a frame up to the first that is incomplete or of another shape; returns its index. */
  run(text: string, from: number): number {
    const { before, after } = this.#from;
    let at = from;
    let produced = "";
    let written = "";
    while (text.startsWith(before, at)) {
      const begin = at + before.length;
      const end = closingQuote(text, begin);
      if (end === -1 || !text.startsWith(after, end)) break;
      const inside = text.slice(begin, end);
      const said = inside.includes("\\") ? unescaped(inside) : inside;
      if (said === "") break;
      produced += said;
      // Text without escapes is already JSON. A lone surrogate, which would need one, cannot come from UTF-8.
      written += (written === "" ? "" : this.#between) + (said === inside ? said : escaped(said));
      at = end + after.length;
    }
    if (produced === "") return from;
    this.#written += this.#to.before + written + this.#to.after;
    this.#produce(produced);
    return at;
  }

  takeWritten(): string {
    const written = this.#written;
    this.#written = "";
    return written;
  }
}

/** The index of the quote that closes the string; -1 if there is none or a control character comes first. */
function closingQuote(text: string, from: number): number {
  const limit = Math.min(text.length, from + maxTextChars);
  for (let at = from; at < limit; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) return at;
    if (code < firstPrintable) return -1;
    if (code === backslash) at += 1;
  }
  return -1;
}

/** "" if it is not valid inside a JSON string; the decoder then reports the error. */
function unescaped(inside: string): string {
  try {
    return JSON.parse(`"${inside}"`);
  } catch {
    return "";
  }
}
