import { writeSync } from "node:fs";

/** Some hundred lines: a quarter of it costs half as much again, and an empty pipe takes all of it at once. */
const blockBytes = 32 * 1024;
/** No character takes more in UTF-8, per unit of a string's length. */
const mostBytesPerChar = 3;
/** A reader that has stalled must not make the gateway grow: what waits beyond this is given up. */
const mostUnsentBytes = 1024 * 1024;

/**
 * Where log lines go: collected, and written in blocks, so that one system call serves dozens of requests. A line
 * is turned into bytes when it comes, while its pieces are at hand; kept as text, it would be all over the heap.
 */
export class LineBlocks {
  readonly #descriptor: number;
  readonly #block = Buffer.allocUnsafe(2 * blockBytes);
  #filled = 0;
  /** What the descriptor would not take; it stays empty but for a pipe that does not block. */
  #unsent: Buffer | null = null;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  write(line: string): void {
    const mostBytes = line.length * mostBytesPerChar;
    if (this.#filled + mostBytes > this.#block.length) this.flush();
    if (mostBytes > this.#block.length) {
      this.#hand(Buffer.from(line));
      return;
    }
    this.#filled += this.#block.write(line, this.#filled);
    if (this.#filled >= blockBytes) this.flush();
  }

  flush(): void {
    if (this.#filled === 0 && this.#unsent === null) return;
    const block = this.#block.subarray(0, this.#filled);
    this.#filled = 0;
    this.#hand(block);
  }

  #hand(block: Buffer): void {
    const bytes = this.#unsent === null ? block : Buffer.concat([this.#unsent, block]);
    const left = bytes.subarray(this.#send(bytes));
    this.#unsent = left.length === 0 || left.length > mostUnsentBytes ? null : Buffer.from(left);
  }

  /** How many bytes are dealt with: nobody can be told of a log that cannot be written, so errors end here. */
  #send(bytes: Buffer): number {
    let sent = 0;
    try {
      while (sent < bytes.length) sent += writeSync(this.#descriptor, bytes, sent);
    } catch (error) {
      const isFull = error instanceof Error && "code" in error && error.code === "EAGAIN";
      return isFull ? sent : bytes.length;
    }
    return sent;
  }
}
