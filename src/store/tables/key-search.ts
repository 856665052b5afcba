import { type KeyRow, keyFromRow, selectKeys } from "../key-row.ts";
import { Parameters, type Query } from "../query.ts";
import type { AccountRecord, KeyRecord } from "../records.ts";
import type { AccountQuery, KeyPage, KeyQuery } from "../store.ts";
import { type AccountRow, accountFromRow, selectAccounts } from "./account-table.ts";

/** By its id, its prefix, or its account's id: where that is the only one that fits. */
export async function findKey(query: Query, idOrPrefix: string): Promise<KeyRecord | null> {
  const where = "WHERE keys.id = $1::text OR prefix = $1::text OR accounts.id = $1::text LIMIT 2";
  const rows = await query<KeyRow>(`${selectKeys} ${where}`, [idOrPrefix]);
  const [row] = rows;
  return row === undefined || rows.length > 1 ? null : keyFromRow(row).key;
}

export async function listKeys(
  query: Query,
  { search = "", limit, cursor = "0" }: KeyQuery,
): Promise<KeyPage> {
  const parameters = new Parameters();
  const isAfter = `keys.no > ${parameters.add(Number(cursor))}`;
  const isFound = search === "" ? "" : ` AND ${keyMatches(search, parameters)}`;
  const rows = await query<KeyRow>(
    `${selectKeys} WHERE ${isAfter}${isFound} ORDER BY keys.no LIMIT ${parameters.add(limit + 1)}`,
    parameters.all,
  );
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    keys: page.map((row) => keyFromRow(row).key),
    nextCursor: rows.length > limit && last !== undefined ? String(last.no) : null,
  };
}

/** By a part of the label or the owner, or the beginning of the id or prefix. */
export function keyMatches(search: string, parameters: Parameters): string {
  const part = partPattern(search);
  const [within, atStart] = [parameters.add(part), parameters.add(part.slice(1))];
  const columns = [
    ["keys.label", within],
    ["keys.owner", within],
    ["keys.id", atStart],
    ["keys.prefix", atStart],
  ] as const;
  return `(${columns.map(([column, pattern]) => `${column} ILIKE ${pattern} ESCAPE '\\'`).join(" OR ")})`;
}

/** What contains the text, for LIKE. */
export function partPattern(text: string): string {
  return `%${text.replaceAll(/[\\%_]/g, "\\$&")}%`;
}

export async function findAccount(query: Query, id: string): Promise<AccountRecord | null> {
  const [row] = await query<AccountRow>(`${selectAccounts} WHERE accounts.id = $1::text`, [id]);
  return row === undefined ? null : accountFromRow(row).account;
}

/** Those that are more than the own account of one key. */
export async function listAccounts(
  query: Query,
  { limit, after = "" }: AccountQuery,
): Promise<readonly AccountRecord[]> {
  const rows = await query<AccountRow>(
    `${selectAccounts}
    WHERE accounts.no > coalesce((SELECT no FROM accounts WHERE id = $1::text), 0)
      AND (NOT EXISTS (SELECT 1 FROM keys WHERE keys.no = accounts.no)
        OR (SELECT count(*) FROM keys WHERE keys.account_no = accounts.no) <> 1)
    ORDER BY accounts.no LIMIT $2::int8`,
    [after, limit],
  );
  return rows.map((row) => accountFromRow(row).account);
}
