import { query, type Work } from "../../query.ts";
import type { LedgerFault } from "../../store.ts";
import { misplacedEntries } from "../../tables/entry-audit.ts";
import { sumsThatDiffer } from "../../tables/entry-table.ts";

/** Totals that differ from the entries, misplaced entries, and requests that were charged more than once. */
export function* auditSums(): Work<readonly LedgerFault[]> {
  return [...(yield* sumsThatDiffer()), ...(yield* misplacedEntries()), ...(yield* findRepeatedCharges())];
}

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
