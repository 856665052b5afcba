import type { AccountState } from "../../node.ts";
import type { AccountTotals } from "../../records.ts";
import type { Query } from "../client.ts";

/** As they are now; null for a key that does not exist. */
export async function readAccounts(
  query: Query,
  keyIds: readonly string[],
): Promise<readonly (AccountState | null)[]> {
  if (keyIds.length === 0) return [];
  const rows = await query<AccountTotals & { held: number }>(selectAccounts, [[...keyIds]]);
  const found = new Map(rows.map(({ held, ...totals }) => [totals.keyId, { totals, held }]));
  return keyIds.map((keyId) => found.get(keyId) ?? null);
}

const selectAccounts = `
SELECT keys.id AS "keyId", posted::float8, purchased::float8, used::float8, held::float8, day, day_spend::float8 AS "daySpend",
  period_start_ms::float8 AS "periodStartMs", period_used::float8 AS "periodUsed", requests::float8,
  input_tokens::float8 AS "inputTokens", output_tokens::float8 AS "outputTokens", last_cost_nano::float8 AS "lastCostNano",
  purchased::text AS "purchasedDigits", day_spend::text AS "daySpendDigits"
FROM keys JOIN accounts ON accounts.no = keys.account_no
WHERE keys.id = ANY ($1::text[])`;
