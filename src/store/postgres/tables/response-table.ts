import type { ResponsePart, StoredResponse } from "../../records.ts";
import type { ResponseScope } from "../../store.ts";
import type { Query } from "../client.ts";

/** The responses that an Idempotency-Key replays. */

interface ResponseRow extends Omit<StoredResponse, "headers" | "recording"> {
  readonly headers: string;
  readonly expectedParts: number;
  readonly foundParts: number;
  readonly parts: Uint8Array | null;
}

/** Null too when a part is missing: half a response must never be replayed as a whole one. */
export async function findStoredResponse(
  query: Query,
  { keyId, route, idempotencyKey }: ResponseScope,
  notBeforeMs: number,
): Promise<StoredResponse | null> {
  const [row] = await query<ResponseRow>(findResponse, [keyId, route, idempotencyKey, notBeforeMs]);
  if (row === undefined || row.foundParts !== row.expectedParts) return null;
  const { headers, expectedParts, foundParts, parts, body, ...rest } = row;
  const whole = parts === null ? body : Buffer.concat([parts, body]);
  return { ...rest, headers: JSON.parse(headers) as Record<string, string>, body: whole };
}

/** Parts that are as old belong to responses that are gone, or never came. */
export async function pruneStoredResponses(query: Query, beforeMs: number, limit: number): Promise<number> {
  const [row] = await query<{ pruned: number }>(deleteOld, [beforeMs, limit]);
  return row?.pruned ?? 0;
}

export async function insertResponsePart(query: Query, part: ResponsePart, nowMs: number): Promise<void> {
  await query(
    `INSERT INTO response_parts (recording_id, sequence, written_at_ms, body) VALUES ($1, $2::int, $3::int8, $4)
    ON CONFLICT (recording_id, sequence) DO UPDATE SET body = excluded.body`,
    [part.recordingId, part.sequence, nowMs, part.body],
  );
}

export async function discardResponse(query: Query, recordingId: string): Promise<void> {
  await query("DELETE FROM response_parts WHERE recording_id = $1", [recordingId]);
}

const findResponse = `
SELECT keys.id AS "keyId", route, idempotency_key AS "idempotencyKey", body_hash AS "bodyHash", i.status, headers,
  stored_at_ms::float8 AS "storedAtMs", i.body, i.parts AS "expectedParts", p.found AS "foundParts", p.body AS parts
FROM idempotency i JOIN keys ON keys.no = i.key_no
CROSS JOIN LATERAL (
  SELECT count(*)::int AS found, string_agg(body, '' ORDER BY sequence) AS body
  FROM response_parts WHERE recording_id = i.recording_id
) p
WHERE keys.id = $1 AND route = $2 AND idempotency_key = $3 AND stored_at_ms >= $4::int8`;

const deleteOld = `
WITH old AS (
  SELECT key_no, route, idempotency_key FROM idempotency WHERE stored_at_ms < $1::int8
  ORDER BY stored_at_ms LIMIT $2::int FOR UPDATE SKIP LOCKED
), pruned AS (
  DELETE FROM idempotency i USING old
  WHERE (i.key_no, i.route, i.idempotency_key) = (old.key_no, old.route, old.idempotency_key)
  RETURNING i.recording_id
), parts AS (
  DELETE FROM response_parts WHERE recording_id IN (SELECT recording_id FROM pruned) OR (recording_id, sequence) IN (
    SELECT recording_id, sequence FROM response_parts WHERE written_at_ms < $1::int8
      AND NOT EXISTS (SELECT FROM idempotency i WHERE i.recording_id = response_parts.recording_id)
      AND NOT EXISTS (SELECT FROM turns t WHERE t.recording_id = response_parts.recording_id)
    ORDER BY written_at_ms LIMIT $2::int FOR UPDATE SKIP LOCKED)
)
SELECT count(*)::int AS pruned FROM pruned`;
