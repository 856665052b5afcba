import type { AccountState, CapState } from "../../node.ts";
import type { AccountRecord, Totals } from "../../records.ts";
import { capsFrom, selectCaps } from "../../tables/cap-table.ts";
import { accountSums, keySums, keysWithSums } from "../../tables/entry-table.ts";
import type { Query } from "../client.ts";

interface StateRow extends Totals, Pick<AccountRecord, "mode" | "budgetTokens" | "period"> {
  readonly isPostpaid: number;
  readonly held: number;
  readonly keyCaps: string | null;
  readonly accountCaps: string | null;
}

/** Reads the current accounts; null for a key that does not exist. */
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
  const { isPostpaid, mode, budgetTokens, period, held, keyCaps, accountCaps, ...totals } = row;
  return {
    terms: { mode, isPostpaid: isPostpaid === 1, budgetTokens, period },
    totals,
    held,
    keyCaps: capsFrom<CapState>(keyCaps),
    accountCaps: capsFrom<CapState>(accountCaps),
  };
}

const capsOf = (owner: "keys" | "accounts") =>
  selectCaps(
    owner,
    "'periodStartMs', caps.period_start_ms, 'used', caps.used, 'laterUsed', caps.later_used, 'held', caps.held",
  );

const selectStates = `
SELECT accounts.mode, accounts.is_open AS "isPostpaid", accounts.budget_tokens::float8 AS "budgetTokens", accounts.period,
  accounts.held::float8 AS held,
  ${accountSums}, ${keySums}, ${capsOf("keys")} AS "keyCaps", ${capsOf("accounts")} AS "accountCaps"
FROM ${keysWithSums} JOIN accounts ON accounts.no = keys.account_no
WHERE keys.id = ANY ($1::text[])`;
