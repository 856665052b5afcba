import type { KeyMode } from "../../base/key-attributes.ts";
import { mapInTurns } from "../../base/loop/in-turns.ts";
import { Parameters, type Query } from "../query.ts";
import type { EntryKind } from "../records.ts";

/** An account's opening balance and changes over a time range, from the ledger's entries. */
export interface AccountStatement {
  readonly accountId: string;
  readonly label: string | null;
  readonly mode: KeyMode;
  readonly isPostpaid: boolean;
  /** The sum of all earlier entries. Nano-credits or tokens, like all amounts here. */
  readonly opening: bigint;
  /** The newest entry before the end of the range, with its hash; null if all are from before the chain. */
  readonly lastEntry: HashedEntry | null;
  readonly lines: readonly StatementLine[];
}

export interface HashedEntry {
  readonly id: number;
  readonly hash: string;
}

/** One line per key and model for charges, and one for the amount charged above holds. Every other entry has its own line. */
export interface StatementLine {
  /** `overrun`: an amount charged above holds. Uncharged overruns have no line. */
  readonly kind: EntryKind;
  /** Null for charges and overruns. */
  readonly atMs: number | null;
  readonly keyId: string | null;
  readonly keyPrefix: string | null;
  readonly keyLabel: string | null;
  readonly owner: string | null;
  readonly model: string | null;
  readonly requests: number;
  /** Charged requests that were cancelled or interrupted. They have no usage record and do not count as requests. */
  readonly cancelledCalls: number;
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
  /** Signed like the ledger: charges are negative. */
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
type AccountRow = Omit<AccountStatement, "isPostpaid" | "opening" | "lastEntry" | "lines"> & {
  readonly no: number;
  readonly isPostpaid: number | boolean;
};

/** Accounts with an entry in the range, and the requested one. Sums are text: they may exceed a double. */
export async function readStatements(
  read: Query,
  range: StatementQuery,
): Promise<readonly AccountStatement[]> {
  const lines = await readLines(read, range);
  const byAccount = Map.groupBy(lines, ({ accountNo }) => accountNo);
  const accounts = await readStated(read, [...byAccount.keys()], range.accountId);
  const openings = await readOpenings(read, range);
  const lastEntries = await readLastEntries(read, range);
  const statements: AccountStatement[] = [];
  for (const { no, isPostpaid, ...account } of accounts) {
    const shown = await mapInTurns(byAccount.get(no) ?? [], ({ accountNo: _, amount, ...line }) => ({
      ...line,
      amount: BigInt(amount),
    }));
    statements.push({
      ...account,
      isPostpaid: Boolean(isPostpaid),
      opening: openings.get(no) ?? 0n,
      lastEntry: lastEntries.get(no) ?? null,
      lines: shown,
    });
  }
  return statements;
}

/** The accounts with these numbers and the requested one, ordered by number. */
function readStated(
  read: Query,
  numbers: readonly number[],
  accountId: string | undefined,
): Promise<readonly AccountRow[]> {
  return read<AccountRow>(
    `SELECT no, id AS "accountId", account_label AS label, mode, is_open AS "isPostpaid" FROM accounts
    WHERE no = ANY ($1::int8[]) OR id = $2::text ORDER BY no`,
    [numbers, accountId ?? ""],
  );
}

/**
 * Operators' entries come first, in order. Charges follow by key and model, each followed by the amount charged above
 * holds.
 */
function readLines(read: Query, { sinceMs, untilMs, accountId }: StatementQuery): Promise<LineRow[]> {
  const parameters = new Parameters();
  const [since, until] = [parameters.add(sinceMs), parameters.add(untilMs)];
  return read<LineRow>(
    `SELECT lines."accountNo", lines.kind, lines.at_ms::float8 AS "atMs", nullif(keys.id, '') AS "keyId",
      nullif(keys.prefix, '') AS "keyPrefix", keys.label AS "keyLabel", keys.owner, nullif(lines.model, '') AS model,
      lines.requests::float8 AS requests, lines.cancelled_calls::float8 AS "cancelledCalls",
      lines.input_tokens::float8 AS "inputTokens", lines.cached_input_tokens::float8 AS "cachedInputTokens",
      lines.output_tokens::float8 AS "outputTokens", CAST(lines.amount AS text) AS amount, lines.reference, lines.note
    FROM (
      SELECT ${billedAccountNo} AS "accountNo", key_no, kind, CASE WHEN ${isCharged} THEN model END AS model,
        CASE WHEN NOT ${isCharged} THEN id END AS entry_id, CASE WHEN NOT ${isCharged} THEN at_ms END AS at_ms,
        count(recorded_at_ms) AS requests,
        CASE WHEN kind = 'charge' THEN count(*) - count(recorded_at_ms) ELSE 0 END AS cancelled_calls, ${tokens}, sum(amount) AS amount, max(reference) AS reference, max(note) AS note
      FROM entries WHERE ${isPosted} AND at_ms >= ${since} AND at_ms < ${until} ${isOf(accountId, parameters)}
      GROUP BY 1, 2, 3, 4, 5, 6
    ) lines LEFT JOIN keys ON keys.no = lines.key_no
    ORDER BY lines.entry_id NULLS LAST, keys.id COLLATE "C", coalesce(lines.model, '') COLLATE "C", lines.kind`,
    parameters.all,
  );
}

/** The sums of all earlier entries, by account number. */
async function readOpenings(
  read: Query,
  { sinceMs, accountId }: StatementQuery,
): Promise<ReadonlyMap<number, bigint>> {
  const parameters = new Parameters();
  const rows = await read<{ no: number; amount: string }>(
    `SELECT ${billedAccountNo} AS no, CAST(sum(amount) AS text) AS amount FROM entries
    WHERE ${isPosted} AND at_ms < ${parameters.add(sinceMs)} ${isOf(accountId, parameters)} GROUP BY 1`,
    parameters.all,
  );
  return new Map(rows.map(({ no, amount }) => [no, BigInt(amount)]));
}

/** The newest entry of each account that has a hash, by account number. */
async function readLastEntries(
  read: Query,
  { untilMs, accountId }: StatementQuery,
): Promise<ReadonlyMap<number, HashedEntry>> {
  const parameters = new Parameters();
  const newest = await read<{ id: number }>(
    `SELECT max(id)::float8 AS id FROM entries
    WHERE hash IS NOT NULL AND at_ms < ${parameters.add(untilMs)} ${isOf(accountId, parameters)} GROUP BY ${billedAccountNo}`,
    parameters.all,
  );
  const rows = await read<HashedEntry & { readonly no: number }>(
    `SELECT ${billedAccountNo} AS no, id::float8 AS id, hash FROM entries WHERE id = ANY ($1::int8[])`,
    [newest.map(({ id }) => id)],
  );
  return new Map(rows.map(({ no, ...entry }) => [no, entry]));
}

function isOf(accountId: string | undefined, parameters: Parameters): string {
  if (accountId === undefined) return "";
  return `AND ${billedAccountNo} = (SELECT no FROM accounts WHERE id = ${parameters.add(accountId)})`;
}

/** Entries of requests, and those that count in `posted`: an overrun below 0 was charged, above 0 it was not charged. */
const isCharged = "kind IN ('charge', 'overrun')";
const isPosted = "(kind <> 'overrun' OR amount < 0)";

/** The billed account. SQLite omits the key's own account, which has the key's number. */
const billedAccountNo = "coalesce(account_no, key_no)";

const tokens = `
  coalesce(sum(input_tokens + cached_input_tokens + cache_write_tokens), 0) AS input_tokens,
  coalesce(sum(cached_input_tokens), 0) AS cached_input_tokens, coalesce(sum(output_tokens), 0) AS output_tokens`;
