import type { Query } from "../query.ts";
import type { StoredResponse } from "../records.ts";
import type { ResponseScope } from "../store.ts";
import type { ReserveMemory } from "../turn-records.ts";
import { type LongBody, wholeBody } from "./long-body.ts";

interface ResponseRow extends Omit<StoredResponse, "headers" | "recording">, LongBody {
  readonly headers: string;
}

/** Bytes of responses stored for retries of a key's requests. */
export async function retryBytes(read: Query, keyId: string): Promise<number> {
  const [row] = await read<{ bytes: number }>(
    `SELECT bytes::float8 AS bytes FROM response_sums WHERE key_no = (SELECT no FROM keys WHERE id = $1::text)`,
    [keyId],
  );
  return row?.bytes ?? 0;
}

/** A response that an Idempotency-Key replays. Null too when a part is missing. */
export async function findStoredResponse(
  read: Query,
  { keyId, route, idempotencyKey }: ResponseScope,
  notBeforeMs: number,
  reserve?: ReserveMemory,
): Promise<StoredResponse | null> {
  const [row] = await read<ResponseRow>(
    `SELECT keys.id AS "keyId", stored.route, stored.idempotency_key AS "idempotencyKey", stored.body_hash AS "bodyHash", stored.status, stored.headers,
      stored.stored_at_ms::float8 AS "storedAtMs", stored.recording_id AS "recordingId", stored.parts, stored.body
    FROM responses AS stored JOIN keys ON keys.no = stored.key_no
    WHERE keys.id = $1::text AND stored.route = $2::text AND stored.idempotency_key = $3::text AND stored.stored_at_ms >= $4::int8`,
    [keyId, route, idempotencyKey, notBeforeMs],
  );
  if (row === undefined) return null;
  const { recordingId, parts, headers, body: end, ...rest } = row;
  const body = await wholeBody(read, { recordingId, parts, body: end }, reserve);
  return body && { ...rest, headers: JSON.parse(headers) as Record<string, string>, body };
}
