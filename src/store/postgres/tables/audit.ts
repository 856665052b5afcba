import { query, type Work } from "../../query.ts";
import type { LedgerFault } from "../../store.ts";
import { sumsThatDiffer } from "../../tables/entry-table.ts";

/** Sums for reports that are not those of the entries, entries in a wrong month, and holds that nobody will ever end. */
export function* auditSums(nowMs: number): Work<readonly LedgerFault[]> {
  return [
    ...(yield* sumsThatDiffer("SELECT entries_through FROM rollups", nowMs)),
    ...(yield* query<LedgerFault>(wrongMonths)),
    ...(yield* query<LedgerFault>(lostHolds)),
  ];
}

/**
 * An entry is in the month in which its hold was opened, which was after the call began. What was interrupted may have
 * been charged much later.
 */
const wrongMonths = `
SELECT keys.id AS "keyId", 'entry ' || entries.id AS "where", 'month' AS field, month AS kept,
  sluice_month(at_ms) AS recomputed
FROM entries LEFT JOIN keys ON keys.no = entries.key_no
WHERE month > sluice_month(at_ms) OR (month < sluice_month(at_ms) AND CASE
  WHEN kind NOT IN ('charge', 'overrun') THEN true
  WHEN outcome = 'interrupted' THEN month < sluice_month(at_ms) - 1
  ELSE month < sluice_month(least(at_ms, coalesce(recorded_at_ms, at_ms - 86400000))) END)
ORDER BY entries.id LIMIT 100`;

/** A hold is ended by its node, or by whoever takes over a dead one. */
const lostHolds = `
SELECT keys.id AS "keyId", 'hold ' || holds.id AS "where", 'node' AS field, holds.node_no AS kept, 'no such node' AS recomputed
FROM holds LEFT JOIN keys ON keys.no = holds.key_no
WHERE NOT EXISTS (SELECT FROM nodes WHERE nodes.no = holds.node_no AND left_at IS NULL AND cleared_at IS NULL)
ORDER BY holds.id LIMIT 100`;
