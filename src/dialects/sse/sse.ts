import { GatewayError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { errorIn } from "../errors/bare-error.ts";
import type { Shortcut } from "../translation/shortcut.ts";
import { addDataLine, fieldValue } from "./data-field.ts";

/** One server-sent event. `event` is "" if the frame has no such line; `data` has its lines joined. */
export interface SseFrame {
  readonly event: string;
  readonly data: string;
  /** The data as JSON, if it is large and was parsed elsewhere. */
  readonly parsed?: ParsedEvent;
}

/** The data of an event as JSON. */
export interface ParsedEvent {
  /** Null if it is no object, or if nothing of it would be left. */
  readonly json: JsonObject | null;
  /** It has too many values, or nests too deeply, to be parsed whole: null is in the place of its largest parts. */
  readonly isCut: boolean;
}

/** A comment, which readers of server-sent events ignore, and so legal anywhere in a stream. */
export const keepaliveComment = ": keepalive\n\n";

/** Far above any real event; the limit keeps one call from using up the memory. */
const maxFrameChars = 8 * 1024 * 1024;

/**
 * Decodes one stream's bytes into frames, wherever the chunks are cut, even inside a UTF-8 sequence or between CR and
 * LF. Buffers only the unfinished line and reads each character once. Either `push` a chunk and get all its frames, or
 * `feed` it and call `next` until it returns null.
 */
export class SseDecoder {
  readonly #utf8 = new TextDecoder();
  #text = "";
  /** How much of the text has been read. */
  #at = 0;
  /** Positions of the next LF and the next CR, or the text's length if there is none. Searched for again once passed. */
  #feed = 0;
  #return = 0;
  /** The start of a line that is not complete yet. */
  #line = "";
  #event = "";
  #data: string | null = null;
  /** Lines of bare JSON between the events. */
  #bare = "";
  /** The last chunk ended in CR, so an LF at the start of the next one belongs to it. */
  #afterReturn = false;

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
    this.#load(this.#utf8.decode());
    const frames = this.#rest();
    if (this.#line !== "") this.#take(this.#line);
    this.#line = "";
    const last = this.#dispatch() ?? bareError(this.#bare);
    if (last !== null) frames.push(last);
    return frames;
  }

  /** How much of a frame has come that is not complete. */
  get pendingChars(): number {
    return this.#line.length + (this.#data?.length ?? 0);
  }

  /** Only after `next` has returned all frames of the previous chunk. */
  feed(bytes: Uint8Array): void {
    this.#load(this.#utf8.decode(bytes, streaming));
  }

  /** Null when more bytes are needed. Throws `upstream_error` for a frame of more than 8 MiB. */
  next(): SseFrame | null {
    for (let line = this.#nextLine(); line !== null; line = this.#nextLine()) {
      const frame = line === "" ? this.#dispatch() : this.#take(line);
      if (frame !== null) return frame;
      if (this.#isBetweenFrames) this.#skipToField();
    }
    return null;
  }

  get #isBetweenFrames(): boolean {
    return this.#event === "" && this.#data === null && this.#bare === "";
  }

  /**
   * Megabytes of blank lines and comments are skipped by a native search. Only the last line may be incomplete, so it is
   * not skipped. If a CR is, and not its LF, that is one more blank line.
   */
  #skipToField(): void {
    const text = this.#text;
    fieldStart.lastIndex = this.#at;
    const found = fieldStart.exec(text)?.index ?? text.length - 1;
    const skipped = text.slice(this.#at, found);
    this.#at += Math.max(skipped.lastIndexOf("\n"), skipped.lastIndexOf("\r")) + 1;
  }

  /** Rewrites the next frames as long as the shortcut matches them. The rest is left to `next`. */
  rewrite(shortcut: Shortcut): string {
    if (this.#line !== "" || this.#event !== "" || this.#data !== null) return "";
    this.#at = shortcut.run(this.#text, this.#at);
    return shortcut.takeWritten();
  }

  #rest(): SseFrame[] {
    const frames: SseFrame[] = [];
    for (let frame = this.next(); frame !== null; frame = this.next()) frames.push(frame);
    return frames;
  }

  #load(text: string): void {
    if (text === "") return;
    this.#text = text;
    this.#at = this.#afterReturn && text.startsWith("\n") ? 1 : 0;
    this.#afterReturn = false;
    this.#feed = -1;
    this.#return = -1;
  }

  /** Null if the text has no complete line left; the incomplete one is kept. */
  #nextLine(): string | null {
    const text = this.#text;
    const from = this.#at;
    if (from === text.length) return null;
    if (this.#feed < from) this.#feed = orEnd(text, text.indexOf("\n", from));
    if (this.#return < from) this.#return = orEnd(text, text.indexOf("\r", from));
    const end = Math.min(this.#feed, this.#return);
    const piece = text.slice(from, end);
    const line = this.#line === "" ? piece : this.#line + piece;
    if (end === text.length) {
      this.#at = end;
      this.#line = line;
      this.#limit(line.length);
      return null;
    }
    this.#line = "";
    this.#at = end + 1;
    if (end === this.#return) {
      if (this.#at === text.length) this.#afterReturn = true;
      else if (this.#feed === this.#at) this.#at += 1;
    }
    return line;
  }

  /** One complete line that is not blank. Comments, `id`, `retry` and unknown fields are ignored. */
  #take(line: string): null {
    const data = addDataLine(this.#data, line);
    if (data !== null && data !== this.#data) {
      this.#data = data;
      this.#limit(data.length);
    } else if (line.startsWith("event:")) this.#event = fieldValue(line, 6);
    else if (data === this.#data && (this.#bare !== "" || bareStart.test(line))) this.#takeBare(line);
    return null;
  }

  #takeBare(line: string): void {
    const isComment = line.startsWith(":");
    if (!isComment && this.#bare.length + line.length <= maxBareChars) this.#bare += `${line}\n`;
  }

  /** By the standard, an event without data is none. */
  #dispatch(): SseFrame | null {
    const frame = this.#data === null || this.#data === "" ? null : { event: this.#event, data: this.#data };
    this.#event = "";
    this.#data = null;
    return frame;
  }

  #limit(chars: number): void {
    if (chars > maxFrameChars) {
      throw new GatewayError("upstream_error", "The provider sent an event of more than 8 MiB.");
    }
  }
}

const streaming = { stream: true };

/** The first letter of `data` and `event`, or the start of bare JSON. A comment may have them too, and is then read. */
const fieldStart = /[de[{]/g;

const bareStart = /^\s*[[{]/;
const maxBareChars = 64 * 1024;

/** Null if the lines are not an error. */
function bareError(lines: string): SseFrame | null {
  const error = lines === "" ? null : errorIn(lines);
  return error === null ? null : { event: "", data: JSON.stringify(error) };
}

function orEnd(text: string, found: number): number {
  return found === -1 ? text.length : found;
}

/** `data` must be one line, as JSON text always is. */
export function namedFrame(event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}

export function dataFrame(data: string): string {
  return `data: ${data}\n\n`;
}
