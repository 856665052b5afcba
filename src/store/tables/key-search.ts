import { type KeyRow, keyFromRow, selectKeys } from "../key-row.ts";
import { Parameters, type Query } from "../query.ts";
import type { Store } from "../store.ts";
import { type AccountRow, accountFromRow, selectAccounts } from "./account-table.ts";

export function keySearch(read: Query) {
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

    async keysNamed(name, limit) {
      const found: KeyRow[] = [];
      const [newest] = await read<{ no: number | null }>("SELECT max(no) AS no FROM keys");
      for (let first = 1; first <= (newest?.no ?? 0) && found.length < limit; first += namesPerPiece) {
        const parameters = [name, first, first + namesPerPiece - 1, limit - found.length];
        found.push(
          ...(await read<KeyRow>(
            `${selectKeys} WHERE ${isNamed} ORDER BY keys.no LIMIT $4::int8`,
            parameters,
          )),
        );
        await Bun.sleep(0);
      }
      return found.map((row) => keyFromRow(row).key);
    },

    async accountsLabelled(label) {
      const rows = await read<AccountRow>(
        `${selectAccounts} WHERE account_label = $1::text ORDER BY accounts.no LIMIT 2`,
        [label],
      );
      return rows.map((row) => accountFromRow(row).account);
    },

    async findAccount(id) {
      const [row] = await read<AccountRow>(`${selectAccounts} WHERE accounts.id = $1::text`, [id]);
      return row === undefined ? null : accountFromRow(row).account;
    },

    /** Lists shared accounts. Nearly all accounts may belong to a single key, so they are examined piece by piece. */
    async listAccounts({ limit, after = "" }) {
      const found: AccountRow[] = [];
      const [place] = await read<{ after: number | null; last: number | null }>(
        "SELECT (SELECT no FROM accounts WHERE id = $1::text) AS after, (SELECT max(no) FROM accounts) AS last",
        [after],
      );
      const last = place?.last ?? 0;
      for (let from = place?.after ?? 0; from < last && found.length < limit; from += accountsPerPiece) {
        const rows = await read<AccountRow>(
          `${selectAccounts} WHERE accounts.no > $1::int AND accounts.no <= $2::int AND ${isShared}
          ORDER BY accounts.no LIMIT $3::int8`,
          [from, from + accountsPerPiece, limit - found.length],
        );
        found.push(...rows);
      }
      return found.map((row) => accountFromRow(row).account);
    },
  } satisfies Partial<Store>;
}

const accountsPerPiece = 5_000;
const isShared = `(NOT EXISTS (SELECT 1 FROM keys WHERE keys.no = accounts.no)
  OR (SELECT count(*) FROM keys WHERE keys.account_no = accounts.no) <> 1)`;

/** About 5 ms on SQLite. */
const namesPerPiece = 20_000;
/** A shorter text is the beginning of too many ids. */
const shortestBeginning = 8;
const isNamed = `keys.no BETWEEN $2::int8 AND $3::int8 AND (keys.label = $1::text OR (length($1::text) >= ${shortestBeginning}
  AND (substr(keys.id, 1, length($1::text)) = $1::text OR substr(keys.prefix, 1, length($1::text)) = $1::text)))`;

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
