import { asBuffer, releaseBytes, withoutRest } from "../../base/bytes.ts";
import type { GatewayError } from "../../base/errors.ts";
import type { Head, Transfer } from "../../wire/transfer.ts";
import { maxProviderResponseBytes, type Plan } from "../upstream.ts";

/**
 * Takes a piece that its reader waits for, within the callback that received it. Returns true if the reader need not
 * wake up for it.
 */
export type PieceTaker = (piece: Uint8Array) => boolean;

/**
 * Limits how much is read at once. Thousands of the smallest events take a few milliseconds, and the network can
 * deliver half a megabyte in one piece.
 */
export const maxReadBytes = 32 * 1024;

/** Returned to a reader that wakes up after the taker has taken a piece. */
const releasedBytes = new Uint8Array(0);

/** Bytes received from a provider and not read yet. */
export class ResponseQueue {
  readonly pieces: Uint8Array[] = [];
  /** The length of all pieces together. */
  bytes = 0;
  #reader: PromiseWithResolvers<Uint8Array | null> | null = null;
  /** The reader's, while it waits. */
  #taker: PieceTaker | null = null;
  #isComplete = false;
  #brokenBy: GatewayError | null = null;

  add(piece: Uint8Array): void {
    const reader = this.#reader;
    if (reader === null) {
      this.#keep(piece);
    } else if (piece.length <= maxReadBytes) {
      this.#hand(piece, reader);
    } else {
      this.#keep(piece.subarray(maxReadBytes));
      this.#hand(piece.subarray(0, maxReadBytes), reader);
    }
  }

  #keep(piece: Uint8Array): void {
    this.pieces.push(piece);
    this.bytes += piece.length;
  }

  /** An error thrown by the taker is passed to the reader, since nothing else would report it. */
  #hand(piece: Uint8Array, reader: PromiseWithResolvers<Uint8Array | null>): void {
    try {
      if (this.#taker === null) reader.resolve(piece);
      else if (this.#taker(piece) && this.isEmpty) return;
      else reader.resolve(releasedBytes);
    } catch (error) {
      reader.reject(error);
    }
    this.#reader = null;
  }

  /** Called when nothing more will arrive. */
  end(): void {
    this.#isComplete = true;
    this.#reader?.resolve(null);
    this.#reader = null;
  }

  /** The response broke off. Pieces received before can still be read. */
  fail(error: GatewayError): void {
    this.#brokenBy = error;
    this.#reader?.reject(error);
    this.#reader = null;
  }

  /** A reader waits for the next piece. */
  get isAwaited(): boolean {
    return this.#reader !== null;
  }

  get isEmpty(): boolean {
    return this.pieces.length === 0;
  }

  /**
   * The next piece, null at the end, or a promise of either. Throws the error passed to `fail`. While the promise is
   * pending, pieces go to the taker, if there is one; it resolves to an empty piece once the taker has returned false.
   */
  take(taker: PieceTaker | null = null): Uint8Array | null | Promise<Uint8Array | null> {
    const piece = this.#next();
    if (piece !== null) return piece;
    if (this.#brokenBy !== null) throw this.#brokenBy;
    if (this.#isComplete) return null;
    this.#reader = Promise.withResolvers();
    this.#taker = taker;
    return this.#reader.promise;
  }

  #next(): Uint8Array | null {
    const [first] = this.pieces;
    if (first === undefined) return null;
    const piece = first.subarray(0, maxReadBytes);
    if (piece.length < first.length) this.pieces[0] = withoutRest(first.subarray(maxReadBytes));
    else this.pieces.shift();
    this.bytes -= piece.length;
    return piece;
  }

  /** All pieces joined. Replaces them, so that a second call does not join again. */
  joined(): Buffer {
    const whole = joined(this.pieces);
    if (this.pieces.length > 1)
      for (const piece of this.pieces.splice(0, Infinity, whole)) releaseBytes(piece);
    return whole;
  }
}

/** Does not copy a single piece. */
export function joined(pieces: readonly Uint8Array[]): Buffer {
  const [only] = pieces;
  return pieces.length !== 1 || only === undefined ? Buffer.concat(pieces) : asBuffer(only);
}

/** Non-streaming responses larger than this take their memory from a budget. */
const maxUncountedBytes = 1024 * 1024;

/** Whether a non-streaming response exceeds the limit for providers. */
export function isTooLarge({ bytes }: ResponseQueue): boolean {
  return bytes > maxProviderResponseBytes;
}

/** Whether this piece has made a non-streaming response a large one. */
export function hasBecomeLarge({ bytes }: ResponseQueue, piece: Uint8Array): boolean {
  return bytes > maxUncountedBytes && bytes - piece.length <= maxUncountedBytes;
}

/** The rest of a large response is read once there is memory for all of it. Until then TCP slows the provider down. */
export async function awaitMemory(plan: Plan, head: Head | null, transfer: Transfer | null): Promise<void> {
  if (plan.awaitMemory === undefined) return;
  const announced = Number(head?.get("content-length") ?? maxProviderResponseBytes);
  transfer?.pause();
  // Rejects if the exchange has ended, which ends this call, too.
  await plan.awaitMemory(Math.min(announced, maxProviderResponseBytes)).catch(() => {});
  transfer?.resume();
}
