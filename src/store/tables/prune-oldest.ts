import type { Query } from "../query.ts";
import type { OldestPruning } from "../store.ts";

/** The tables of ids that are kept for a while, and when each row was written. Their numbers grow with time. */
const times = { given_ids: "given_at_ms", caller_ids: "at_ms" } as const;

/** Examines the oldest rows, which are the first ones, and deletes those that are too old or too many. Returns how many. */
export async function pruneOldest(
  query: Query,
  table: keyof typeof times,
  { beforeMs, keep, limit }: OldestPruning,
): Promise<number> {
  const deleted = await query(
    `DELETE FROM ${table}
    WHERE no IN (SELECT no FROM ${table} ORDER BY no LIMIT $1::int8 FOR UPDATE SKIP LOCKED)
      AND (${times[table]} < $2::int8 OR no <= (SELECT max(no) FROM ${table}) - $3::int8)
    RETURNING no`,
    [limit, beforeMs, keep],
  );
  return deleted.length;
}
