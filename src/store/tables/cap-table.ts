import { periodStart } from "../../base/money/period.ts";
import type { NumberedOwner, OwnStatements } from "../own-statements.ts";
import { query, type Work } from "../query.ts";
import type { CapLimit, CapRecord, CapTotals } from "../records.ts";
import { StoreError } from "../store.ts";

const capFields = `'no', caps.no, 'limit', caps.amount, 'period', caps.period, 'models', caps.models, 'extra', caps.extra,
  'extraPeriodMs', caps.extra_period_ms`;

/** Selects the caps of a row of `keys` or `accounts` as text for `capsFrom`, optionally with more fields. */
export function selectCaps(owner: "keys" | "accounts", ...more: readonly string[]): string {
  const column = owner === "keys" ? "key_no" : "account_no";
  const fields = [capFields, ...more].join(", ");
  return `(SELECT json_agg(json_build_object(${fields}))::text FROM caps WHERE caps.${column} = ${owner}.no)`;
}

/** Whether a cap of these models counts a charge or a hold: by the model that serves, or by the requested one where a fallback serves. */
export function countsModel(models: string, row: string, fallbackFrom = `${row}.fallback_from`): string {
  return `(sluice_covers(${models}, ${row}.model) OR sluice_covers(${models}, ${fallbackFrom}))`;
}

/** Columns of a row of `holds`. */
export const heldFallback = "holds.labels::json ->> 'fallback_from'";

/** In order of creation. */
export function capsFrom<Cap extends CapRecord = CapRecord>(text: string | null): readonly Cap[] {
  if (text === null) return [];
  return (JSON.parse(text) as Cap[]).toSorted((one, other) => one.no - other.no);
}

export const selectCapTotals = `
SELECT no, period_start_ms::float8 AS "periodStartMs", used::float8 AS used, later_used AS "laterUsed" FROM caps`;

export function allCapTotals(): Work<CapTotals[]> {
  return query<CapTotals>(`${selectCapTotals} ORDER BY no`);
}

export function capTotalsOfKeys(keyNos: readonly number[]): Work<CapTotals[]> {
  return query<CapTotals>(`${selectCapTotals} WHERE key_no = ANY ($1::int[])`, [keyNos]);
}

/** Replaces all caps of the owner. A cap with the same period and models keeps its usage. */
export function* setCaps(
  own: OwnStatements,
  owner: NumberedOwner,
  before: readonly CapRecord[],
  limits: readonly CapLimit[],
  nowMs: number,
): Work<void> {
  yield* lockOwner(owner);
  const isSame = (one: CapLimit) => (other: CapLimit) =>
    one.period === other.period && one.models === other.models;
  for (const cap of before) {
    const same = limits.find(isSame(cap));
    if (same === undefined) yield* query("DELETE FROM caps WHERE no = $1::int", [cap.no]);
    else yield* query("UPDATE caps SET amount = $1::int8 WHERE no = $2::int", [same.limit, cap.no]);
  }
  for (const cap of limits) if (!before.some(isSame(cap))) yield* own.insertCap(owner, cap, nowMs);
}

export function* extendCap(owner: NumberedOwner, capNo: number, amount: number, nowMs: number): Work<void> {
  yield* lockOwner(owner);
  const [cap] = yield* query<Pick<CapRecord, "period"> & { periodStartMs: number; countedAtMs: number }>(
    `SELECT period, period_start_ms::float8 AS "periodStartMs",
      (SELECT counted_at_ms FROM accounts WHERE no = $3::int)::float8 AS "countedAtMs"
    FROM caps WHERE no = $1::int AND ${owner.column} = $2::int`,
    [capNo, owner.no, owner.accountNo],
  );
  if (cap === undefined) throw new StoreError("unknown_account", "This cap no longer exists.");
  const startMs = Math.max(cap.periodStartMs, periodStart(cap.period, Math.max(nowMs, cap.countedAtMs)));
  yield* query(
    `UPDATE caps SET extra = CASE WHEN extra_period_ms = $1::int8 THEN extra ELSE 0 END + $2::int8, extra_period_ms = $1::int8
    WHERE no = $3::int`,
    [startMs, amount, capNo],
  );
}

/** Locks the account and the key's totals, as a batch does, so that nothing is held or charged meanwhile. */
function* lockOwner({ column, no, accountNo }: NumberedOwner): Work<void> {
  yield* lockAccount(accountNo);
  if (column === "key_no")
    yield* query("SELECT 1 FROM key_sums WHERE key_no = $1::int FOR NO KEY UPDATE", [no]);
}

/** Batches that decide about the account's keys take the same lock. */
export function* lockAccount(no: number): Work<void> {
  yield* query("SELECT 1 FROM accounts WHERE no = $1::int FOR NO KEY UPDATE", [no]);
}
