import type { ResponsePart, TurnRecord } from "../../records.ts";
import type { Query } from "../client.ts";
import { turnOf } from "../lanes/hold-end.ts";
import { storableJson } from "../text.ts";

/** The responses that an Idempotency-Key replays, and those that a client continues. */

/** Parts of this age belong to responses that are gone, or were never stored. */
export async function pruneStoredResponses(query: Query, beforeMs: number, limit: number): Promise<number> {
  const [row] = await query<{ pruned: number }>(deleteOld, [beforeMs, limit]);
  return row?.pruned ?? 0;
}

/** Idempotent. Throws if a different part is already stored under this sequence number: a response may refer to it. */
export async function insertResponsePart(query: Query, part: ResponsePart, nowMs: number): Promise<void> {
  const written = await query(
    `INSERT INTO response_parts (recording_id, sequence, written_at_ms, body) VALUES ($1, $2::int, $3::int8, $4)
    ON CONFLICT (recording_id, sequence) DO UPDATE SET body = excluded.body
    WHERE response_parts.body = excluded.body RETURNING 1`,
    [part.recordingId, part.sequence, nowMs, part.body],
  );
  if (written.length === 0) throw new Error(`Part ${part.sequence} of ${part.recordingId} already exists.`);
}

/** Does no harm if it is done twice. */
export async function insertTurn(query: Query, turn: TurnRecord): Promise<void> {
  await query("SELECT sluice_keep_turns($1::text::json)", [storableJson([turnOf(turn)])]);
}

export async function discardResponse(query: Query, recordingId: string): Promise<void> {
  await query("DELETE FROM response_parts WHERE recording_id = $1", [recordingId]);
}

const deleteOld = `
WITH old AS (
  SELECT key_no, route, idempotency_key FROM responses WHERE stored_at_ms < $1::int8
  ORDER BY stored_at_ms LIMIT $2::int FOR UPDATE SKIP LOCKED
), pruned AS (
  DELETE FROM responses i USING old
  WHERE (i.key_no, i.route, i.idempotency_key) = (old.key_no, old.route, old.idempotency_key)
  RETURNING i.recording_id
), parts AS (
  DELETE FROM response_parts WHERE recording_id IN (SELECT recording_id FROM pruned) OR (recording_id, sequence) IN (
    SELECT recording_id, sequence FROM response_parts WHERE written_at_ms < $1::int8
      AND NOT EXISTS (SELECT FROM responses i WHERE i.recording_id = response_parts.recording_id)
      AND NOT EXISTS (SELECT FROM turns t WHERE t.recording_id = response_parts.recording_id)
    ORDER BY written_at_ms LIMIT $2::int FOR UPDATE SKIP LOCKED)
)
SELECT count(*)::int AS pruned FROM pruned`;
