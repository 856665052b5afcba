import { newId } from "../../base/id.ts";
import { bodyPacer } from "../../base/loop/body-pacer.ts";
import type { Recording, ResponsePart } from "../../store/store.ts";
import { inParts } from "../body-worker/large-body.ts";

/** Longer bodies are written ahead in parts of this size, so that charges of others need not wait for them. */
const partBytes = 256 * 1024;
const partsPerTurn = 8;
/** No more than this is written with the row, which may be in the transaction of a charge. */
const maxEndBytes = 64 * 1024;

export type WritePart = (part: ResponsePart) => Promise<void>;

/** All but the end of a long body is written ahead. */
export async function writtenAhead(pieces: Iterable<Uint8Array>, write: WritePart) {
  const { recording, rest } = await writeParts(pieces, write, null, maxEndBytes);
  return recording.parts === 0 ? { body: rest } : { body: rest, recording };
}

/**
 * Writes the pieces as parts, after the recording's existing parts if there are any, and returns a rest of at most `maxRestBytes`
 * unwritten. Writes a few parts per event-loop iteration. The next ones are copied only when these are written, because nothing
 * else counts their memory.
 */
export async function writeParts(
  pieces: Iterable<Uint8Array>,
  write: WritePart,
  before: Recording | null,
  maxRestBytes = 0,
): Promise<{ recording: Recording; rest: Uint8Array; bytes: number }> {
  const id = before?.id ?? newId("rec_");
  const parts = inParts(pieces, partBytes);
  let writing: Promise<void>[] = [];
  let sequence = before?.parts ?? 0;
  let bytes = 0;
  let next = parts.next();
  for (; next.done !== true; next = parts.next()) {
    if (sequence % partsPerTurn === 0) {
      await Promise.all(writing);
      writing = [];
      await bodyPacer.wait();
    }
    writing.push(write({ recordingId: id, sequence, body: next.value }));
    bytes += next.value.length;
    sequence += 1;
  }
  let rest = next.value;
  if (rest.length > maxRestBytes) {
    writing.push(write({ recordingId: id, sequence, body: rest }));
    bytes += rest.length;
    sequence += 1;
    rest = new Uint8Array();
  }
  await Promise.all(writing);
  return { recording: { id, parts: sequence }, rest, bytes };
}
