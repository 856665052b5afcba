import { sharedBytes } from "../../base/bytes.ts";
import { bodyPacer } from "../../base/loop/body-pacer.ts";
import type { Query } from "../query.ts";
import type { ReserveMemory } from "../turn-records.ts";

/** A row whose body may be long. All but its end is in `response_parts` then. */
export interface LongBody {
  readonly recordingId: string | null;
  readonly parts: number;
  readonly body: Uint8Array;
}

/** Reading these takes a few milliseconds where the database is read on the event loop. */
const bytesPerRead = 1024 * 1024;

/** The parts before its end, and their bytes. Null if a part is missing: half of a body must never pass for a whole. */
async function partsAhead(
  read: Query,
  { recordingId, parts }: LongBody,
): Promise<{ readonly bytes: number } | null> {
  const [ahead] = await read<{ parts: number; bytes: number }>(
    `SELECT count(*)::float8 AS parts, sum(length(body))::float8 AS bytes FROM response_parts
    WHERE recording_id = $1::text AND sequence < $2::int8`,
    [recordingId, parts],
  );
  return ahead?.parts === parts ? ahead : null;
}

/** The body part by part. Null if a part is missing; throws if one is deleted meanwhile. */
export async function bodyInParts(read: Query, body: LongBody): Promise<AsyncIterable<Uint8Array> | null> {
  if (body.parts > 0 && (await partsAhead(read, body)) === null) return null;
  return readInParts(read, body);
}

async function* readInParts(read: Query, { recordingId, parts, body }: LongBody): AsyncGenerator<Uint8Array> {
  for (let sequence = 0; sequence < parts; sequence += 1) {
    await bodyPacer.wait();
    const [part] = await read<Pick<LongBody, "body">>(
      "SELECT body FROM response_parts WHERE recording_id = $1::text AND sequence = $2::int8",
      [recordingId, sequence],
    );
    if (part === undefined) throw new Error("A part of the body has been deleted.");
    yield part.body;
  }
  yield body;
}

/** The whole body, in memory that other threads see too. Null if a part is missing. */
export async function wholeBody(
  read: Query,
  long: LongBody,
  reserve?: ReserveMemory,
): Promise<Uint8Array | null> {
  const { recordingId, parts, body } = long;
  if (parts === 0) return body;
  const ahead = await partsAhead(read, long);
  if (ahead === null) return null;
  await reserve?.(ahead.bytes);
  const whole = sharedBytes(ahead.bytes + body.length);
  let length = 0;
  const atOnce = Math.max(1, Math.floor((parts * bytesPerRead) / ahead.bytes));
  for (let first = 0; first < parts; first += atOnce) {
    await bodyPacer.wait();
    const rows = await read<Pick<LongBody, "body">>(
      `SELECT body FROM response_parts WHERE recording_id = $1::text AND sequence >= $2::int8 AND sequence < $3::int8
      ORDER BY sequence`,
      [recordingId, first, Math.min(first + atOnce, parts)],
    );
    for (const part of rows) {
      whole.set(part.body, length);
      length += part.body.length;
    }
  }
  // It may have been deleted meanwhile.
  if (length !== ahead.bytes) return null;
  whole.set(body, length);
  return whole;
}
