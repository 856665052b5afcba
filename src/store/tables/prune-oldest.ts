import type { Query } from "../query.ts";
import type { OldestPruning } from "../store.ts";

/** Rows that are kept for a while: by their numbers, which grow with time, when they were written, and which may go. */
const prunedTables = {
  given_ids: ["no", "given_at_ms", "true"],
  caller_ids: ["no", "at_ms", "true"],
  // After a crash the sums are completed from those that they do not count yet.
  exchange_endings: ["id", "at_ms", "id <= (SELECT endings_through FROM rollups)"],
} as const;

/** Examines the oldest rows, which are the first ones, and deletes those that are too old or too many. Returns how many. */
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
