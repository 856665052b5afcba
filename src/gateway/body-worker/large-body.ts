import { lengthOf, releaseBytes, sharedBytes } from "../../base/bytes.ts";
import { bodyPacer } from "../../base/loop/body-pacer.ts";
import { hasMoreValues } from "../../dialects/json/json-bytes.ts";
import type { TruncatedJson } from "../../dialects/json/parse-body.ts";
import type { ReceivedBytes } from "../../upstream/upstream.ts";

/** JSON of this size takes long to parse, with any contents. */
export const largeBodyBytes = 1024 * 1024;

/** Smaller bodies are processed in a few milliseconds, with any contents. */
const smallBytes = 64 * 1024;

/** More items and members take long to process, however few bytes they have. */
const manyValues = 10_000;

/** Whether processing a body would block the event loop because of its size or its structure. */
export function isLargeBody(bytes: Uint8Array): boolean {
  return bytes.length >= largeBodyBytes || hasManyValues(bytes, null);
}

/** Whether the structure makes a body large. `scanned` if its values have been counted already. */
export function hasManyValues(bytes: Uint8Array, scanned: TruncatedJson | null): boolean {
  return bytes.length >= smallBytes && hasMoreValues(bytes, scanned, manyValues);
}

/** Copies pieces into parts of one size. Returns the rest after the last full one. */
export function* inParts(pieces: Iterable<Uint8Array>, partBytes: number): Generator<Uint8Array, Uint8Array> {
  let rest: Uint8Array[] = [];
  let bytes = 0;
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; ) {
      const isWhole = at === 0 && bytes + piece.length < partBytes;
      const taken = isWhole ? piece : piece.subarray(at, at + partBytes - bytes);
      rest.push(taken);
      bytes += taken.length;
      at += taken.length;
      if (bytes < partBytes) continue;
      yield Buffer.concat(rest);
      rest = [];
      bytes = 0;
    }
  }
  return Buffer.concat(rest);
}

/** Bytes to copy per event-loop iteration, which takes two milliseconds. */
const maxCopiedBytes = 4 * 1024 * 1024;

/** Moves a body to memory that both threads can read. Its pieces are released as soon as they are copied. */
export function joinShared({ pieces, bytes }: ReceivedBytes): Promise<Uint8Array> {
  return copyShared(released(pieces), bytes);
}

function* released(pieces: readonly Uint8Array[]): Iterable<Uint8Array> {
  for (const piece of pieces) {
    yield piece;
    if (piece.byteLength === piece.buffer.byteLength) releaseBytes(piece);
  }
  // Only now: these may be views of the same memory.
  for (const piece of pieces) releaseBytes(piece);
}

/**
 * The text as UTF-8 in memory that both threads see, a part at a time: to post a string of 30 MB to another thread takes 50 ms, in
 * which it is copied.
 */
export async function shareText(text: string): Promise<Uint8Array> {
  const shared = sharedBytes(Buffer.byteLength(text));
  let length = 0;
  for (let at = 0, end = 0; at < text.length; at = end) {
    await bodyPacer.wait();
    end = at + maxCopiedBytes;
    if (isFirstHalf(text.charCodeAt(end - 1))) end -= 1;
    length += encoder.encodeInto(text.slice(at, end), shared.subarray(length)).written;
  }
  return shared;
}

const encoder = new TextEncoder();

/** The first half of a surrogate pair. */
function isFirstHalf(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00;
}

/** The pieces as one. A large one is in memory that both threads see; nothing is released. */
export async function joinPieces(pieces: readonly Uint8Array[]): Promise<Uint8Array> {
  const bytes = lengthOf(pieces);
  return bytes < largeBodyBytes ? Buffer.concat(pieces, bytes) : copyShared(pieces, bytes);
}

/** A part at a time. */
async function copyShared(pieces: Iterable<Uint8Array>, bytes: number): Promise<Uint8Array> {
  const shared = sharedBytes(bytes);
  let length = 0;
  let mayCopy = 0;
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += maxCopiedBytes) {
      if (mayCopy <= 0) {
        await bodyPacer.wait();
        mayCopy = maxCopiedBytes;
      }
      const part = piece.subarray(at, at + maxCopiedBytes);
      shared.set(part, length);
      length += part.length;
      mayCopy -= part.length;
    }
  }
  return shared;
}
