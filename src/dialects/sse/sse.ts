import { GatewayError } from "../../base/errors.ts";
import type { Shortcut } from "../translation/shortcut.ts";
import type { SseFrame } from "./frame.ts";

/** No provider's event comes near this; one that grows past it would only eat memory. */
const maxFrameChars = 8 * 1024 * 1024;

const space = 32;

/**
 * Bytes in, frames out, however the bytes are cut: inside a UTF-8 sequence, between CR and LF, anywhere.
 * One per stream. It keeps the unfinished line only, and looks at each character once. Either `push` and
 * take all frames of a piece at once, or `feed` it and ask for the `next` until there is none.
 */
export class SseDecoder {
  readonly #utf8 = new TextDecoder();
  #text = "";
  /** Up to where the text has been read. */
  #at = 0;
  /** The next line ends of either kind, at the text's length when there is none; looked for when passed. */
  #feed = 0;
  #return = 0;
  /** The beginning of a line whose end has not come yet. */
  #line = "";
  #event = "";
  #data: string | null = null;
  /** The last piece ended in CR; an LF that follows belongs to it. */
  #afterReturn = false;

  /** Throws `upstream_error` for a frame of more than 8 MiB. */
  push(bytes: Uint8Array): SseFrame[] {
    this.feed(bytes);
    return this.#rest();
  }

  /** The body has ended: its last frame may lack the blank line, and its last line the line end. */
  end(): SseFrame[] {
    this.#load(this.#utf8.decode());
    const frames = this.#rest();
    if (this.#line !== "") this.#take(this.#line);
    this.#line = "";
    const last = this.#dispatch();
    if (last !== null) frames.push(last);
    return frames;
  }

  /** Only when `next` has given all frames of the piece before. */
  feed(bytes: Uint8Array): void {
    this.#load(this.#utf8.decode(bytes, streaming));
  }

  /** Null when more bytes are needed. Throws `upstream_error` for a frame of more than 8 MiB. */
  next(): SseFrame | null {
    for (let line = this.#nextLine(); line !== null; line = this.#nextLine()) {
      const frame = line === "" ? this.#dispatch() : this.#take(line);
      if (frame !== null) return frame;
    }
    return null;
  }

  /** The frames that come next and that the shortcut knows, as it writes them; those that follow are for `next`. */
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

  /** Null when the text holds no whole line any more; what it still holds is kept. */
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

  /** One whole line that is not blank. Comments, `id`, `retry` and unknown fields mean nothing here. */
  #take(line: string): null {
    if (line.startsWith("data:")) {
      const value = fieldValue(line, 5);
      this.#data = this.#data === null ? value : `${this.#data}\n${value}`;
      this.#limit(this.#data.length);
    } else if (line.startsWith("event:")) this.#event = fieldValue(line, 6);
    else if (line === "data") this.#data = this.#data === null ? "" : `${this.#data}\n`;
    return null;
  }

  #dispatch(): SseFrame | null {
    const frame = this.#data === null ? null : { event: this.#event, data: this.#data };
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

function orEnd(text: string, found: number): number {
  return found === -1 ? text.length : found;
}

function fieldValue(line: string, colonEnd: number): string {
  return line.slice(line.charCodeAt(colonEnd) === space ? colonEnd + 1 : colonEnd);
}

/** `data` must be one line, as JSON text always is. */
export function namedFrame(event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}

export function dataFrame(data: string): string {
  return `data: ${data}\n\n`;
}
