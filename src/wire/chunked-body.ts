import { hexDigit, noDigit } from "../base/hex-digit.ts";
import { malformed } from "./answer-head.ts";
import { fieldLine, quotedString, token } from "./grammar.ts";

const cr = 13;
const lf = 10;
const semicolon = 59;

/** More than any chunk that fits into memory. */
const mostSizeDigits = 8;
/** Extensions and trailers are allowed, and hardly anybody sends any. */
const mostExtensionBytes = 4096;
const mostTrailerBytes = 8192;
const mostTrailers = 64;

const extensionsForm = new RegExp(`^(?:;${token}(?:=(?:${token}|${quotedString}))?)+$`);
const trailerForm = new RegExp(`^${fieldLine}$`);
/** Would say where the body ends, when it has ended already. */
const framingTrailer = /^(?:content-length|transfer-encoding):/i;

type Part = "size" | "extensions" | "size_lf" | "data" | "data_cr" | "data_lf" | "trailer" | "trailer_lf";

/**
 * Takes the chunked transfer coding off a body (RFC 9112, 7.1), wherever the network has cut it. An event
 * stream has a chunk per event and several of them in one read, so the data are moved together within the
 * bytes that came: one piece comes out for one that went in, and nothing is allocated.
 */
export class ChunkedBody {
  /** True once the last chunk and its trailer have been read. */
  isOver = false;
  /** How many bytes of the last push came behind the end. */
  surplusBytes = 0;
  #part: Part = "size";
  #size = 0;
  #sizeDigits = 0;
  /** What has come of a chunk's extensions or of a line of the trailer. */
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

  /** What is data in these bytes, which are overwritten. */
  push(bytes: Uint8Array): Uint8Array {
    let at = 0;
    let start = 0;
    let end = 0;
    while (at < bytes.length && !this.isOver) {
      if (this.#part !== "data") {
        this.#control(bytes[at] ?? 0);
        at += 1;
        continue;
      }
      const next = Math.min(at + this.#size, bytes.length);
      if (end === 0) start = end = at;
      if (end !== at) bytes.copyWithin(end, at, next);
      end += next - at;
      this.#size -= next - at;
      at = next;
      if (this.#size === 0) this.#part = "data_cr";
    }
    this.surplusBytes = bytes.length - at;
    return bytes.subarray(start, end);
  }

  #control(byte: number): void {
    switch (this.#part) {
      case "size":
        this.#sizeByte(byte);
        return;
      case "size_lf":
        if (byte !== lf) throw malformed("a chunk's size does not end with CR and LF");
        this.#part = this.#size === 0 ? "trailer" : "data";
        return;
      case "data_cr":
        if (byte !== cr) throw malformed("a chunk is longer than it says");
        this.#part = "data_lf";
        return;
      case "data_lf":
        if (byte !== lf) throw malformed("a chunk is longer than it says");
        this.#beginSize();
        return;
      case "extensions":
        this.#extensionByte(byte);
        return;
      default:
        this.#trailerByte(byte);
    }
  }

  #beginSize(): void {
    this.#part = "size";
    this.#size = 0;
    this.#sizeDigits = 0;
  }

  #sizeByte(byte: number): void {
    const digit = hexDigit(byte);
    if (digit !== noDigit) {
      this.#size = this.#size * 16 + digit;
      this.#sizeDigits += 1;
      if (this.#sizeDigits > mostSizeDigits) throw malformed("a chunk is too large");
      return;
    }
    if (this.#sizeDigits === 0) throw malformed("a chunk has no size");
    if (byte === cr) this.#part = "size_lf";
    else if (byte === semicolon) {
      this.#part = "extensions";
      this.#line = ";";
    } else throw malformed("a chunk's size is not a number");
  }

  /** What extensions say is not asked for, but where they end is. */
  #extensionByte(byte: number): void {
    if (byte !== cr && byte !== lf) {
      if (this.#line.length >= mostExtensionBytes) throw malformed("a chunk's extension is too long");
      this.#line += String.fromCharCode(byte);
      return;
    }
    if (byte === lf || !extensionsForm.test(this.#line)) throw malformed("a chunk's extension is not proper");
    this.#line = "";
    this.#part = "size_lf";
  }

  /** Lines up to an empty one; what they say is not asked for. */
  #trailerByte(byte: number): void {
    this.#trailerBytes += 1;
    if (this.#trailerBytes > mostTrailerBytes) throw malformed("its trailer is too long");
    if (this.#part === "trailer_lf") {
      if (byte !== lf) throw malformed("a line of its trailer does not end with CR and LF");
      this.#trailerLine();
    } else if (byte === cr) this.#part = "trailer_lf";
    else if (byte === lf) throw malformed("a line of its trailer does not end with CR and LF");
    else this.#line += String.fromCharCode(byte);
  }

  #trailerLine(): void {
    const line = this.#line;
    this.#line = "";
    this.#part = "trailer";
    this.isOver = line === "";
    if (this.isOver) return;
    this.#trailers += 1;
    if (this.#trailers > mostTrailers) throw malformed("its trailer has too many lines");
    if (!trailerForm.test(line))
      throw malformed("a line of its trailer does not have the form `name: value`");
    if (framingTrailer.test(line)) throw malformed("its trailer has a length or a transfer coding");
  }
}
