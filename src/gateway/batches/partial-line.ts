import { sharedBytes } from "../../base/bytes.ts";
import { largeBodyBytes } from "../body-worker/large-body.ts";

const usualBytes = 64 * 1024;

/**
 * What was read of a line that has not ended. All lines of an input use the same memory, which other threads see. It is taken from the
 * budget for bodies before anything is kept.
 */
export class PartialLine {
  readonly #maxBytes: number;
  readonly #takeMemory: (bytes: number) => void;
  #memory: Uint8Array = new Uint8Array();
  #taken = 0;
  #length = 0;

  /** A line that is longer than `maxBytes` is only counted. `takeMemory` throws if there is none. */
  constructor(maxBytes: number, takeMemory: (bytes: number) => void) {
    this.#maxBytes = maxBytes;
    this.#takeMemory = takeMemory;
  }

  /** How long the line is so far, kept or not. */
  get length(): number {
    return this.#length;
  }

  /** The bytes are copied. */
  add(piece: Uint8Array): void {
    const at = this.#length;
    this.#length += piece.length;
    if (piece.length === 0 || this.#length > this.#maxBytes) return;
    if (this.#length > this.#taken) {
      this.#takeMemory(this.#length - this.#taken);
      this.#taken = this.#length;
    }
    if (this.#length > this.#memory.length) this.#grow(at);
    this.#memory.set(piece, at);
  }

  #grow(kept: number): void {
    const steps = [usualBytes, largeBodyBytes].filter((bytes) => bytes < this.#maxBytes);
    const larger = sharedBytes(steps.find((bytes) => bytes >= this.#length) ?? this.#maxBytes);
    larger.set(this.#memory.subarray(0, kept));
    this.#memory = larger;
  }

  /** The whole line, of which these are the last bytes. Null if it is too long. Valid until the next one begins. */
  end(last: Uint8Array): Uint8Array | null {
    const isWhole = this.#length === 0 && last.length <= this.#maxBytes;
    if (isWhole) return last;
    this.add(last);
    const length = this.#length;
    this.#length = 0;
    if (length > this.#maxBytes) return null;
    return this.#memory.subarray(0, length);
  }
}
