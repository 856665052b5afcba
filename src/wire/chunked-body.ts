import { hexDigit, noDigit } from "../base/bytes.ts";
import { fieldLine, malformed, quotedString, token } from "./response-head.ts";

const cr = 13;
const lf = 10;
const semicolon = 59;

/** 4 GB, more than any real chunk. */
const maxSizeDigits = 8;
/** Extensions and trailers are allowed, but rare. */
const maxExtensionBytes = 4096;
const maxTrailerBytes = 8192;
const maxTrailers = 64;

const extensionsForm = new RegExp(`^(?:;${token}(?:=(?:${token}|${quotedString}))?)+$`);
const trailerForm = new RegExp(`^${fieldLine}$`);
/** Headers that define where the body ends have no place after its end. */
const framingTrailer = /^(?:content-length|transfer-encoding):/i;

type State = "size" | "extensions" | "data" | "data_end" | "trailer";

/** The problem if a line does not end with CR and LF. */
const lineEndProblems: Readonly<Record<State, string>> = {
  size: "a chunk's size does not end with CR and LF",
  extensions: "a chunk's size does not end with CR and LF",
  data: "a chunk is longer than its size",
  data_end: "a chunk is longer than its size",
  trailer: "a line of its trailer does not end with CR and LF",
};

/**
 * Decodes the chunked transfer coding of a body (RFC 9112, 7.1), however the network split it. A read of an event
 * stream often has several small chunks. Their data are moved together within the buffer that arrived, so each read
 * gives one piece and allocates nothing.
 */
export class ChunkedBody {
  /** The last chunk and the trailer have been read. */
  isOver = false;
  /** Bytes of the last push that came after the end. */
  surplusBytes = 0;
  #state: State = "size";
  /** The last byte was the CR of a line's end. */
  #hasReturned = false;
  #size = 0;
  #sizeDigits = 0;
  /** The part of a chunk's extensions, or of a line of the trailer, that has arrived. */
  #line = "";
  #trailers = 0;
  #trailerBytes = 0;

  reset(): void {
    this.isOver = false;
    this.surplusBytes = 0;
    this.#line = "";
    this.#trailers = 0;
    this.#trailerBytes = 0;
    this.#beginSize();
  }

  /** Returns the data in these bytes, as a view of them. Overwrites them. */
  push(bytes: Uint8Array): Uint8Array {
    let at = 0;
    let start = 0;
    let end = 0;
    while (at < bytes.length && !this.isOver) {
      const isNew = this.#state === "size" && this.#sizeDigits === 0;
      const data = isNew ? this.#readPlainSize(bytes, at) : at;
      if (data === -1 || (!isNew && this.#state !== "data")) {
        this.#readControlByte(bytes[at] ?? 0);
        at += 1;
        continue;
      }
      at = Math.min(data + this.#size, bytes.length);
      if (end === 0) start = end = data;
      if (end !== data) bytes.copyWithin(end, data, at);
      end += at - data;
      this.#size -= at - data;
      if (this.#size === 0 && bytes[at] === cr && bytes[at + 1] === lf) {
        at += 2;
        if (!isNew) this.#beginSize();
      } else this.#state = this.#size === 0 ? "data_end" : "data";
    }
    this.surplusBytes = bytes.length - at;
    return bytes.subarray(start, end);
  }

  /**
   * Reads the whole line with a chunk's size, and returns the index after it. If the line is not all there, has
   * extensions, is malformed or the last chunk's, nothing is read, and -1 returned: the states read it byte by byte. This is a
   * shortcut for what nearly all lines are: byte by byte, they took a tenth of the main thread under fast streams.
   */
  #readPlainSize(bytes: Uint8Array, from: number): number {
    let size = 0;
    let at = from;
    for (; at - from < maxSizeDigits; at += 1) {
      const digit = hexDigit(bytes[at] ?? cr);
      if (digit === noDigit) break;
      size = size * 16 + digit;
    }
    if (size === 0 || bytes[at] !== cr || bytes[at + 1] !== lf) return -1;
    this.#size = size;
    return at + 2;
  }

  #readControlByte(byte: number): void {
    if (this.#state === "trailer") {
      this.#trailerBytes += 1;
      if (this.#trailerBytes > maxTrailerBytes) throw malformed("its trailer is too long");
    }
    if (this.#hasReturned) {
      if (byte !== lf) throw malformed(lineEndProblems[this.#state]);
      this.#hasReturned = false;
      this.#endLine();
    } else if (this.#state === "size") this.#sizeByte(byte);
    else if (this.#state === "extensions") this.#extensionByte(byte);
    else if (byte === cr) this.#hasReturned = true;
    else if (byte === lf || this.#state === "data_end") throw malformed(lineEndProblems[this.#state]);
    else this.#line += String.fromCharCode(byte);
  }

  #endLine(): void {
    if (this.#state === "trailer") this.#trailerLine();
    else if (this.#state === "data_end") this.#beginSize();
    else this.#state = this.#size === 0 ? "trailer" : "data";
  }

  #beginSize(): void {
    this.#state = "size";
    this.#hasReturned = false;
    this.#size = 0;
    this.#sizeDigits = 0;
  }

  #sizeByte(byte: number): void {
    const digit = hexDigit(byte);
    if (digit !== noDigit) {
      this.#size = this.#size * 16 + digit;
      this.#sizeDigits += 1;
      if (this.#sizeDigits > maxSizeDigits) throw malformed("a chunk is too large");
      return;
    }
    if (this.#sizeDigits === 0) throw malformed("a chunk has no size");
    if (byte === cr) this.#hasReturned = true;
    else if (byte === semicolon) {
      this.#state = "extensions";
      this.#line = ";";
    } else throw malformed("a chunk's size is not a number");
  }

  /** Extensions are ignored, but must be well-formed, because they determine where the chunk begins. */
  #extensionByte(byte: number): void {
    if (byte !== cr && byte !== lf) {
      if (this.#line.length >= maxExtensionBytes) throw malformed("a chunk's extension is too long");
      this.#line += String.fromCharCode(byte);
      return;
    }
    if (byte === lf || !extensionsForm.test(this.#line)) throw malformed("a chunk's extension is invalid");
    this.#line = "";
    this.#hasReturned = true;
  }

  /** Lines up to an empty one. They are checked and ignored. */
  #trailerLine(): void {
    const line = this.#line;
    this.#line = "";
    this.isOver = line === "";
    if (this.isOver) return;
    this.#trailers += 1;
    if (this.#trailers > maxTrailers) throw malformed("its trailer has too many lines");
    if (!trailerForm.test(line))
      throw malformed("a line of its trailer does not have the form `name: value`");
    if (framingTrailer.test(line)) throw malformed("its trailer has a length or a transfer coding");
  }
}
