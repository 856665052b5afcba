import { isAscii } from "node:buffer";
import { asBuffer } from "../../base/bytes.ts";
import { errorIn } from "../errors/bare-error.ts";
import { addDataLine, fieldValue, linesOf, type ParsedEvent } from "./event.ts";
import { FrameJoiner } from "./frame-joiner.ts";

/** One server-sent event. `event` is "" if the frame has no `event` line; `data` has its lines joined. */
export interface SseFrame {
  readonly event: string;
  readonly data: string;
  /** The data as JSON, if it is large and was parsed elsewhere. */
  readonly parsed?: ParsedEvent;
}

/** A comment, which readers of server-sent events ignore, and so legal anywhere in a stream. */
export const keepaliveComment = ": keepalive\n\n";

const noBytes = Buffer.alloc(0);
const lf = 10;
const dataPrefix = "data: ";
/** The two line ends can be of different kinds. */
const blankLine = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r(?!\n))/g;
/** A byte order mark in text with one character per byte. */
const byteOrderMark = "\u00ef\u00bb\u00bf";

/** The first letter of `data` and `event`, or the start of bare JSON. A comment may have them too, and is then read. */
const fieldStart = /[de[{]/g;
const bareStart = /^\s*[[{]/;
const maxBareChars = 64 * 1024;

/**
 * Cuts one stream's bytes into frames, wherever the chunks are cut. An event that is not complete waits as bytes. Either `push` a
 * chunk and get all its frames, or `feed` it and call `next` until it returns null.
 */
export class SseDecoder {
  readonly #joiner = new FrameJoiner();
  /** Whole events. */
  #bytes: Buffer = noBytes;
  /** Their text with a character for each byte, so that a place in one is the place in the other. */
  #text = "";
  #isAscii = true;
  #hasReturns = false;
  /** Start of the last frame, and the index after it. */
  #start = 0;
  #end = 0;
  /** Lines of bare JSON between the events. */
  #bare = "";

  /** Throws `upstream_error` for a frame of more than 8 MiB. */
  push(bytes: Uint8Array): SseFrame[] {
    this.feed(bytes);
    return this.#rest();
  }

  /**
   * At the end of the body. The last frame may lack its blank line, and the last line its line end. Google continues a
   * stream that fails as bare JSON: such an error is the last frame.
   */
  end(): SseFrame[] {
    this.feedRest();
    const frames = this.#rest();
    const error = bareError(this.#bare);
    return error === null ? frames : [...frames, error];
  }

  /** Number of characters received of an incomplete frame. */
  get pendingBytes(): number {
    return this.#joiner.pendingBytes;
  }

  /** Only after `next` has returned all frames of the previous chunk. Throws `upstream_error` for a frame of more than 8 MiB. */
  feed(bytes: Uint8Array): void {
    this.#load(this.#joiner.push(bytes));
  }

  /** Treats the received part of an incomplete event as all of it. */
  feedRest(): void {
    this.#load(this.#joiner.rest());
  }

  /** The whole events of the last chunk. */
  get bytes(): Buffer {
    return this.#bytes;
  }

  /** Position in those bytes at which the last frame begins. */
  get frameStart(): number {
    return this.#start;
  }

  /** The index after it. */
  get frameEnd(): number {
    return this.#end;
  }

  /**
   * Null when more bytes are needed. By the standard, an event without data is none. Comments and other fields are ignored. Throws
   * `upstream_error` for an event of too many lines.
   */
  next(): SseFrame | null {
    while (this.#end < this.#bytes.length) {
      this.#start = this.#end;
      const frame = this.#plainFrame() ?? this.#frame();
      if (frame !== null) return frame;
    }
    this.#load(null);
    return null;
  }

  /** Nearly all events have one data line after an optional name. Null for other events. */
  #plainFrame(): SseFrame | null {
    const text = this.#text;
    const start = this.#start;
    const line = text.startsWith("event:", start) ? text.indexOf("\n", start) + 1 : start;
    const end = text.indexOf("\n", line);
    const isPlain =
      !this.#hasReturns &&
      line >= start &&
      text.charCodeAt(end + 1) === lf &&
      text.startsWith(dataPrefix, line) &&
      end > line + dataPrefix.length;
    if (!isPlain) return null;
    this.#end = end + 2;
    const event = line === start ? "" : fieldValue(this.#textOf(start, line - 1), "event:".length);
    return { event, data: this.#textOf(line + dataPrefix.length, end) };
  }

  #frame(): SseFrame | null {
    const start =
      this.#start + (this.#text.startsWith(byteOrderMark, this.#start) ? byteOrderMark.length : 0);
    this.#end = this.#endOfEvent();
    const frame = this.#framedLines(start);
    if (frame === null && this.#bare === "") this.#skipToField();
    return frame;
  }

  #endOfEvent(): number {
    if (!this.#hasReturns) {
      const blank = this.#text.indexOf("\n\n", this.#start);
      return blank === -1 ? this.#text.length : blank + 2;
    }
    blankLine.lastIndex = this.#start;
    return blankLine.test(this.#text) ? blankLine.lastIndex : this.#text.length;
  }

  #framedLines(start: number): SseFrame | null {
    let event = "";
    let data: string | null = null;
    for (const line of linesOf(this.#textOf(start, this.#end))) {
      const more = addDataLine(data, line);
      if (more !== data) data = more;
      else if (line.startsWith("event:")) event = fieldValue(line, "event:".length);
      else if (line !== "" && (this.#bare !== "" || bareStart.test(line))) this.#takeBare(line);
    }
    return data === null || data === "" ? null : { event, data };
  }

  /** Skips megabytes of blank lines and comments by a native search. */
  #skipToField(): void {
    fieldStart.lastIndex = this.#end;
    const found = fieldStart.exec(this.#text)?.index ?? this.#text.length;
    const skipped = this.#text.slice(this.#end, found);
    this.#end += Math.max(skipped.lastIndexOf("\n"), skipped.lastIndexOf("\r")) + 1;
  }

  #textOf(start: number, end: number): string {
    return this.#isAscii ? this.#text.slice(start, end) : this.#bytes.toString("utf8", start, end);
  }

  #rest(): SseFrame[] {
    const frames: SseFrame[] = [];
    for (let frame = this.next(); frame !== null; frame = this.next()) frames.push(frame);
    return frames;
  }

  #load(events: Uint8Array | null): void {
    this.#bytes = events === null ? noBytes : asBuffer(events);
    this.#text = this.#bytes.toString("latin1");
    this.#isAscii = isAscii(this.#bytes);
    this.#hasReturns = this.#text.includes("\r");
    this.#start = this.#end = 0;
  }

  #takeBare(line: string): void {
    const isComment = line.startsWith(":");
    if (!isComment && this.#bare.length + line.length <= maxBareChars) this.#bare += `${line}\n`;
  }
}

/** Null if the lines are not an error. */
function bareError(lines: string): SseFrame | null {
  const error = lines === "" ? null : errorIn(lines);
  return error === null ? null : { event: "", data: JSON.stringify(error) };
}

/** `data` must be one line, as JSON text always is. */
export function namedFrame(event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}

export function dataFrame(data: string): string {
  return `data: ${data}\n\n`;
}
