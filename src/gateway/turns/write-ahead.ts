import { newId } from "../../base/id.ts";
import type { ResponsePart } from "../../store/store.ts";
import { inParts } from "../large/in-parts.ts";
import { largeTurns } from "../large/large-turns.ts";

/** Longer bodies are written ahead in parts of this size, so that charges of others need not wait for them. */
const partBytes = 256 * 1024;
const partsPerTurn = 8;
/** No more than this is written with the row, which may be in the transaction of a charge. */
const maxEndBytes = 64 * 1024;

export type WritePart = (part: ResponsePart) => Promise<void>;

/**
 * All but the end of a long body is written ahead, a few parts in a turn of the event loop. The next ones are copied only when those are
 * written: nobody else counts their memory.
 */
export async function writtenAhead(pieces: Iterable<Uint8Array>, write: WritePart) {
  const id = newId("rec_");
  const parts = inParts(pieces, partBytes);
  let writing: Promise<void>[] = [];
  let sequence = 0;
  let next = parts.next();
  for (; next.done !== true; next = parts.next()) {
    if (sequence % partsPerTurn === 0) {
      await Promise.all(writing);
      writing = [];
      await largeTurns.turn();
    }
    writing.push(write({ recordingId: id, sequence, body: next.value }));
    sequence += 1;
  }
  const isLong = next.value.length > maxEndBytes;
  if (isLong) {
    writing.push(write({ recordingId: id, sequence, body: next.value }));
    sequence += 1;
  }
  const body = isLong ? new Uint8Array() : next.value;
  if (sequence === 0) return { body };
  await Promise.all(writing);
  return { body, recording: { id, parts: sequence } };
}
