import { asBuffer } from "../base/as-buffer.ts";
import type { GatewayError } from "../base/errors.ts";

/** What a provider has sent and nobody has read yet. */
export class AnswerQueue {
  readonly pieces: Uint8Array[] = [];
  /** Of all pieces together. */
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

  /** Nothing more will come, although something should. What has come can still be read. */
  fail(error: GatewayError): void {
    this.#brokenBy = error;
    this.#reader?.reject(error);
    this.#reader = null;
  }

  get isEmpty(): boolean {
    return this.pieces.length === 0;
  }

  /** The next piece, null at the end, or a promise of either. Throws what `fail` was told. */
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

  /** Everything in one piece, which takes the place of the others: who asks again does not join again. */
  joined(): Buffer {
    const whole = joined(this.pieces);
    if (this.pieces.length > 1) this.pieces.splice(0, this.pieces.length, whole);
    return whole;
  }
}

/** One piece alone is not copied. */
export function joined(pieces: readonly Uint8Array[]): Buffer {
  const [only] = pieces;
  return pieces.length !== 1 || only === undefined ? Buffer.concat(pieces) : asBuffer(only);
}
