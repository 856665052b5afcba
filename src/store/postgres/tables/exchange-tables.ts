import { assert } from "../../../base/assert.ts";
import type {
  AttemptSums,
  CallerId,
  IssuedIds,
  OutcomeRecord,
  ResponsePart,
  TurnRecord,
} from "../../records.ts";
import { outcomeColumns, outcomeRow } from "../../written-rows.ts";
import type { Query } from "../client.ts";
import { attemptRow } from "../lanes/batch-rows.ts";
import { turnOf } from "../lanes/hold-end.ts";
import { storableJson } from "../text.ts";

/** What is stored of exchanges in addition to their charges: responses to replay or continue, outcomes and ids. */

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

/** Writes the outcomes of uncharged exchanges. */
export async function insertOutcomes(
  query: Query,
  records: readonly OutcomeRecord[],
  attempts: readonly AttemptSums[],
): Promise<void> {
  const [row] = await query<{ written: number }>(insertAll, [
    storableJson(records.map((record) => ({ key: record.keyId, ...outcomeRow(record) }))),
    storableJson(attempts.map(attemptRow)),
  ]);
  assert(row?.written === records.length, "every record is of a key that exists");
}

const insertAll = `
WITH written AS (
  INSERT INTO exchange_endings (key_no, ${outcomeColumns.join(", ")})
  SELECT keys.no, ${outcomeColumns.map((column) => `e.${column}`).join(", ")}
  FROM json_array_elements($1::text::json) WITH ORDINALITY AS j(item, place) JOIN keys ON keys.id = j.item ->> 'key'
    CROSS JOIN LATERAL json_populate_record(NULL::exchange_endings, j.item) AS e
  ORDER BY j.place
  RETURNING id
)
SELECT (SELECT count(*)::int FROM written) AS written, sluice_count_attempts(0, $2::text::json)`;

/** An id that is issued again becomes the newest, so that it is stored as long as a new one. */
export async function insertIssuedIds(query: Query, issued: readonly IssuedIds[]): Promise<void> {
  const rows = new Map<string, readonly [idKey: string, answer: IssuedIds]>();
  for (const answer of issued) {
    for (const idKey of answer.idKeys) rows.set(`${answer.keyId} ${idKey}`, [idKey, answer]);
  }
  const all = [...rows.values()];
  await query(insertIssued, [
    all.map(([, { keyId }]) => keyId),
    all.map(([idKey]) => idKey),
    all.map(([, { provider }]) => provider),
    all.map(([, { credential }]) => credential),
    all.map(([, { tokens }]) => tokens),
    all.map(([, { atMs }]) => atMs),
  ]);
}

/** Sorted, so that two nodes that get the same ids lock them in the same order. */
const insertIssued = `
INSERT INTO issued_ids (key_no, id_key, provider, credential, tokens, issued_at_ms)
SELECT keys.no, u.id_key, u.provider, u.credential, u.tokens, u.at_ms
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int8[], $6::int8[])
  u (key_id, id_key, provider, credential, tokens, at_ms)
JOIN keys ON keys.id = u.key_id
ORDER BY keys.no, u.id_key
ON CONFLICT (key_no, id_key) DO UPDATE
SET no = DEFAULT, provider = excluded.provider, credential = excluded.credential, tokens = excluded.tokens,
  issued_at_ms = excluded.issued_at_ms`;

export async function insertCallerIds(query: Query, callerIds: readonly CallerId[]): Promise<void> {
  await query(insertCallers, [
    callerIds.map(({ callerId }) => callerId),
    callerIds.map(({ exchangeId }) => exchangeId),
    callerIds.map(({ atMs }) => atMs),
  ]);
}

const insertCallers = `
INSERT INTO caller_ids (caller_id, exchange_id, at_ms)
SELECT * FROM unnest($1::text[], $2::text[], $3::int8[])`;
