import { asBuffer } from "../base/bytes/as-buffer.ts";

/** What happens to recordings is sent to the thread as one run of bytes: a message for each would cost more than all else. */
export const frameKinds = {
  start: 1,
  request: 2,
  response: 3,
  upstreamRequest: 4,
  upstreamResponse: 5,
  end: 6,
  drop: 7,
} as const;
export type FrameKind = (typeof frameKinds)[keyof typeof frameKinds];

/** Kind, whether the bytes are in shared memory, the recording's number, and the length, or the place among the shared ones. */
const headBytes = 10;
const firstBytes = 64 * 1024;
/** What has as many is sent at once. */
export const fullLogBytes = 1024 * 1024;
/** From here on bytes that are in shared memory already are not copied. */
const sharedFrom = 64 * 1024;

export interface SentLog {
  readonly bytes: Uint8Array;
  readonly shared: readonly Uint8Array[];
}

export interface Frame {
  readonly kind: FrameKind;
  readonly recording: number;
  readonly part: Part;
}

/** A part of some bytes, without a view of its own, which would cost as much as to read it. */
export interface Part {
  readonly source: Buffer;
  readonly start: number;
  readonly end: number;
}

export function textOf({ source, start, end }: Part): string {
  return source.toString("utf8", start, end);
}

export class FrameLog {
  #buffer = Buffer.allocUnsafeSlow(firstBytes);
  #length = 0;
  #shared: Uint8Array[] = [];
  /** Of the shared ones. */
  #sharedBytes = 0;

  get bytes(): number {
    return this.#length + this.#sharedBytes;
  }

  add(kind: FrameKind, recording: number, piece: Uint8Array | string): void {
    if (typeof piece === "string") this.#addText(kind, recording, piece);
    else if (piece.length >= sharedFrom && piece.buffer instanceof SharedArrayBuffer) {
      this.#reserve(headBytes);
      this.#writeHead(kind, recording, this.#shared.push(piece) - 1, true);
      this.#sharedBytes += piece.length;
    } else {
      this.#reserve(headBytes + piece.length);
      this.#writeHead(kind, recording, piece.length, false);
      this.#buffer.set(piece, this.#length);
      this.#length += piece.length;
    }
  }

  #addText(kind: FrameKind, recording: number, text: string): void {
    this.#reserve(headBytes + text.length * 3);
    const head = this.#length;
    this.#writeHead(kind, recording, 0, false);
    const written = this.#buffer.write(text, this.#length);
    writeNumber(this.#buffer, head + 6, written);
    this.#length += written;
  }

  /** All of it, and an empty log from then on. */
  take(): SentLog {
    const bytes = this.#buffer.subarray(0, this.#length);
    const shared = this.#shared;
    this.#buffer = Buffer.allocUnsafeSlow(firstBytes);
    this.#length = 0;
    this.#shared = [];
    this.#sharedBytes = 0;
    return { bytes, shared };
  }

  #writeHead(kind: FrameKind, recording: number, length: number, isShared: boolean): void {
    const at = this.#length;
    this.#buffer[at] = kind;
    this.#buffer[at + 1] = isShared ? 1 : 0;
    writeNumber(this.#buffer, at + 2, recording);
    writeNumber(this.#buffer, at + 6, length);
    this.#length = at + headBytes;
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2));
    larger.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = larger;
  }
}

/** Of 32 bits. Byte by byte this takes a tenth of what the methods of a Buffer take. */
function writeNumber(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value;
  bytes[at + 1] = value >>> 8;
  bytes[at + 2] = value >>> 16;
  bytes[at + 3] = value >>> 24;
}

function readNumber(bytes: Uint8Array, at: number): number {
  const lower = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16);
  return lower + (bytes[at + 3] ?? 0) * 0x1000000;
}

/** Visits every frame. Its bytes are a part of the log, or a piece of shared memory, which is not copied. */
export function readFrames({ bytes, shared }: SentLog, visit: (frame: Frame) => void): void {
  const log = asBuffer(bytes);
  for (let at = 0; at < log.length; ) {
    const kind = log[at] as FrameKind;
    const isShared = log[at + 1] === 1;
    const recording = readNumber(log, at + 2);
    const length = readNumber(log, at + 6);
    at += headBytes;
    if (isShared) {
      const piece = asBuffer(shared[length] ?? new Uint8Array());
      visit({ kind, recording, part: { source: piece, start: 0, end: piece.length } });
    } else {
      visit({ kind, recording, part: { source: log, start: at, end: at + length } });
      at += length;
    }
  }
}
