import type { CallerId } from "../../records.ts";
import type { OldestPruning } from "../../store.ts";
import type { Query } from "../client.ts";

export async function insertCallerIds(query: Query, callerIds: readonly CallerId[]): Promise<void> {
  await query(insertAll, [
    callerIds.map(({ callerId }) => callerId),
    callerIds.map(({ exchangeId }) => exchangeId),
    callerIds.map(({ atMs }) => atMs),
  ]);
}

/** The exchanges that a client gave this id, newest first. */
export async function findCalled(query: Query, callerId: string, limit: number): Promise<string[]> {
  const rows = await query<{ exchangeId: string }>(
    'SELECT exchange_id AS "exchangeId" FROM caller_ids WHERE caller_id = $1 ORDER BY no DESC LIMIT $2::int',
    [callerId, limit],
  );
  return rows.map(({ exchangeId }) => exchangeId);
}

/** Numbers grow with time, so the oldest rows are the first ones. */
export async function pruneCallerIds(
  query: Query,
  { beforeMs, keep, limit }: OldestPruning,
): Promise<number> {
  const [row] = await query<{ pruned: number }>(deleteOldest, [limit, beforeMs, keep]);
  return row?.pruned ?? 0;
}

const insertAll = `
INSERT INTO caller_ids (caller_id, exchange_id, at_ms)
SELECT * FROM unnest($1::text[], $2::text[], $3::int8[])`;

const deleteOldest = `
WITH pruned AS (
  DELETE FROM caller_ids
  WHERE no IN (SELECT no FROM caller_ids ORDER BY no LIMIT $1::int FOR UPDATE SKIP LOCKED)
    AND (at_ms < $2::int8 OR no <= (SELECT max(no) FROM caller_ids) - $3::int8)
  RETURNING no
)
SELECT count(*)::int AS pruned FROM pruned`;
