import type { AccountState, CapState } from "../../node.ts";
import type { AccountRecord, Totals } from "../../records.ts";
import type { Query } from "../client.ts";

interface StateRow extends Totals, Pick<AccountRecord, "mode" | "budgetTokens" | "period"> {
  readonly isOpen: number;
  readonly held: number;
  readonly keyCaps: readonly CapState[] | null;
  readonly accountCaps: readonly CapState[] | null;
}

/** As they are now; null for a key that does not exist. */
export async function readAccounts(
  query: Query,
  keyIds: readonly string[],
): Promise<readonly (AccountState | null)[]> {
  if (keyIds.length === 0) return [];
  const rows = await query<StateRow>(selectStates, [[...keyIds]]);
  const found = new Map(rows.map((row) => [row.keyId, stateOf(row)]));
  return keyIds.map((keyId) => found.get(keyId) ?? null);
}

function stateOf(row: StateRow): AccountState {
  const { isOpen, mode, budgetTokens, period, held, keyCaps, accountCaps, ...totals } = row;
  return {
    terms: { mode, isOpen: isOpen === 1, budgetTokens, period },
    totals,
    held,
    keyCaps: keyCaps ?? [],
    accountCaps: accountCaps ?? [],
  };
}

const capsOf = (owner: string) => `
(SELECT json_agg(json_build_object('no', caps.no, 'limit', caps.amount, 'period', caps.period, 'models', caps.models, 'extra', caps.extra,
  'extraPeriodMs', caps.extra_period_ms, 'periodStartMs', caps.period_start_ms, 'used', caps.used, 'held', caps.held) ORDER BY caps.no)
  FROM caps WHERE ${owner})`;

const selectStates = `
SELECT keys.id AS "keyId", accounts.id AS "accountId", mode, is_open AS "isOpen", budget_tokens::float8 AS "budgetTokens", period,
  posted::float8, purchased::float8, used::float8, held::float8, counted_at_ms::float8 AS "countedAtMs",
  period_start_ms::float8 AS "periodStartMs", period_used::float8 AS "periodUsed", purchased::text AS "purchasedDigits",
  day, day_spend::float8 AS "daySpend", day_spend::text AS "daySpendDigits", spent::float8, spent::text AS "spentDigits", requests::float8,
  input_tokens::float8 AS "inputTokens", output_tokens::float8 AS "outputTokens", last_cost_nano::float8 AS "lastCostNano",
  ${capsOf("caps.key_no = keys.no")} AS "keyCaps", ${capsOf("caps.account_no = accounts.no")} AS "accountCaps"
FROM keys JOIN accounts ON accounts.no = keys.account_no JOIN key_sums ON key_sums.key_no = keys.no
WHERE keys.id = ANY ($1::text[])`;
