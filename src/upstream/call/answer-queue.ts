import { asBuffer } from "../../base/as-buffer.ts";
import type { GatewayError } from "../../base/errors.ts";

/** Bytes received from a provider and not read yet. */
export class AnswerQueue {
  readonly pieces: Uint8Array[] = [];
  /** The length of all pieces together. */
  bytes = 0;
  #reader: PromiseWithResolvers<Uint8Array | null> | null = null;
  #isComplete = false;
  #brokenBy: GatewayError | null = null;

  add(piece: Uint8Array): void {
    if (this.#reader !== null) {
      this.#reader.resolve(piece);
      this.#reader = null;
      return;
    }
    this.pieces.push(piece);
    this.bytes += piece.length;
  }

  /** Nothing more will come. */
  end(): void {
    this.#isComplete = true;
    this.#reader?.resolve(null);
    this.#reader = null;
  }

  /** The answer broke off. What was received before can still be read. */
  fail(error: GatewayError): void {
    this.#brokenBy = error;
    this.#reader?.reject(error);
    this.#reader = null;
  }

  get isEmpty(): boolean {
    return this.pieces.length === 0;
  }

  /** The next piece, null at the end, or a promise of either. Throws the error given to `fail`. */
  take(): Uint8Array | null | Promise<Uint8Array | null> {
    const piece = this.pieces.shift();
    if (piece !== undefined) {
      this.bytes -= piece.length;
      return piece;
    }
    if (this.#brokenBy !== null) throw this.#brokenBy;
    if (this.#isComplete) return null;
    this.#reader = Promise.withResolvers();
    return this.#reader.promise;
  }

  /** All pieces joined. Replaces them, so that a second call does not join again. */
  joined(): Buffer {
    const whole = joined(this.pieces);
    if (this.pieces.length > 1) this.pieces.splice(0, this.pieces.length, whole);
    return whole;
  }
}

/** Does not copy a single piece. */
export function joined(pieces: readonly Uint8Array[]): Buffer {
  const [only] = pieces;
  return pieces.length !== 1 || only === undefined ? Buffer.concat(pieces) : asBuffer(only);
}
