import { query, type Work } from "../../query.ts";
import type { LedgerFault } from "../../store.ts";
import { countsModel, heldFallback } from "../../tables/cap-table.ts";
import { misplacedEntries } from "../../tables/entry-audit.ts";
import { sumsThatDiffer } from "../../tables/entry-table.ts";
import { countsRow, heldValue } from "../../tables/value-cap-table.ts";

/** Totals that differ from the entries or the holds, entries in a wrong month, and holds that will never end. */
export function* auditSums(): Work<readonly LedgerFault[]> {
  return [
    ...(yield* sumsThatDiffer()),
    ...(yield* misplacedEntries()),
    ...(yield* query<LedgerFault>(wrongHolds)),
    ...(yield* query<LedgerFault>(wrongMonths)),
    ...(yield* query<LedgerFault>(untakenIds)),
    ...(yield* query<LedgerFault>(lostHolds)),
  ];
}

/** Reserved amounts without a request. Only holds of the current period count against a budget or a cap. */
const wrongHolds = `
SELECT (SELECT keys.id FROM keys WHERE keys.no = a.no) AS "keyId", 'account' AS "where", 'held' AS field, a.held::float8 AS kept,
  coalesce(h.amount, 0)::float8 AS recomputed
FROM accounts a LEFT JOIN (
  SELECT h.account_no, sum(h.amount) AS amount FROM holds h JOIN accounts a ON a.no = h.account_no
  WHERE a.mode = 'credit' OR h.period_start_ms = a.period_start_ms GROUP BY h.account_no
) h ON h.account_no = a.no
WHERE a.held <> coalesce(h.amount, 0)
UNION ALL
SELECT keys.id, 'cap ' || caps.no, 'held', caps.held::float8, h.amount::float8
FROM caps LEFT JOIN keys ON keys.no = caps.key_no CROSS JOIN LATERAL (
  SELECT coalesce(sum(holds.amount), 0) AS amount FROM holds WHERE (holds.account_no = caps.account_no OR holds.key_no = caps.key_no)
    AND sluice_period_start(caps.period, holds.counted_at_ms) = caps.period_start_ms AND ${countsModel("caps.models", "holds", heldFallback)}
) h
WHERE caps.held <> h.amount
UNION ALL
SELECT NULL, 'cap ' || c.id || ' ' || v.value, 'held', v.held::float8, h.amount::float8
FROM cap_values v JOIN value_caps c ON c.no = v.cap_no CROSS JOIN LATERAL (
  SELECT coalesce(sum(holds.amount), 0) AS amount FROM holds WHERE ${countsRow("holds", "holds.account_no", heldFallback)} AND ${heldValue} = v.value
    AND sluice_period_start(c.period, holds.counted_at_ms) = v.period_start_ms
) h
WHERE v.held <> h.amount`;

/**
 * An entry is in the month in which its hold was opened by the database's clock. An interrupted request may be charged
 * in the next one; and until a node hears that this clock was set, what it charges has a time of the earlier clock.
 */
const wrongMonths = `
SELECT keys.id AS "keyId", 'entry ' || entries.id AS "where", 'month' AS field, entries.month AS kept,
  sluice_month(entries.at_ms) AS recomputed
FROM entries LEFT JOIN keys ON keys.no = entries.key_no
WHERE (entries.month > sluice_month(greatest(entries.at_ms, entries.counted_at_ms)) AND NOT EXISTS (SELECT FROM audit_log WHERE action = 'clock.return'))
  OR (entries.month < sluice_month(entries.at_ms) AND CASE
    WHEN entries.kind NOT IN ('charge', 'overrun') THEN true
    ELSE entries.month < sluice_month(entries.at_ms) - 1 END)
ORDER BY entries.id LIMIT 100`;

/** Readers of the ledger never see these: they stop at the newest id that was taken. */
const untakenIds = `
SELECT keys.id AS "keyId", 'entry ' || entries.id AS "where", 'id' AS field, entries.id AS kept, 'none' AS recomputed
FROM entries LEFT JOIN keys ON keys.no = entries.key_no
WHERE entries.id > (SELECT last_value FROM entries_id_seq)
ORDER BY entries.id LIMIT 100`;

/** A hold is ended by its node, or by the node that takes over a dead one. */
const lostHolds = `
SELECT keys.id AS "keyId", 'hold ' || holds.id AS "where", 'node' AS field, holds.node_no AS kept, 'none' AS recomputed
FROM holds LEFT JOIN keys ON keys.no = holds.key_no
WHERE holds.is_parked = 0
  AND NOT EXISTS (SELECT FROM nodes WHERE nodes.no = holds.node_no AND nodes.left_at IS NULL AND nodes.cleared_at IS NULL)
ORDER BY holds.id LIMIT 100`;
