import { type KeyRow, keyFromRow, selectKeys } from "../key-row.ts";
import { query, type Work } from "../query.ts";
import type { AccountStanding, AccountTotals, CapTotals } from "../records.ts";
import { StoreError } from "../store.ts";
import { selectCapTotals } from "./cap-table.ts";
import { accountSums } from "./entry-table.ts";

interface TotalsRow extends AccountTotals {
  readonly no: number;
  readonly keyCount: number;
}

interface CapRow extends CapTotals {
  readonly accountNo: number | null;
  readonly keyNo: number | null;
}

/** Four statements, however many accounts. An account's keys are read if it has at most `maxKeys`. */
export function* readStandings(accountIds: readonly string[], maxKeys: number): Work<AccountStanding[]> {
  const rows = yield* query<TotalsRow>(
    `SELECT accounts.no, ${accountSums}, (SELECT count(*) FROM keys WHERE keys.account_no = accounts.no)::float8 AS "keyCount"
    FROM accounts WHERE accounts.id = ANY ($1::text[])`,
    [accountIds],
  );
  const withKeys = rows.filter(({ keyCount }) => keyCount > 0 && keyCount <= maxKeys).map(({ no }) => no);
  const keys = yield* keysOf(withKeys);
  const keysByAccount = Map.groupBy(keys, ({ accountNo }) => accountNo);
  const caps = yield* capsOf("account_no", numbersOf(rows));
  const capsOfKeys = yield* capsOf("key_no", numbersOf(keys));
  const capsByAccount = Map.groupBy(caps, ({ accountNo }) => accountNo);
  const capsByKey = Map.groupBy(capsOfKeys, ({ keyNo }) => keyNo);
  const byId = new Map(rows.map((row) => [row.accountId, row]));
  return accountIds.map((id) => {
    const row = byId.get(id);
    if (row === undefined) throw new StoreError("unknown_account", `Account ${id} does not exist.`);
    const { no, keyCount, ...totals } = row;
    const own = keysByAccount.get(no) ?? [];
    const counted = [capsByAccount.get(no) ?? [], ...own.map((key) => capsByKey.get(key.no) ?? [])];
    return {
      totals,
      keys: own.map(({ key }) => key),
      hasMoreKeys: keyCount > own.length,
      caps: counted.flat().map(({ accountNo: _, keyNo: __, ...cap }) => cap),
    };
  });
}

function* keysOf(accountNos: readonly number[]): Work<ReturnType<typeof keyFromRow>[]> {
  if (accountNos.length === 0) return [];
  // The plus sign keeps SQLite from scanning all keys by number.
  const where = "WHERE keys.account_no = ANY ($1::int[]) ORDER BY +keys.no";
  return (yield* query<KeyRow>(`${selectKeys} ${where}`, [accountNos])).map(keyFromRow);
}

function* capsOf(column: "account_no" | "key_no", numbers: readonly number[]): Work<CapRow[]> {
  if (numbers.length === 0) return [];
  const owner = `, account_no AS "accountNo", key_no AS "keyNo" FROM`;
  const select = selectCapTotals.replace(" FROM", owner);
  return yield* query<CapRow>(`${select} WHERE ${column} = ANY ($1::int[]) ORDER BY no`, [numbers]);
}

function numbersOf(rows: readonly { readonly no: number }[]): number[] {
  return rows.map(({ no }) => no);
}
