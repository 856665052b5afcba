import { changedCaps, unknownCap } from "../../account-row.ts";
import type { CapLimit, CapRecord, CapTotals } from "../../records.ts";
import type { Query } from "../client.ts";

/** Whose caps they are, by its number, and the account that it draws on. */
export interface NumberedOwner {
  readonly column: "key_no" | "account_no";
  readonly no: number;
  readonly accountNo: number;
}

export type HeldCap = CapTotals & { readonly held: number };

export function allCapTotals(query: Query): Promise<HeldCap[]> {
  return query<HeldCap>(`${selectTotals} ORDER BY no`);
}

/** Those of these accounts and of all keys that draw on them. */
export function capTotalsOf(query: Query, accountNos: readonly number[]): Promise<HeldCap[]> {
  return query<HeldCap>(
    `${selectTotals} WHERE account_no = ANY ($1::text[]::int[])
      OR key_no = ANY (ARRAY(SELECT no FROM keys WHERE account_no = ANY ($1::text[]::int[])))`,
    [accountNos.map(String)],
  );
}

/**
 * These take the place of all that the owner has. Nobody holds or charges meanwhile: the account is locked, and the
 * key's sums, as by a batch. Inside the caller's transaction.
 */
export async function setCaps(
  query: Query,
  owner: NumberedOwner,
  before: readonly CapRecord[],
  wanted: readonly CapLimit[],
  nowMs: number,
): Promise<void> {
  await lockOwner(query, owner);
  const { removed, kept, added } = changedCaps(before, wanted);
  for (const { no } of removed) await query("DELETE FROM caps WHERE no = $1::int", [no]);
  for (const { no, limit } of kept) {
    await query("UPDATE caps SET amount = $1::int8 WHERE no = $2::int", [limit, no]);
  }
  for (const { limit, period, models } of added) {
    await query(insertCap(owner.column), [owner.no, limit, period, models, nowMs, owner.accountNo]);
  }
}

export async function extendCap(
  query: Query,
  owner: NumberedOwner,
  capNo: number,
  amount: number,
  nowMs: number,
): Promise<void> {
  await lockOwner(query, owner);
  const rows = await query(
    `UPDATE caps SET extra = CASE WHEN extra_period_ms = now.start THEN extra ELSE 0 END + $2::int8, extra_period_ms = now.start
    FROM (SELECT no, greatest(period_start_ms, sluice_period_start(period,
        greatest($3::int8, (SELECT counted_at_ms FROM accounts WHERE no = $4::int)))) AS start FROM caps) AS now
    WHERE caps.no = $1::int AND now.no = caps.no AND caps.${owner.column} = $5::int RETURNING caps.no`,
    [capNo, amount, nowMs, owner.accountNo, owner.no],
  );
  if (rows.length === 0) throw unknownCap();
}

async function lockOwner(query: Query, { column, no, accountNo }: NumberedOwner): Promise<void> {
  await query("SELECT 1 FROM accounts WHERE no = $1::int FOR NO KEY UPDATE", [accountNo]);
  if (column === "key_no")
    await query("SELECT 1 FROM key_sums WHERE key_no = $1::int FOR NO KEY UPDATE", [no]);
}

const selectTotals = `
SELECT no, period_start_ms::float8 AS "periodStartMs", used::float8 AS used, held::float8 AS held FROM caps`;

/**
 * Counts what was taken, and is held, in its running period before. A key may have been counted later by an account that it
 * drew on before. A charge's own time is not long before it counts.
 */
function insertCap(column: NumberedOwner["column"]): string {
  const ofOwner =
    column === "key_no"
      ? "key_no = $1::int"
      : "(account_no = $1::int AND (key_no = $1::int OR account_no IS DISTINCT FROM key_no))";
  return `
WITH period AS (
  SELECT sluice_period_start($3, greatest($5::int8, counted_at_ms,
    (SELECT max(counted_at_ms) FROM holds WHERE holds.${column} = $1::int),
    (SELECT max(counted_at_ms) FROM entries WHERE entries.${column} = $1::int AND kind = 'charge' AND at_ms >= $5::int8 - 86400000))) AS start
  FROM accounts WHERE no = $6::int
)
INSERT INTO caps (${column}, amount, period, models, period_start_ms, used, held)
SELECT $1::int, $2::int8, $3, $4, period.start,
  coalesce((SELECT -sum(amount) FROM entries WHERE ${ofOwner} AND kind = 'charge'
    AND at_ms >= period.start - 86400000 AND coalesce(counted_at_ms, at_ms) >= period.start AND sluice_matches($4, model)), 0),
  coalesce((SELECT sum(amount) FROM holds WHERE holds.${column} = $1::int
    AND sluice_period_start($3, counted_at_ms) = period.start AND sluice_matches($4, model)), 0)
FROM period`;
}
