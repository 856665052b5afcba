import { fstatSync, writeSync } from "node:fs";
import { systemCode } from "../base/system/system-code.ts";

/** About a hundred lines, and what an empty pipe accepts at once. Blocks of 8 KB cost half as much again per line. */
const blockBytes = 32 * 1024;
/** UTF-8 needs at most this many bytes per UTF-16 code unit. */
const maxBytesPerChar = 3;
/** Beyond this, lines are dropped: a stalled reader of the log must not make memory grow. */
const maxUnsentBytes = 1024 * 1024;

/**
 * Buffers log lines and writes them in blocks, so that one system call serves dozens of requests. Lines are encoded as they
 * arrive, while their text is still in the processor's caches.
 */
export class LineBuffer {
  readonly #descriptor: number;
  readonly #block = Buffer.allocUnsafe(2 * blockBytes);
  #filled = 0;
  /** Bytes that the descriptor did not accept. Only a non-blocking pipe leaves any. */
  #unsent: Buffer | null = null;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  write(line: string): void {
    const maxBytes = line.length * maxBytesPerChar;
    if (this.#filled + maxBytes > this.#block.length) this.flush();
    if (maxBytes > this.#block.length) {
      this.#send(Buffer.from(line));
      return;
    }
    this.#filled += this.#block.write(line, this.#filled);
    if (this.#filled >= blockBytes) this.flush();
  }

  /** Whether the descriptor left something unwritten at the last flush. */
  get hasUnsent(): boolean {
    return this.#unsent !== null;
  }

  flush(): void {
    if (this.#filled === 0 && this.#unsent === null) return;
    const block = this.#block.subarray(0, this.#filled);
    this.#filled = 0;
    this.#send(block);
  }

  #send(block: Buffer): void {
    const bytes = this.#unsent === null ? block : Buffer.concat([this.#unsent, block]);
    const left = bytes.subarray(this.#writeOut(bytes));
    this.#unsent = left.length === 0 || left.length > maxUnsentBytes ? null : Buffer.from(left);
  }

  /** Returns how many bytes need no further attempt. A log that cannot be written is dropped: there is nowhere to report it. */
  #writeOut(bytes: Buffer): number {
    let sent = 0;
    try {
      while (sent < bytes.length) sent += writeSync(this.#descriptor, bytes, sent);
    } catch (error) {
      return systemCode(error) === "EAGAIN" ? sent : bytes.length;
    }
    return sent;
  }
}

/**
 * Whether the descriptor is the stream that systemd connected to the journal. A process whose output was redirected
 * inherits the variable too, so the stream is compared (systemd.exec(5), `$JOURNAL_STREAM`).
 */
export function isJournalStream(descriptor: number): boolean {
  const stream = process.env["JOURNAL_STREAM"];
  if (stream === undefined) return false;
  try {
    const { dev, ino } = fstatSync(descriptor, { bigint: true });
    return stream === `${dev}:${ino}`;
  } catch {
    return false;
  }
}

/**
 * The prefix that the journal reads as the priority of a line, and removes. Every line begins with its level:
 * `{"level":50,`.
 */
export function priorityPrefix(line: string): string {
  switch (line.slice('{"level":'.length, line.indexOf(","))) {
    case "60":
      return "<2>";
    case "50":
      return "<3>";
    case "40":
      return "<4>";
    case "30":
      return "<6>";
    default:
      return "<7>";
  }
}
