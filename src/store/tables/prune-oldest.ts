import type { Query } from "../query.ts";
import type { OldestPruning } from "../store.ts";

/**
 * Tables with limited retention: the number column, which grows with time, the time column, and which rows can be
 * deleted.
 */
const prunedTables = {
  issued_ids: ["no", "issued_at_ms", "true"],
  caller_ids: ["no", "at_ms", "true"],
  // After a crash the totals are completed from the rows they do not include yet.
  exchange_endings: ["id", "at_ms", "id <= (SELECT endings_through FROM rollups)"],
} as const;

/** Examines the oldest rows and deletes those that are too old or too many. Returns how many. */
export async function pruneOldest(
  change: Query,
  table: keyof typeof prunedTables,
  { beforeMs, keep, limit }: OldestPruning,
): Promise<number> {
  const [no, writtenAt, mayGo] = prunedTables[table];
  const deleted = await change(
    `DELETE FROM ${table}
    WHERE ${no} IN (SELECT ${no} FROM ${table} ORDER BY ${no} LIMIT $1::int8 FOR UPDATE SKIP LOCKED) AND ${mayGo}
      AND (${writtenAt} < $2::int8 OR ${no} <= (SELECT max(${no}) FROM ${table}) - $3::int8)
    RETURNING ${no}`,
    [limit, beforeMs, keep],
  );
  return deleted.length;
}
