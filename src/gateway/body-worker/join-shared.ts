import { lengthOf, releaseBytes, sharedBytes } from "../../base/bytes.ts";
import type { ReceivedBytes } from "../../upstream/upstream.ts";
import { largeBodyBytes, largeBodyPacer } from "./is-large.ts";

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
    await largeBodyPacer.wait();
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
        await largeBodyPacer.wait();
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
