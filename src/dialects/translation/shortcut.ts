import type { JsonObject } from "../../base/json.ts";
import { parseObject } from "../json/json-fields.ts";

/**
 * Nearly all frames of a stream are one frame over and over, with another text in it. Once one of them has
 * been read in full, those that follow need not be: their text is cut out of the provider's characters and
 * put into the client's. This is sound because JSON is made of tokens: where one string takes the place of
 * another and every other character is the same, everything else that is read is the same too.
 */

/** A frame without its text: the text stands between the two, as the inside of a JSON string. */
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

/** Nothing in it that JSON escapes. */
const probe = "<another text>";

/**
 * The frame's template, as providers usually write one, in one `data` line. Which of its strings is the text
 * is found by trying: with the probe in its place, `textOf` must find the probe. Null where that fails, or
 * where the text was written with other escapes than ours.
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

/** Longer ones are left to the decoder, which knows how long a frame may be. */
const maxTextChars = 64 * 1024;

const quote = 34;
const backslash = 92;
const firstPrintable = 32;

/** Frames of one shape, rewritten in another; it holds as long as no other frame has come between. */
export class Shortcut {
  /** Of the block whose deltas they are. */
  readonly index: number;
  readonly #from: FrameTemplate;
  readonly #to: FrameTemplate;
  /** The end of one frame and the beginning of the next, because a string of fewer pieces is sooner put together. */
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

  /** Whether a frame that told a delta of the block `index`, and nothing else, is of this shape. */
  fits(index: number, event: string, data: string): boolean {
    if (index !== this.index) return false;
    const { before, after } = this.#from;
    const frame = frameHead(event) + data + frameEnd;
    return frame.length > before.length + after.length && frame.startsWith(before) && frame.endsWith(after);
  }

  /** Reads from the beginning of a frame, up to the first that is not whole or of another shape; says where that is. */
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
      // What needs no escape is its own JSON; a lone surrogate, which would need one, cannot come out of UTF-8.
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

/** Where the string ends whose inside begins at `from`; -1 when it does not, or holds what no JSON string may. */
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

/** "" when it is no inside of a JSON string; the full path then says what is wrong. */
function unescaped(inside: string): string {
  try {
    return JSON.parse(`"${inside}"`);
  } catch {
    return "";
  }
}
