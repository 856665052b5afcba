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

/** The whole body, in memory that other threads see too. Null if a part is missing: half of one must never pass for a whole. */
export async function wholeBody(
  read: Query,
  { recordingId, parts, body }: LongBody,
  reserve?: ReserveMemory,
): Promise<Uint8Array | null> {
  if (parts === 0) return body;
  const [ahead] = await read<{ parts: number; bytes: number }>(
    `SELECT count(*)::float8 AS parts, sum(length(body))::float8 AS bytes FROM response_parts
    WHERE recording_id = $1::text AND sequence < $2::int8`,
    [recordingId, parts],
  );
  if (ahead?.parts !== parts) return null;
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
