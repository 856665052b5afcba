import type { JsonObject } from "../../base/json.ts";
import { parseObject } from "../json/json-fields.ts";
import { closingQuote, escapeText, unescapeText } from "../json/json-string.ts";

/** Contains nothing that JSON escapes. */
const probe = "<another text>";

/** The frames of a provider: like a template, with figures in them that change from frame to frame. */
interface FramePattern {
  readonly before: string;
  /** The bytes between the text and the end of the data, split at the figures. */
  readonly segments: readonly string[];
  /** The names of the figures, one less than there are segments. */
  readonly figures: readonly string[];
}

/** How a stream reader finds the variable parts of a frame. */
interface FrameProbe {
  textOf(data: JsonObject): string | null;
  /** Undefined if frames have no figures. */
  readonly figures: FigureProbe | undefined;
}

/** Figures that every frame reports again, such as the usage so far. */
export interface FigureProbe {
  /** Matches `"name": 123`, with the name as its group; global. */
  readonly pattern: RegExp;
  /** The figures of a parsed frame, by name. */
  of(data: JsonObject): JsonObject;
}

/**
 * The pattern of a frame with one `data` line. To verify which of its strings is the text and which numbers are figures,
 * they are replaced by others, and the reader has to find those. Null if it does not, or if the text was escaped
 * differently than `JSON.stringify` does it.
 */
export function patternOf(
  event: string,
  data: string,
  text: string,
  probing: FrameProbe,
): FramePattern | null {
  const literal = JSON.stringify(text);
  const at = data.lastIndexOf(literal);
  if (at === -1 || text === probe || data.includes("\n")) return null;
  const before = data.slice(0, at + 1);
  const { segments, figures } = splitAtFigures(data.slice(at + literal.length - 1), probing.figures);
  const numbers = figures.map((_, index) => firstProbeFigure + index);
  const rest = segments.map((segment, index) => segment + (numbers[index] ?? "")).join("");
  const probed = parseObject(before + probe + rest);
  if (probed === null || probing.textOf(probed) !== probe) return null;
  const found = probing.figures?.of(probed);
  if (figures.some((name, index) => found?.[name] !== numbers[index])) return null;
  const head = event === "" ? "data: " : `event: ${event}\ndata: `;
  return { before: head + before, segments, figures };
}

/** Unlikely in a frame; each figure is probed with another number. */
const firstProbeFigure = 987_654_001;

function splitAtFigures(rest: string, probing: FigureProbe | undefined) {
  const segments: string[] = [];
  const figures: string[] = [];
  let from = 0;
  for (const match of probing === undefined ? [] : rest.matchAll(probing.pattern)) {
    const [matched, name = ""] = match;
    segments.push(rest.slice(from, match.index) + matched.replace(/\d+$/, ""));
    figures.push(name);
    from = match.index + matched.length;
  }
  return { segments: [...segments, rest.slice(from)], figures };
}

/** A frame without its text, which goes between the two parts as the inside of a JSON string. */
export interface FrameTemplate {
  /** Up to and including the opening quote. */
  readonly before: string;
  /** From the closing quote on, to the end of the frame. */
  readonly after: string;
}

export function fillTemplate({ before, after }: FrameTemplate, text: string): string {
  return before + escapeText(text) + after;
}

const frameEnd = "\n\n";
const longFrameEnd = "\r\n\r\n";

const zero = 48;
const nine = 57;

/** Called with the content of frames that were not parsed: all of their text, and the figures of the last one. */
type FrameListener = (text: string, figures: Readonly<Record<string, number>>) => void;

/**
 * Rewrites frames of one shape into another. Valid until a frame with a different shape arrives.
 *
 * Nearly all frames of a stream are the same frame with a different text. Once one of them has been parsed, the
 * following ones need not be: their text is cut out of the provider's frame and pasted into the client's. This is
 * correct because JSON consists of tokens: if one string replaces another and all other characters are equal, then all
 * other values are equal too.
 */
export class Shortcut {
  readonly #from: FramePattern;
  readonly #to: FrameTemplate;
  /** The end of one frame and the start of the next in one string, because concatenating fewer strings is faster. */
  readonly #between: string;
  /** The end of a provider's frame and the start of the next, compared at once; "" if there are figures in between. */
  readonly #toNext: string;
  readonly #listener: FrameListener;
  /** Where the figures of the frame that was matched last begin. */
  #figuresAt: number[] = [];
  /** Filled while a frame is being matched. */
  #figuresFound: number[] = [];
  #written = "";

  constructor(from: FramePattern, to: FrameTemplate, listener: FrameListener) {
    this.#from = from;
    this.#to = to;
    this.#between = to.after + to.before;
    this.#toNext = from.figures.length > 0 ? "" : from.segments.join("") + frameEnd + from.before;
    this.#listener = listener;
  }

  /** Rewrites from the start of a frame up to the first one that is incomplete or has a different shape; returns its index. */
  run(text: string, from: number): number {
    const { before } = this.#from;
    const toNext = this.#toNext;
    let at = from;
    let produced = "";
    let written = "";
    let hasBegun = false;
    while (hasBegun || text.startsWith(before, at)) {
      const begin = at + before.length;
      const end = closingQuote(text, begin);
      if (end === -1) break;
      hasBegun = toNext !== "" && text.startsWith(toNext, end);
      const next = hasBegun ? end + toNext.length - before.length : this.#endOfFrame(text, end);
      if (next === -1) break;
      const inside = text.slice(begin, end);
      const plain = inside.includes("\\") ? unescapeText(inside) : inside;
      // What is not valid is left to the decoder, which reports the error.
      if (plain === null || plain === "") break;
      produced += plain;
      // Text without escapes is already JSON. A lone surrogate, which would need one, cannot come from UTF-8.
      written += (written === "" ? "" : this.#between) + (plain === inside ? plain : escapeText(plain));
      at = next;
      [this.#figuresAt, this.#figuresFound] = [this.#figuresFound, this.#figuresAt];
    }
    if (produced === "") return from;
    this.#written += this.#to.before + written + this.#to.after;
    this.#listener(produced, this.#figuresIn(text));
    return at;
  }

  takeWritten(): string {
    const written = this.#written;
    this.#written = "";
    return written;
  }

  /** The index after the frame whose text ends here; -1 if it is incomplete or has a different shape. */
  #endOfFrame(text: string, from: number): number {
    const { segments } = this.#from;
    let at = from;
    for (let index = 0; index < segments.length; index += 1) {
      const segment = segments[index] ?? "";
      if (index > 0) {
        this.#figuresFound[index - 1] = at;
        const digits = at;
        while (isDigit(text.charCodeAt(at))) at += 1;
        if (at === digits) return -1;
      }
      if (!text.startsWith(segment, at)) return -1;
      at += segment.length;
    }
    if (text.startsWith(frameEnd, at)) return at + frameEnd.length;
    return text.startsWith(longFrameEnd, at) ? at + longFrameEnd.length : -1;
  }

  #figuresIn(text: string): Readonly<Record<string, number>> {
    const { figures } = this.#from;
    if (figures.length === 0) return noFigures;
    return Object.fromEntries(
      figures.map((name, index) => [
        name,
        Number.parseInt(text.slice(this.#figuresAt[index], (this.#figuresAt[index] ?? 0) + maxDigits), 10),
      ]),
    );
  }
}

const noFigures: Readonly<Record<string, number>> = {};

/** More than any figure has. */
const maxDigits = 16;

function isDigit(code: number): boolean {
  return code >= zero && code <= nine;
}
