import type { Query } from "../query.ts";
import type { StoredResponse } from "../records.ts";
import type { ResponseScope } from "../store.ts";

interface ResponseRow extends Omit<StoredResponse, "headers" | "recording"> {
  readonly headers: string;
  readonly recordingId: string | null;
  readonly parts: number;
}

/** A response that an Idempotency-Key replays. Null too when a part is missing: half of one must never be replayed as a whole. */
export async function findStoredResponse(
  read: Query,
  { keyId, route, idempotencyKey }: ResponseScope,
  notBeforeMs: number,
): Promise<StoredResponse | null> {
  const [row] = await read<ResponseRow>(
    `SELECT keys.id AS "keyId", route, idempotency_key AS "idempotencyKey", body_hash AS "bodyHash", stored.status, headers,
      stored_at_ms::float8 AS "storedAtMs", recording_id AS "recordingId", parts, body
    FROM idempotency AS stored JOIN keys ON keys.no = stored.key_no
    WHERE keys.id = $1::text AND route = $2::text AND idempotency_key = $3::text AND stored_at_ms >= $4::int8`,
    [keyId, route, idempotencyKey, notBeforeMs],
  );
  if (row === undefined) return null;
  const { recordingId, parts, headers, body, ...rest } = row;
  const ahead =
    recordingId === null
      ? []
      : await read<Pick<StoredResponse, "body">>(
          "SELECT body FROM response_parts WHERE recording_id = $1::text ORDER BY sequence",
          [recordingId],
        );
  if (ahead.length !== parts) return null;
  const whole = parts === 0 ? body : Buffer.concat([...ahead.map((part) => part.body), body]);
  return { ...rest, headers: JSON.parse(headers) as Record<string, string>, body: whole };
}
