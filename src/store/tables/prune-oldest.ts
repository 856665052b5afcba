import type { OwnStatements } from "../own-statements.ts";
import { type Query, query, type Work } from "../query.ts";
import { addPruned } from "../reporting/add-to-sums.ts";
import type { OldestPruning } from "../store.ts";

/** Tables with limited retention, and their time columns. `no` grows with time. */
const timeColumns = { issued_ids: "issued_at_ms", caller_ids: "at_ms" } as const;

/** Examines the oldest rows and deletes those that are too old or too many. Returns how many. */
export async function pruneOldest(
  change: Query,
  table: keyof typeof timeColumns,
  { beforeMs, keep, limit }: OldestPruning,
): Promise<number> {
  const deleted = await change(
    `DELETE FROM ${table}
    WHERE no IN (SELECT no FROM ${table} ORDER BY no LIMIT $1::int8 FOR UPDATE SKIP LOCKED)
      AND (${timeColumns[table]} < $2::int8 OR no <= (SELECT max(no) FROM ${table}) - $3::int8)
    RETURNING no`,
    [limit, beforeMs, keep],
  );
  return deleted.length;
}

/** Does the same for rows of the request log. Their totals stay, because they could not be recomputed later. */
export function* pruneEndings(
  { mayPrune, pruned }: OwnStatements,
  { beforeMs, keep, limit }: OldestPruning,
): Work<number> {
  const rows = yield* query<{ id: number }>(
    `SELECT id::float8 AS id FROM exchange_endings
    WHERE id IN (SELECT id FROM exchange_endings ORDER BY id LIMIT $1::int8) AND ${mayPrune}
      AND (at_ms < $2::int8 OR id <= (SELECT max(id) FROM exchange_endings) - $3::int8)
    ORDER BY id FOR UPDATE SKIP LOCKED`,
    [limit, beforeMs, keep],
  );
  const ids = rows.map(({ id }) => id);
  const newest = ids.at(-1);
  if (newest === undefined) return 0;
  yield* query(addPruned, [ids]);
  yield* query("DELETE FROM exchange_endings WHERE id = ANY ($1::int8[])", [ids]);
  yield* pruned(newest);
  return ids.length;
}
