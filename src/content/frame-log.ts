import { asBuffer } from "../base/bytes.ts";

/** Frames of many recordings are sent to the thread as one block of bytes. A message for each would cost more than everything else. */
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
/** The memory of a log, unless a piece needs more. A full one is sent at once. */
const blockBytes = 512 * 1024;
/** Blocks kept for reuse. */
const maxSpareBlocks = 4;
/** Bytes in shared memory are not copied from this size on. */
const sharedFrom = 64 * 1024;

export interface SentLog {
  readonly bytes: Uint8Array;
  readonly shared: readonly Uint8Array[];
}

export interface Frame {
  readonly kind: FrameKind;
  readonly recording: number;
  /** A view of the log, or a piece of shared memory. */
  readonly part: Buffer;
}

/** The thread returns the memory for reuse: touching new pages costs more than copying into mapped ones. */
export class FrameLog {
  #buffer: Buffer | null = null;
  readonly #spare: ArrayBuffer[] = [];
  #length = 0;
  #shared: Uint8Array[] = [];
  /** The bytes of shared frames. */
  #sharedBytes = 0;

  get bytes(): number {
    return this.#length + this.#sharedBytes;
  }

  /** Whether the log must be taken before this piece is added. */
  isFullFor(piece: Uint8Array | string): boolean {
    if (this.#buffer === null) return false;
    return this.#length + roomFor(piece) > this.#buffer.length || this.#sharedBytes > blockBytes;
  }

  add(kind: FrameKind, recording: number, piece: Uint8Array | string): void {
    this.#buffer ??= this.#block(roomFor(piece));
    if (typeof piece === "string") this.#addText(this.#buffer, kind, recording, piece);
    else if (isSent(piece)) {
      this.#writeHead(this.#buffer, kind, recording, this.#shared.push(piece) - 1, true);
      this.#sharedBytes += piece.length;
    } else {
      this.#writeHead(this.#buffer, kind, recording, piece.length, false);
      this.#buffer.set(piece, this.#length);
      this.#length += piece.length;
    }
  }

  #addText(buffer: Buffer, kind: FrameKind, recording: number, text: string): void {
    const head = this.#length;
    this.#writeHead(buffer, kind, recording, 0, false);
    const written = buffer.write(text, this.#length);
    buffer.writeUInt32LE(written, head + 6);
    this.#length += written;
  }

  /** Returns all frames and empties the log. */
  take(): SentLog {
    const bytes = this.#buffer?.subarray(0, this.#length) ?? Buffer.alloc(0);
    const shared = this.#shared;
    this.#buffer = null;
    this.#length = 0;
    this.#shared = [];
    this.#sharedBytes = 0;
    return { bytes, shared };
  }

  /** Reuses the memory of a log that the thread has processed. */
  reuse(block: ArrayBuffer): void {
    if (block.byteLength === blockBytes && this.#spare.length < maxSpareBlocks) this.#spare.push(block);
  }

  #block(needed: number): Buffer {
    const spare = needed <= blockBytes ? this.#spare.pop() : undefined;
    return spare === undefined ? Buffer.allocUnsafeSlow(Math.max(needed, blockBytes)) : Buffer.from(spare);
  }

  #writeHead(buffer: Buffer, kind: FrameKind, recording: number, length: number, isShared: boolean): void {
    const at = this.#length;
    buffer[at] = kind;
    buffer[at + 1] = isShared ? 1 : 0;
    buffer.writeUInt32LE(recording, at + 2);
    buffer.writeUInt32LE(length, at + 6);
    this.#length = at + headBytes;
  }
}

/** Whether its memory is shared with the thread rather than copied. */
function isSent(piece: Uint8Array): boolean {
  return piece.length >= sharedFrom && piece.buffer instanceof SharedArrayBuffer;
}

/** A character has three bytes at most. */
function roomFor(piece: Uint8Array | string): number {
  if (typeof piece === "string") return headBytes + piece.length * 3;
  return isSent(piece) ? headBytes : headBytes + piece.length;
}

/** Visits every frame. */
export function readFrames({ bytes, shared }: SentLog, visit: (frame: Frame) => void): void {
  const log = asBuffer(bytes);
  for (let at = 0; at < log.length; ) {
    const kind = log[at] as FrameKind;
    const isShared = log[at + 1] === 1;
    const recording = log.readUInt32LE(at + 2);
    const length = log.readUInt32LE(at + 6);
    at += headBytes;
    const part = isShared ? asBuffer(shared[length] ?? new Uint8Array()) : log.subarray(at, at + length);
    visit({ kind, recording, part });
    if (!isShared) at += length;
  }
}
