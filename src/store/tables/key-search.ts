import { type KeyRow, keyFromRow, selectKeys } from "../key-row.ts";
import { Parameters, type Query } from "../query.ts";
import type { Store } from "../store.ts";
import { type AccountRow, accountFromRow, selectAccounts } from "./account-table.ts";

export function keySearch(read: Query) {
  return {
    async findKey(idOrPrefix) {
      const where = "WHERE keys.id = $1::text OR prefix = $1::text OR accounts.id = $1::text LIMIT 2";
      const rows = await read<KeyRow>(`${selectKeys} ${where}`, [idOrPrefix]);
      const [row] = rows;
      return row === undefined || rows.length > 1 ? null : keyFromRow(row).key;
    },

    async listKeys({ search = "", limit, cursor = "0" }) {
      const parameters = new Parameters();
      const isAfter = `keys.no > ${parameters.add(Number(cursor))}`;
      const isFound = search === "" ? "" : ` AND ${keyMatches(search, parameters)}`;
      const rows = await read<KeyRow>(
        `${selectKeys} WHERE ${isAfter}${isFound} ORDER BY keys.no LIMIT ${parameters.add(limit + 1)}`,
        parameters.all,
      );
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      return {
        keys: page.map((row) => keyFromRow(row).key),
        nextCursor: rows.length > limit && last !== undefined ? String(last.no) : null,
      };
    },

    async findAccount(id) {
      const [row] = await read<AccountRow>(`${selectAccounts} WHERE accounts.id = $1::text`, [id]);
      return row === undefined ? null : accountFromRow(row).account;
    },

    /** Those that are more than the own account of one key. */
    async listAccounts({ limit, after = "" }) {
      const rows = await read<AccountRow>(
        `${selectAccounts}
        WHERE accounts.no > coalesce((SELECT no FROM accounts WHERE id = $1::text), 0)
          AND (NOT EXISTS (SELECT 1 FROM keys WHERE keys.no = accounts.no)
            OR (SELECT count(*) FROM keys WHERE keys.account_no = accounts.no) <> 1)
        ORDER BY accounts.no LIMIT $2::int8`,
        [after, limit],
      );
      return rows.map((row) => accountFromRow(row).account);
    },
  } satisfies Partial<Store>;
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
