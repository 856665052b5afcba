import { assert } from "../../../base/assert.ts";
import { type EntryRow, entryOf, selectEntries } from "../../entry-row.ts";
import { type HoldRow, holdOf } from "../../hold-row.ts";
import type { AccountTotals, Entry, HoldProgress, KeyTotals, Totals } from "../../records.ts";
import type { Parameter, Query } from "../client.ts";
import { readAccounts } from "../node/read-accounts.ts";

/** Reads the ledger: entries, the totals kept beside them, and the open holds. */

/** Each half has an index of its own. */
export function entriesOfExchange(query: Query, exchangeId: string): Promise<readonly Entry[]> {
  const halves = ["kind = 'charge'", "kind <> 'charge'"].map(
    (kind) => `entries.exchange_id = $1 AND ${kind}`,
  );
  const condition = `WHERE ${halves.join(` UNION ALL ${selectEntries} WHERE `)} ORDER BY id`;
  return readEntries(query, condition, [exchangeId]);
}

export async function entryByReference(
  query: Query,
  accountNo: number,
  reference: string,
): Promise<Entry | null> {
  const [entry] = await readEntries(
    query,
    `JOIN entry_references r ON r.entry_id = entries.id AND r.month = entries.month
    WHERE r.account_no = $1::int AND r.reference = $2`,
    [accountNo, reference],
  );
  return entry ?? null;
}

export function entriesChangedSince(query: Query, revision: number): Promise<readonly Entry[]> {
  return readEntries(query, "WHERE entries.revision > $1::int8 ORDER BY entries.id", [revision]);
}

/** `condition` is all that follows the tables. */
async function readEntries(
  query: Query,
  condition: string,
  parameters: Parameter[],
): Promise<readonly Entry[]> {
  return (await query<EntryRow>(`${selectEntries} ${condition}`, parameters)).map(entryOf);
}

export function allAccountTotals(query: Query): Promise<AccountTotals[]> {
  return query<AccountTotals>(`${selectAccountTotals} ORDER BY no`);
}

export function allKeyTotals(query: Query): Promise<KeyTotals[]> {
  return query<KeyTotals>(`${selectKeyTotals} ORDER BY keys.no`);
}

/** `lock` keeps others from changing them until the transaction ends. */
export async function accountTotals(
  query: Query,
  accountNo: number,
  { lock }: { readonly lock: boolean },
): Promise<AccountTotals & { readonly held: number }> {
  const suffix = lock ? "FOR NO KEY UPDATE" : "";
  const [totals] = await query<AccountTotals & { held: number }>(
    `${selectAccountTotals} WHERE no = $1::int ${suffix}`,
    [accountNo],
  );
  assert(totals !== undefined, `there is no account ${accountNo}`);
  return totals;
}

/** A key's own and its account's, in one read. */
export async function totalsOfKey(query: Query, keyId: string): Promise<Totals | null> {
  const [state] = await readAccounts(query, [keyId]);
  return state?.totals ?? null;
}

export async function openHolds(query: Query): Promise<readonly HoldProgress[]> {
  const rows = await query<HoldRow>(
    `SELECT holds.id AS "holdId", keys.id AS "keyId", (SELECT id FROM accounts WHERE no = holds.account_no) AS "accountId",
      opened_at_ms::float8 AS "openedAtMs", counted_at_ms::float8 AS "countedAtMs",
      period_start_ms::float8 AS "periodStartMs", charge_so_far::float8 AS "chargeSoFar", model,
      asked_model AS "askedModel", labels, rates_id::float8 AS "ratesId", rates, quantities, served
    FROM holds JOIN keys ON keys.no = holds.key_no LEFT JOIN rates ON rates.id = holds.rates_id ORDER BY holds.id`,
  );
  return rows.map(holdOf);
}

/** Compared in SQL, because lifetime sums may exceed what a double represents exactly. */
export async function unbalancedId(query: Query): Promise<string | null> {
  const [found] = await query<{ id: string }>(
    `SELECT coalesce((SELECT id FROM keys WHERE keys.no = accounts.no), accounts.id) AS id FROM accounts
    WHERE posted <> purchased - used OR period_used > used OR (mode = 'credit' AND posted < 0 AND is_open = 0)
    UNION ALL SELECT keys.id FROM key_sums JOIN keys ON keys.no = key_no WHERE day_spend > spent
    LIMIT 1`,
  );
  return found?.id ?? null;
}

const selectAccountTotals = `
SELECT id AS "accountId", posted::float8 AS posted, purchased::float8 AS purchased, used::float8 AS used, held::float8 AS held,
  period_start_ms::float8 AS "periodStartMs", period_used::float8 AS "periodUsed", counted_at_ms::float8 AS "countedAtMs",
  purchased::text AS "purchasedDigits"
FROM accounts`;

const selectKeyTotals = `
SELECT keys.id AS "keyId", day, day_spend::float8 AS "daySpend", spent::float8 AS spent, requests::float8 AS requests,
  input_tokens::float8 AS "inputTokens", output_tokens::float8 AS "outputTokens", last_cost_nano::float8 AS "lastCostNano",
  day_spend::text AS "daySpendDigits", spent::text AS "spentDigits"
FROM key_sums JOIN keys ON keys.no = key_sums.key_no`;
