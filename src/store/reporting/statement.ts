import type { KeyMode } from "../../base/key-attributes.ts";
import { Parameters, type Query } from "../query.ts";
import type { EntryKind } from "../records.ts";

/** What an account had and what came of it in a range of time, as the ledger's entries say. */
export interface AccountStatement {
  readonly accountId: string;
  readonly label: string | null;
  readonly mode: KeyMode;
  readonly isOpen: boolean;
  /** The sum of all entries before. Nano-credits or tokens, as is everything here. */
  readonly opening: bigint;
  readonly lines: readonly StatementLine[];
}

/** The charges of a key for a model together; every other entry by itself. Overruns are not paid, and not among them. */
export interface StatementLine {
  readonly kind: Exclude<EntryKind, "overrun">;
  /** Null for charges. */
  readonly atMs: number | null;
  readonly keyId: string | null;
  readonly keyPrefix: string | null;
  readonly keyLabel: string | null;
  readonly owner: string | null;
  readonly model: string | null;
  readonly requests: number;
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
  /** As the ledger has it: what was charged is below 0. */
  readonly amount: bigint;
  readonly reference: string | null;
  readonly note: string | null;
}

export interface StatementQuery {
  readonly sinceMs: number;
  /** Not included. */
  readonly untilMs: number;
  readonly accountId?: string | undefined;
}

type LineRow = Omit<StatementLine, "amount"> & { readonly accountNo: number; readonly amount: string };
type AccountRow = Omit<AccountStatement, "isOpen" | "opening" | "lines"> & {
  readonly no: number;
  readonly isOpen: number | boolean;
  readonly opening: string | null;
};

/** Accounts with an entry in that time, and the one that was asked for. Sums come as text: they may exceed a double. */
export async function readStatements(
  query: Query,
  asked: StatementQuery,
): Promise<readonly AccountStatement[]> {
  const { sinceMs, untilMs, accountId } = asked;
  const parameters = new Parameters();
  const [since, until] = [parameters.add(sinceMs), parameters.add(untilMs)];
  const isAsked =
    accountId === undefined
      ? ""
      : `AND ${payer} = (SELECT no FROM accounts WHERE id = ${parameters.add(accountId)})`;
  const rows = await query<LineRow>(
    `SELECT lines."accountNo", lines.kind, at_ms::float8 AS "atMs", nullif(keys.id, '') AS "keyId",
      nullif(prefix, '') AS "keyPrefix", keys.label AS "keyLabel", owner, nullif(lines.model, '') AS model, requests::float8 AS requests,
      input_tokens::float8 AS "inputTokens", cached_input_tokens::float8 AS "cachedInputTokens",
      output_tokens::float8 AS "outputTokens", CAST(amount AS text) AS amount, reference, note
    FROM (
      SELECT ${payer} AS "accountNo", key_no, kind, CASE WHEN kind = 'charge' THEN model END AS model,
        CASE WHEN kind <> 'charge' THEN id END AS entry_id, CASE WHEN kind <> 'charge' THEN at_ms END AS at_ms,
        count(recorded_at_ms) AS requests, ${tokens}, sum(amount) AS amount, max(reference) AS reference, max(note) AS note
      FROM entries WHERE kind <> 'overrun' AND at_ms >= ${since} AND at_ms < ${until} ${isAsked}
      GROUP BY 1, 2, 3, 4, 5, 6
    ) lines LEFT JOIN keys ON keys.no = lines.key_no
    ORDER BY CASE lines.kind WHEN 'charge' THEN 1 ELSE 0 END, entry_id, keys.id, lines.model`,
    parameters.all,
  );
  const accounts = await query<AccountRow>(
    `SELECT no, id AS "accountId", account_label AS label, mode, is_open AS "isOpen", CAST(opening AS text) AS opening
    FROM accounts LEFT JOIN (
      SELECT ${payer} AS payer_no, sum(amount) AS opening FROM entries WHERE kind <> 'overrun' AND at_ms < $1::int8 GROUP BY 1
    ) before ON payer_no = no
    WHERE no = ANY ($2::int8[]) OR id = $3::text ORDER BY no`,
    [sinceMs, [...new Set(rows.map(({ accountNo }) => accountNo))], accountId ?? ""],
  );
  return accounts.map(({ no, isOpen, opening, ...account }) => ({
    ...account,
    isOpen: Boolean(isOpen),
    opening: BigInt(opening ?? 0),
    lines: rows.filter(({ accountNo }) => accountNo === no).map(lineOf),
  }));
}

function lineOf({ accountNo: _, amount, ...line }: LineRow): StatementLine {
  return { ...line, amount: BigInt(amount) };
}

/** Who paid: SQLite leaves it out where that is the key's own account, which has the key's number. */
const payer = "coalesce(account_no, key_no)";

const tokens = `
  coalesce(sum(input_tokens + cached_input_tokens + cache_write_tokens), 0) AS input_tokens,
  coalesce(sum(cached_input_tokens), 0) AS cached_input_tokens, coalesce(sum(output_tokens), 0) AS output_tokens`;
