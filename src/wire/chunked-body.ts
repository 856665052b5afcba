import { hexDigit, noDigit } from "../base/hex-digit.ts";
import { malformed } from "./answer-head.ts";

const cr = 13;
const lf = 10;
const semicolon = 59;
const space = 32;
const tab = 9;

/** More than any chunk that fits into memory. */
const mostSizeDigits = 8;
/** Extensions and trailers are allowed, and nobody sends any. */
const mostLineBytes = 4096;

type Part = "size" | "extension" | "data" | "data_end" | "trailer";

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
  #lineBytes = 0;

  reset(): void {
    this.isOver = false;
    this.surplusBytes = 0;
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
      if (this.#size === 0) this.#part = "data_end";
    }
    this.surplusBytes = bytes.length - at;
    return bytes.subarray(start, end);
  }

  #control(byte: number): void {
    switch (this.#part) {
      case "size":
        this.#sizeByte(byte);
        return;
      case "extension":
        this.#skipped();
        if (byte === lf) this.#sizeRead();
        return;
      case "data_end":
        if (byte === lf) this.#beginSize();
        else if (byte !== cr) throw malformed("a chunk is longer than it says");
        return;
      default:
        this.#trailerByte(byte);
    }
  }

  #beginSize(): void {
    this.#part = "size";
    this.#size = 0;
    this.#sizeDigits = 0;
    this.#lineBytes = 0;
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
    if (byte === lf) this.#sizeRead();
    else if (byte === cr || byte === semicolon || byte === space || byte === tab) this.#part = "extension";
    else throw malformed("a chunk's size is not a number");
  }

  #sizeRead(): void {
    this.#part = this.#size === 0 ? "trailer" : "data";
    this.#lineBytes = 0;
  }

  /** Lines up to an empty one; what they say is not asked for. */
  #trailerByte(byte: number): void {
    if (byte === cr) return;
    if (byte !== lf) this.#skipped();
    else if (this.#lineBytes === 0) this.isOver = true;
    else this.#lineBytes = 0;
  }

  #skipped(): void {
    this.#lineBytes += 1;
    if (this.#lineBytes > mostLineBytes) throw malformed("a chunk's extension or trailer is too long");
  }
}
