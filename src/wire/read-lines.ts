import { asBuffer } from "../base/bytes.ts";
import type { Head, Receiver, Transfer } from "./transfer.ts";

/** What is read ahead of the reader. */
const maxQueuedBytes = 256 * 1024;
const lineFeed = 10;

export interface LineLimits {
  /** A longer line is an error. */
  readonly maxLineBytes: number;
  /** The longest wait for the next piece. */
  readonly idleMs: number;
}

/** A response of any length, line by line, in the pieces that arrived, as fast as its reader takes them. Throws where it breaks off. */
export async function* readLines(
  send: (receiver: Receiver) => Transfer,
  check: (head: Head) => void,
  { maxLineBytes, idleMs }: LineLimits,
): AsyncGenerator<readonly Uint8Array[]> {
  const pieces = new PieceQueue(send, check);
  let rest: Buffer[] = [];
  let restBytes = 0;
  try {
    for (let piece = await pieces.next(idleMs); piece !== null; piece = await pieces.next(idleMs)) {
      let start = 0;
      for (let end = piece.indexOf(lineFeed); end !== -1; end = piece.indexOf(lineFeed, start)) {
        const line = [...rest, piece.subarray(start, end)];
        const bytes = restBytes + end - start;
        [rest, restBytes, start] = [[], 0, end + 1];
        if (bytes > 0) yield line;
      }
      const left = piece.subarray(start);
      rest.push(left);
      restBytes += left.length;
      if (restBytes > maxLineBytes) throw new Error("A line of the response is too long.");
    }
    if (restBytes > 0) yield rest;
  } finally {
    pieces.cancel();
  }
}

class PieceQueue implements Receiver {
  readonly #transfer: Transfer;
  readonly #check: (head: Head) => void;
  readonly #pieces: Buffer[] = [];
  #bytes = 0;
  #hasEnded = false;
  #failure: { readonly cause: unknown } | null = null;
  #change = Promise.withResolvers<void>();

  constructor(send: (receiver: Receiver) => Transfer, check: (head: Head) => void) {
    this.#check = check;
    this.#transfer = send(this);
  }

  connected(): void {}

  answered(head: Head): void {
    try {
      this.#check(head);
    } catch (cause) {
      this.failed(cause);
    }
  }

  received(bytes: Uint8Array): void {
    this.#pieces.push(asBuffer(bytes));
    this.#bytes += bytes.length;
    if (this.#bytes > maxQueuedBytes) this.#transfer.pause();
    this.#change.resolve();
  }

  ended(): void {
    this.#hasEnded = true;
    this.#change.resolve();
  }

  failed(cause: unknown): void {
    this.#failure ??= { cause };
    this.#change.resolve();
  }

  async next(idleMs: number): Promise<Buffer | null> {
    const timer = setTimeout(() => this.failed(new Error("The response stalled.")), idleMs);
    try {
      for (;;) {
        if (this.#failure !== null) throw this.#failure.cause;
        const piece = this.#pieces.shift();
        if (piece !== undefined) return this.#taken(piece);
        if (this.#hasEnded) return null;
        await this.#change.promise;
        this.#change = Promise.withResolvers();
      }
    } finally {
      clearTimeout(timer);
    }
  }

  cancel(): void {
    this.#transfer.cancel();
  }

  #taken(piece: Buffer): Buffer {
    this.#bytes -= piece.length;
    if (this.#bytes === 0) this.#transfer.resume();
    return piece;
  }
}
