import type { OpenedCall } from "../../upstream/upstream.ts";
import type { Piece, StreamRelayer } from "./stream-relayer.ts";

/** How long bytes may follow the proper end. Reading them makes the provider's connection reusable. */
export const trailingMs = 1000;

/** How many trailing bytes are read. A recorded stream keeps them until it is settled, so they count toward its memory. */
const maxTrailingBytes = 64 * 1024;

/**
 * Reads what follows the proper end of a provider's stream. A provider that breaks off, falls silent or goes on and on there
 * does no harm.
 */
export async function readTrailing(
  opened: OpenedCall,
  relayer: StreamRelayer,
  take: (piece: Piece) => Promise<void> | undefined | void,
): Promise<void> {
  let bytes = 0;
  try {
    for (let chunk = await opened.read(); chunk !== null; chunk = await opened.read()) {
      bytes += chunk.length;
      if (bytes > maxTrailingBytes) break;
      const piece = relayer.push(chunk);
      if (piece.length > 0) await take(piece);
    }
  } catch {
    // What was read before is delivered.
  }
  // Nothing is left to end of a body that was read to its end.
  opened.abort();
}
