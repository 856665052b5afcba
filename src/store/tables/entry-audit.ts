import { query, type Work } from "../query.ts";
import type { LedgerFault } from "../store.ts";

/** Entries whose key is gone, and late charges to accounts that the key was not billed to at that time. */
export function* misplacedEntries(): Work<readonly LedgerFault[]> {
  return [...(yield* query<LedgerFault>(entriesWithoutKey)), ...(yield* query<LedgerFault>(wrongAccounts))];
}

/** Key number 0 marks entries of an account without a key. */
const entriesWithoutKey = `
SELECT NULL AS "keyId", 'entry ' || entries.id AS "where", 'key' AS field, entries.key_no AS kept, 'none' AS recomputed
FROM entries WHERE entries.key_no <> 0 AND NOT EXISTS (SELECT 1 FROM keys WHERE keys.no = entries.key_no)
ORDER BY entries.id LIMIT 100`;

/**
 * Requests in flight when a key moves are charged to the old account. Their hold records it, but a late charge has no
 * hold. The clocks of the process that moves the key and the one that charges may differ a little.
 */
const toleranceMs = 60_000;

const start = "least(coalesce(e.recorded_at_ms, e.at_ms), coalesce(e.counted_at_ms, e.at_ms), e.at_ms)";

const wrongAccounts = `
WITH drawn AS (
  SELECT key_no, account_no, coalesce(lag(until_ms) OVER (PARTITION BY key_no ORDER BY no), 0) AS from_ms, until_ms FROM key_moves
  UNION ALL
  SELECT keys.no, keys.account_no, max(key_moves.until_ms), ${Number.MAX_SAFE_INTEGER} FROM key_moves JOIN keys ON keys.no = key_moves.key_no
  GROUP BY keys.no, keys.account_no
)
SELECT keys.id AS "keyId", 'entry ' || e.id AS "where", 'account' AS field, accounts.id AS kept,
  (SELECT a.id FROM drawn JOIN accounts a ON a.no = drawn.account_no WHERE drawn.key_no = e.key_no AND drawn.from_ms <= ${start}
    ORDER BY drawn.from_ms DESC LIMIT 1) AS recomputed
FROM entries e JOIN keys ON keys.no = e.key_no JOIN accounts ON accounts.no = coalesce(e.account_no, e.key_no)
WHERE e.kind = 'charge' AND e.note IS NOT NULL AND e.key_no IN (SELECT key_moves.key_no FROM key_moves) AND NOT EXISTS (
  SELECT 1 FROM drawn WHERE drawn.key_no = e.key_no AND drawn.account_no = accounts.no
    AND drawn.from_ms <= e.at_ms + ${toleranceMs} AND drawn.until_ms >= ${start} - ${toleranceMs})
ORDER BY e.id LIMIT 100`;
