import { GatewayError } from "../base/errors.ts";
import type { SseFrame } from "./codec.ts";

/** No provider's event comes near this; one that grows past it would only eat memory. */
const maxFrameChars = 8 * 1024 * 1024;

const space = 32;

/**
 * Bytes in, frames out, however the bytes are cut: inside a UTF-8 sequence, between CR and LF, anywhere.
 * One per stream. It keeps the unfinished line only, and looks at each character once.
 */
export class SseDecoder {
  readonly #utf8 = new TextDecoder();
  /** The beginning of a line whose end has not come yet. */
  #line = "";
  #event = "";
  #data: string | null = null;
  /** The last piece ended in CR; an LF that follows belongs to it. */
  #afterReturn = false;

  /** Throws `upstream_error` for a frame of more than 8 MiB. */
  push(bytes: Uint8Array): SseFrame[] {
    const frames: SseFrame[] = [];
    this.#read(this.#utf8.decode(bytes, { stream: true }), frames);
    return frames;
  }

  /** The body has ended: its last frame may lack the blank line, and its last line the line end. */
  end(): SseFrame[] {
    const frames: SseFrame[] = [];
    this.#read(this.#utf8.decode(), frames);
    if (this.#line !== "") this.#take(this.#line, frames);
    this.#line = "";
    this.#dispatch(frames);
    return frames;
  }

  #read(text: string, frames: SseFrame[]): void {
    if (text === "") return;
    let from = this.#afterReturn && text.startsWith("\n") ? 1 : 0;
    this.#afterReturn = false;
    let feed = text.indexOf("\n", from);
    let back = text.indexOf("\r", from);
    while (feed !== -1 || back !== -1) {
      const returned = back !== -1 && (feed === -1 || back < feed);
      const end = returned ? back : feed;
      this.#take(this.#line === "" ? text.slice(from, end) : this.#line + text.slice(from, end), frames);
      this.#line = "";
      from = end + 1;
      if (returned && from === text.length) this.#afterReturn = true;
      else if (returned && feed === from) from += 1;
      if (feed !== -1 && feed < from) feed = text.indexOf("\n", from);
      if (returned) back = text.indexOf("\r", from);
    }
    if (from < text.length) this.#line += from === 0 ? text : text.slice(from);
    this.#limit(this.#line.length);
  }

  /** One whole line. Comments, `id`, `retry` and unknown fields mean nothing here. */
  #take(line: string, frames: SseFrame[]): void {
    if (line === "") this.#dispatch(frames);
    else if (line.startsWith("data:")) {
      const value = fieldValue(line, 5);
      this.#data = this.#data === null ? value : `${this.#data}\n${value}`;
      this.#limit(this.#data.length);
    } else if (line.startsWith("event:")) this.#event = fieldValue(line, 6);
    else if (line === "data") this.#data = this.#data === null ? "" : `${this.#data}\n`;
  }

  #dispatch(frames: SseFrame[]): void {
    if (this.#data !== null) frames.push({ event: this.#event, data: this.#data });
    this.#event = "";
    this.#data = null;
  }

  #limit(chars: number): void {
    if (chars > maxFrameChars) {
      throw new GatewayError("upstream_error", "The provider sent an event of more than 8 MiB.");
    }
  }
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
