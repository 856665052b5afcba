import { type KeyRow, keyFromRow, selectKeys } from "../key-row.ts";
import { Parameters, type Query } from "../query.ts";
import type { Store } from "../store.ts";
import { type AccountRow, accountFromRow, selectAccounts } from "./account-table.ts";
import { firstAs } from "./rows.ts";

/** `scan` runs statements that go through many rows. */
export function keySearch(read: Query, scan: Query) {
  return {
    async findKey(idOrPrefix) {
      const rows = await read<KeyRow>(`${selectKeys} WHERE keys.no IN (${numbersNamed}) LIMIT 2`, [
        idOrPrefix,
      ]);
      const [row] = rows;
      return row === undefined || rows.length > 1 ? null : keyFromRow(row).key;
    },

    async listKeys({ search = "", limit, cursor = "0" }) {
      const parameters = new Parameters();
      const isAfter = `keys.no > ${parameters.add(Number(cursor))}`;
      const isFound = search === "" ? "" : ` AND ${keyMatches(search, parameters)}`;
      const rows = await scan<KeyRow>(
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

    async keysNamed(name, limit) {
      const rows = await read<KeyRow>(
        `${selectKeys} WHERE keys.no IN (${numbersBeginning}) ORDER BY keys.no LIMIT $3::int8`,
        [name, name.length >= minPrefixLength, limit],
      );
      return rows.map((row) => keyFromRow(row).key);
    },

    async accountsLabelled(label) {
      const rows = await read<AccountRow>(
        `${selectAccounts} WHERE account_label = $1::text ORDER BY accounts.no LIMIT 2`,
        [label],
      );
      return rows.map((row) => accountFromRow(row).account);
    },

    findAccount: (id) =>
      read<AccountRow>(`${selectAccounts} WHERE accounts.id = $1::text`, [id]).then(
        firstAs((row) => accountFromRow(row).account),
      ),

    /** Lists shared accounts. */
    async listAccounts({ limit, after = "" }) {
      const rows = await scan<AccountRow>(
        `${selectAccounts} WHERE accounts.no > coalesce((SELECT no FROM accounts WHERE id = $1::text), 0) AND ${isShared}
        ORDER BY accounts.no LIMIT $2::int8`,
        [after, limit],
      );
      return rows.map((row) => accountFromRow(row).account);
    },
  } satisfies Partial<Store>;
}

const isShared = `(NOT EXISTS (SELECT 1 FROM keys WHERE keys.no = accounts.no)
  OR (SELECT count(*) FROM keys WHERE keys.account_no = accounts.no) <> 1)`;

/** A shorter text is the beginning of too many ids. */
const minPrefixLength = 8;
/** By label, or by the beginning of the id or prefix. `~` sorts after everything that those contain. */
const numbersBeginning = `
SELECT no FROM keys WHERE label = $1::text AND id <> ''
UNION ALL SELECT no FROM keys WHERE $2 AND id COLLATE "C" >= $1::text AND id COLLATE "C" < $1::text || '~'
UNION ALL SELECT no FROM keys WHERE $2 AND prefix COLLATE "C" >= $1::text AND prefix COLLATE "C" < $1::text || '~'`;

/** Uses one index per table. One condition over both tables would read all of them: 35 ms with 100,000 keys. */
const numbersNamed = `
SELECT no FROM keys WHERE id = $1::text UNION ALL SELECT no FROM keys WHERE prefix = $1::text
UNION ALL SELECT no FROM (SELECT keys.no FROM accounts JOIN keys ON keys.account_no = accounts.no WHERE accounts.id = $1::text LIMIT 2) drawing`;

/** Matches part of the label or owner, or the beginning of the id or prefix. */
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

/** A LIKE pattern for values that contain the text. */
export function partPattern(text: string): string {
  return `%${text.replaceAll(/[\\%_]/g, "\\$&")}%`;
}
