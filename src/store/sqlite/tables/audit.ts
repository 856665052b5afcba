import { query, type Work } from "../../query.ts";
import type { LedgerFault } from "../../store.ts";
import { misplacedEntries } from "../../tables/entry-audit.ts";
import { sumsThatDiffer } from "../../tables/entry-table.ts";

/** Totals that differ from the entries, misplaced entries, requests that were charged more than once, and wrong floors. */
export function* auditSums(): Work<readonly LedgerFault[]> {
  return [
    ...(yield* sumsThatDiffer()),
    ...(yield* misplacedEntries()),
    ...(yield* findRepeatedCharges()),
    ...(yield* query<LedgerFault>(wrongFloors)),
  ];
}

/** A balance must not go below 0, except a postpaid account's. PostgreSQL has a constraint for this. */
const wrongFloors = `
SELECT NULL AS "keyId", 'account ' || id AS "where", 'floor' AS field, floor AS kept, expected AS recomputed
FROM (SELECT id, no, floor, iif(mode = 'credit' AND is_open = 0, 0, ${Number.MIN_SAFE_INTEGER}) AS expected FROM accounts)
WHERE floor <> expected ORDER BY no LIMIT 100`;

export function findRepeatedCharges(): Work<readonly LedgerFault[]> {
  return query<LedgerFault>(repeatedCharges);
}

/**
 * PostgreSQL has a unique index for this. Here it would make a charge three times as expensive to write (7 µs, 25
 * with it), because ids are random and every row changes another page. As in that index, a late charge may exist in
 * addition to a takeover's.
 */
const repeatedCharges = `
SELECT (SELECT id FROM keys WHERE no = key_no) AS "keyId", 'exchange ' || exchange_id AS "where", 'charges' AS field,
  count(*) AS kept, 1 AS recomputed
FROM entries WHERE kind = 'charge' AND exchange_id IS NOT NULL
GROUP BY exchange_id, outcome = 'interrupted' HAVING count(*) > 1
ORDER BY min(entries.id) LIMIT 100`;
