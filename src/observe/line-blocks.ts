import { writeSync } from "node:fs";

/** Some hundred lines: a quarter of it costs half as much again, and an empty pipe takes all of it at once. */
const blockChars = 32 * 1024;
/** No character takes more in UTF-8, per unit of a string's length. */
const mostBytesPerChar = 3;
/** A reader that has stalled must not make the gateway grow: what waits beyond this is given up. */
const mostUnsentBytes = 1024 * 1024;

/**
 * Where log lines go: collected, and written in blocks. One system call then serves dozens of requests, and
 * a line costs no more than adding one string to another.
 */
export class LineBlocks {
  readonly #descriptor: number;
  /** Used for every block, because each would otherwise leave as much for the collector. */
  readonly #encoded = Buffer.allocUnsafe(2 * mostBytesPerChar * blockChars);
  #block = "";
  /** What the descriptor would not take; it stays empty but for a pipe that does not block. */
  #unsent: Buffer | null = null;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  write(line: string): void {
    this.#block += line;
    if (this.#block.length >= blockChars) this.flush();
  }

  flush(): void {
    if (this.#block === "" && this.#unsent === null) return;
    const block = this.#encode(this.#block);
    this.#block = "";
    const bytes = this.#unsent === null ? block : Buffer.concat([this.#unsent, block]);
    const left = bytes.subarray(this.#send(bytes));
    this.#unsent = left.length === 0 || left.length > mostUnsentBytes ? null : Buffer.from(left);
  }

  /** A block that may not fit, such as one with a long error in it, gets a buffer of its own. */
  #encode(block: string): Buffer {
    if (block.length * mostBytesPerChar > this.#encoded.length) return Buffer.from(block);
    return this.#encoded.subarray(0, this.#encoded.write(block));
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
