import { assert } from "../../base/assert.ts";
import { uncounted } from "../../base/requests/labels.ts";
import { type EntryRow, entryOf, selectEntries } from "../entry-row.ts";
import { type Query, query, type Work } from "../query.ts";
import type {
  AccountTotals,
  AttemptTarget,
  Entry,
  HoldProgress,
  KeyTotals,
  SessionCharge,
  Totals,
} from "../records.ts";
import { type SumRow, sumChecks, sumFaults } from "../reporting/sum-audit.ts";
import type { LedgerFault } from "../store.ts";
import { quantitiesOf } from "../written-rows.ts";

/** Reads the ledger: entries, their totals, and the open holds. */

export function* entriesChangedSince(revision: number): Work<Entry[]> {
  // The plus sign keeps SQLite from going through all entries in this order.
  const where = "WHERE entries.revision > $1::int8 ORDER BY +entries.id";
  return (yield* query<EntryRow>(`${selectEntries} ${where}`, [revision])).map(entryOf);
}

export function* entryById(id: number): Work<Entry> {
  const [row] = yield* query<EntryRow>(`${selectEntries} WHERE entries.id = $1::int8`, [id]);
  assert(row !== undefined, `there is no entry ${id}`);
  return entryOf(row);
}

export const accountSums = `
accounts.id AS "accountId", accounts.posted::float8 AS posted, accounts.purchased::float8 AS purchased, accounts.used::float8 AS used,
  accounts.period_start_ms::float8 AS "periodStartMs", accounts.period_used::float8 AS "periodUsed",
  accounts.later_used AS "laterUsed",
  accounts.counted_at_ms::float8 AS "countedAtMs", CAST(accounts.purchased AS text) AS "purchasedDigits"`;

export const keySums = `
keys.id AS "keyId", sums.day, sums.day_spend::float8 AS "daySpend", sums.later_spend AS "laterSpend", sums.spent::float8 AS spent, sums.requests::float8 AS requests,
  sums.input_tokens::float8 AS "inputTokens", sums.output_tokens::float8 AS "outputTokens", sums.last_cost_nano::float8 AS "lastCostNano",
  CAST(sums.day_spend AS text) AS "daySpendDigits", CAST(sums.spent AS text) AS "spentDigits"`;

export const keysWithSums = "keys JOIN key_sums AS sums ON sums.key_no = keys.no";

export function allAccountTotals(): Work<AccountTotals[]> {
  return query<AccountTotals>(`SELECT ${accountSums} FROM accounts ORDER BY no`);
}

export function allKeyTotals(): Work<KeyTotals[]> {
  return query<KeyTotals>(`SELECT ${keySums} FROM ${keysWithSums} ORDER BY keys.no`);
}

export function* accountTotals(accountNo: number): Work<AccountTotals> {
  const [totals] = yield* query<AccountTotals>(`SELECT ${accountSums} FROM accounts WHERE no = $1::int`, [
    accountNo,
  ]);
  assert(totals !== undefined, `there is no account ${accountNo}`);
  return totals;
}

/** Bounds what is read of a key with many other sessions. */
const maxSearched = 1_000;

export async function lastRequestOfSession(
  read: Query,
  keyId: string,
  session: string,
  sinceMs: number,
): Promise<SessionCharge | null> {
  const [last] = await read<SessionCharge>(
    `SELECT model, cached_input_tokens::float8 AS "cachedInputTokens" FROM (
      SELECT id, model, cached_input_tokens, at_ms, labels FROM entries
      WHERE key_no = (SELECT no FROM keys WHERE keys.id = $1::text) AND kind = 'charge' ORDER BY id DESC LIMIT ${maxSearched}) AS recent
    WHERE at_ms >= $3::int8 AND coalesce(labels::json ->> 'session', labels::json ->> '${uncounted}session') = $2::text ORDER BY id DESC LIMIT 1`,
    [keyId, session, sinceMs],
  );
  return last ?? null;
}

/** The totals of a key and of its account. */
export async function totalsOfKey(read: Query, keyId: string): Promise<Totals | null> {
  const [totals] = await read<Totals>(
    `SELECT ${accountSums}, ${keySums} FROM ${keysWithSums} JOIN accounts ON accounts.no = keys.account_no
    WHERE keys.id = $1::text`,
    [keyId],
  );
  return totals ?? null;
}

export function* openHolds(): Work<HoldProgress[]> {
  const rows = yield* query<HoldRow>(
    `SELECT holds.id AS "holdId", keys.id AS "keyId", accounts.id AS "accountId", holds.opened_at_ms::float8 AS "openedAtMs",
      coalesce(holds.counted_at_ms, holds.opened_at_ms)::float8 AS "countedAtMs", holds.period_start_ms::float8 AS "periodStartMs",
      holds.charge_so_far::float8 AS "chargeSoFar", holds.model, holds.asked_model AS "requestedModel", holds.labels,
      holds.rates_id::float8 AS "ratesId", rates.rates, holds.quantities, holds.served
    FROM holds JOIN keys ON keys.no = holds.key_no JOIN accounts ON accounts.no = coalesce(holds.account_no, holds.key_no)
      LEFT JOIN rates ON rates.id = holds.rates_id WHERE holds.is_parked = 0 ORDER BY holds.id`,
  );
  return rows.map(holdOf);
}

/** Compared in SQL, because lifetime totals may exceed what a double represents exactly. */
export function* unbalancedId(): Work<string | null> {
  const [found] = yield* query<{ id: string }>(
    `SELECT coalesce((SELECT keys.id FROM keys WHERE keys.no = accounts.no), accounts.id) AS id FROM accounts
    WHERE posted <> purchased - used OR period_used > used OR (mode = 'credit' AND posted < 0 AND is_open = 0)
    UNION ALL SELECT keys.id FROM ${keysWithSums} WHERE sums.day_spend > sums.spent
    LIMIT 1`,
  );
  return found?.id ?? null;
}

/** Report totals that differ from the entries. */
export function* sumsThatDiffer(): Work<LedgerFault[]> {
  const faults: LedgerFault[] = [];
  for (const check of sumChecks) {
    for (const row of yield* query<SumRow>(check.sql)) faults.push(...sumFaults(check, row));
  }
  return faults;
}

/** The progress of a hold as a database returns it. */
export interface HoldRow extends Omit<HoldProgress, "rates" | "quantities" | "served"> {
  readonly ratesId: number | null;
  readonly rates: string | null;
  readonly quantities: string | null;
  readonly served: string | null;
}

export function holdOf({ ratesId: id, rates: text, quantities, served, ...hold }: HoldRow): HoldProgress {
  const rates = id === null || text === null ? null : { id, text };
  // Safe cast: written by the gateway's own progress.
  const by = served === null ? null : (JSON.parse(served) as AttemptTarget);
  return { ...hold, rates, quantities: quantitiesOf(quantities, null), served: by };
}
