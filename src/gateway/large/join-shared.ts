import { releaseBytes } from "../../base/release.ts";
import { sharedBytes } from "../../base/shared-bytes.ts";
import type { ReceivedBytes } from "../../upstream/upstream.ts";
import { largeTurns } from "./large-turns.ts";

/** How much is copied in one turn of the event loop. Takes two milliseconds. */
const mostCopiedBytes = 4 * 1024 * 1024;

/** Moves a body to memory that both threads see, a part at a time. Its pieces are released as soon as they are copied. */
export async function joinShared({ pieces, bytes }: ReceivedBytes): Promise<Uint8Array> {
  const shared = sharedBytes(bytes);
  let length = 0;
  let copiedBytes = 0;
  for (const piece of pieces) {
    if (copiedBytes === 0) await largeTurns.turn();
    shared.set(piece, length);
    length += piece.length;
    copiedBytes += piece.length;
    if (copiedBytes >= mostCopiedBytes) copiedBytes = 0;
    if (piece.byteLength === piece.buffer.byteLength) releaseBytes(piece);
  }
  // Only now: these may be views of the same memory.
  for (const piece of pieces) releaseBytes(piece);
  return shared;
}
