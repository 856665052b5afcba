import type { OwnedHold } from "../../provider-batch-records.ts";
import { query, type Work } from "../../query.ts";

/** A takeover of the node comes before or after: its row is locked. */
export function* parkHolds(holds: readonly OwnedHold[], node: number): Work<boolean> {
  const alive = yield* query("SELECT no FROM nodes WHERE no = $1::int8 AND dead_at IS NULL FOR SHARE", [
    node,
  ]);
  const ids = holds.map(({ holdId }) => holdId);
  const found = yield* query(
    "SELECT id FROM holds WHERE id = ANY ($1::text[]) AND node_no = $2::int8 ORDER BY id FOR UPDATE",
    [ids, node],
  );
  if (alive.length === 0 || found.length < ids.length) return false;
  yield* query(
    "UPDATE holds SET node_no = 0, is_in_flight = false, is_parked = 1 WHERE id = ANY ($1::text[])",
    [ids],
  );
  return true;
}
