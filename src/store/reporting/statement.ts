import type { KeyMode } from "../../base/key-attributes.ts";
import { mapInTurns, sortInTurns } from "../../base/loop/in-turns.ts";
import { Parameters, type Queries } from "../query.ts";
import type { EntryKind } from "../records.ts";
import { byTime } from "./pieces-of-time.ts";

/** An account's opening balance and changes over a time range, from the ledger's entries. */
export interface AccountStatement {
  readonly accountId: string;
  readonly label: string | null;
  readonly mode: KeyMode;
  readonly isOpen: boolean;
  /** The sum of all earlier entries. Nano-credits or tokens, like all amounts here. */
  readonly opening: bigint;
  readonly lines: readonly StatementLine[];
}

/** One line per key and model for charges, and one for what is owed above its caps. Every other entry has its own line. */
export interface StatementLine {
  /** An `overrun` line is owed. Uncharged overruns have no line. */
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

type LineRow = Omit<StatementLine, "amount"> & {
  readonly accountNo: number;
  readonly entryId: number | null;
  readonly amount: string;
};
type SummedLine = Omit<LineRow, "amount"> & { readonly amount: bigint };
type AccountRow = Omit<AccountStatement, "isOpen" | "opening" | "lines"> & {
  readonly no: number;
  readonly isOpen: number | boolean;
};

/** Accounts with an entry in the range, and the requested one. Sums are text: they may exceed a double. */
export async function readStatements(
  queries: Queries,
  range: StatementQuery,
): Promise<readonly AccountStatement[]> {
  const lines = await readLines(queries, range);
  const byAccount = Map.groupBy(lines, ({ accountNo }) => accountNo);
  const accounts = await readStated(queries, [...byAccount.keys()], range.accountId);
  const openings = await readOpenings(queries, range);
  const statements: AccountStatement[] = [];
  for (const { no, isOpen, ...account } of accounts) {
    const sorted = await sortInTurns(byAccount.get(no) ?? [], inOrder);
    const shown = await mapInTurns(sorted, ({ accountNo: _, entryId: __, ...line }) => line);
    statements.push({ ...account, isOpen: Boolean(isOpen), opening: openings.get(no) ?? 0n, lines: shown });
  }
  return statements;
}

const accountsPerRead = 1_000;

/** The accounts with these numbers and the requested one, ordered by number. */
async function readStated(
  { read }: Queries,
  numbers: readonly number[],
  accountId: string | undefined,
): Promise<readonly AccountRow[]> {
  const select = `SELECT no, id AS "accountId", account_label AS label, mode, is_open AS "isOpen" FROM accounts`;
  const requested =
    accountId === undefined ? [] : await read<AccountRow>(`${select} WHERE id = $1::text`, [accountId]);
  const found = [...requested];
  const others = numbers.filter((no) => no !== requested[0]?.no);
  for (let first = 0; first < others.length; first += accountsPerRead) {
    const some = others.slice(first, first + accountsPerRead);
    found.push(...(await read<AccountRow>(`${select} WHERE no = ANY ($1::int8[])`, [some])));
  }
  return sortInTurns(found, (one, other) => one.no - other.no);
}

/** Lines of the same key and model are added up over all pieces of the range. */
async function readLines(queries: Queries, range: StatementQuery): Promise<SummedLine[]> {
  const sums = new Map<string, SummedLine>();
  await byTime(queries, range, ["entries"], async (piece) => {
    for (const { amount, ...row } of await readPiece(queries, piece, range.accountId)) {
      const name = JSON.stringify([row.accountNo, row.keyId, row.kind, row.model, row.entryId]);
      const sum = sums.get(name);
      sums.set(
        name,
        sum === undefined ? { ...row, amount: BigInt(amount) } : added(sum, row, BigInt(amount)),
      );
    }
  });
  return [...sums.values()];
}

function added(sum: SummedLine, more: Omit<LineRow, "amount">, amount: bigint): SummedLine {
  return {
    ...sum,
    requests: sum.requests + more.requests,
    cancelledCalls: sum.cancelledCalls + more.cancelledCalls,
    inputTokens: sum.inputTokens + more.inputTokens,
    cachedInputTokens: sum.cachedInputTokens + more.cachedInputTokens,
    outputTokens: sum.outputTokens + more.outputTokens,
    amount: sum.amount + amount,
  };
}

/** Operators' entries come first, in order. Charges follow by key and model, each followed by what is owed above its caps. */
function inOrder(one: SummedLine, other: SummedLine): number {
  const ranks = ({ entryId, keyId, model, kind }: SummedLine) => [
    entryId ?? Number.MAX_SAFE_INTEGER,
    keyId ?? "",
    model ?? "",
    kind,
  ];
  const [mine, its] = [ranks(one), ranks(other)];
  const place = mine.findIndex((rank, at) => rank !== its[at]);
  return place === -1 ? 0 : (mine[place] ?? 0) < (its[place] ?? 0) ? -1 : 1;
}

function readPiece(
  { read }: Queries,
  { sinceMs, untilMs }: Pick<StatementQuery, "sinceMs" | "untilMs">,
  accountId: string | undefined,
): Promise<LineRow[]> {
  const parameters = new Parameters();
  const [since, until] = [parameters.add(sinceMs), parameters.add(untilMs)];
  return read<LineRow>(
    `SELECT lines."accountNo", lines.kind, lines.at_ms::float8 AS "atMs", nullif(keys.id, '') AS "keyId",
      nullif(keys.prefix, '') AS "keyPrefix", keys.label AS "keyLabel", keys.owner, nullif(lines.model, '') AS model,
      lines.requests::float8 AS requests, lines.cancelled_calls::float8 AS "cancelledCalls",
      lines.input_tokens::float8 AS "inputTokens", lines.cached_input_tokens::float8 AS "cachedInputTokens",
      lines.output_tokens::float8 AS "outputTokens", CAST(lines.amount AS text) AS amount, lines.reference, lines.note,
      lines.entry_id::float8 AS "entryId"
    FROM (
      SELECT ${billedAccountNo} AS "accountNo", key_no, kind, CASE WHEN ${isCharged} THEN model END AS model,
        CASE WHEN NOT ${isCharged} THEN id END AS entry_id, CASE WHEN NOT ${isCharged} THEN at_ms END AS at_ms,
        count(recorded_at_ms) AS requests,
        CASE WHEN kind = 'charge' THEN count(*) - count(recorded_at_ms) ELSE 0 END AS cancelled_calls, ${tokens}, sum(amount) AS amount, max(reference) AS reference, max(note) AS note
      FROM entries WHERE ${isPosted} AND at_ms >= ${since} AND at_ms < ${until} ${isOf(accountId, parameters)}
      GROUP BY 1, 2, 3, 4, 5, 6
    ) lines LEFT JOIN keys ON keys.no = lines.key_no`,
    parameters.all,
  );
}

/** The sums of all earlier entries, by account number. */
async function readOpenings(
  queries: Queries,
  { sinceMs, accountId }: StatementQuery,
): Promise<ReadonlyMap<number, bigint>> {
  const openings = new Map<number, bigint>();
  await byTime(queries, { sinceMs: 0, untilMs: sinceMs }, ["entries"], async (piece) => {
    const parameters = new Parameters();
    const [since, until] = [parameters.add(piece.sinceMs), parameters.add(piece.untilMs)];
    const rows = await queries.read<{ no: number; amount: string }>(
      `SELECT ${billedAccountNo} AS no, CAST(sum(amount) AS text) AS amount FROM entries
      WHERE ${isPosted} AND at_ms >= ${since} AND at_ms < ${until} ${isOf(accountId, parameters)} GROUP BY 1`,
      parameters.all,
    );
    for (const { no, amount } of rows) openings.set(no, (openings.get(no) ?? 0n) + BigInt(amount));
  });
  return openings;
}

function isOf(accountId: string | undefined, parameters: Parameters): string {
  if (accountId === undefined) return "";
  return `AND ${billedAccountNo} = (SELECT no FROM accounts WHERE id = ${parameters.add(accountId)})`;
}

/** Entries of requests, and those that count in `posted`: an overrun below 0 is owed, above 0 it was not charged. */
const isCharged = "kind IN ('charge', 'overrun')";
const isPosted = "(kind <> 'overrun' OR amount < 0)";

/** The billed account. SQLite omits the key's own account, which has the key's number. */
const billedAccountNo = "coalesce(account_no, key_no)";

const tokens = `
  coalesce(sum(input_tokens + cached_input_tokens + cache_write_tokens), 0) AS input_tokens,
  coalesce(sum(cached_input_tokens), 0) AS cached_input_tokens, coalesce(sum(output_tokens), 0) AS output_tokens`;
