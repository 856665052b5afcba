import { msPerDay } from "../../base/clock.ts";
import { laterUseOf, laterUseText, returnTo } from "../../base/money/later-use.ts";
import { periodStart } from "../../base/money/period.ts";
import type { OwnStatements } from "../own-statements.ts";
import { query, type Work } from "../query.ts";
import { StoreError } from "../store.ts";
import type {
  NewValueCap,
  ValueCapChanges,
  ValueCapRecord,
  ValueCapState,
  ValueTotals,
} from "../value-cap-records.ts";
import { countsModel } from "./cap-table.ts";
import { lockRevision, raiseRevision, rejectChanged } from "./revision.ts";
import { type Flagged, unflagged } from "./rows.ts";

export const selectCaps = `
SELECT c.no, c.id, (SELECT keys.id FROM keys WHERE keys.no = c.key_no) AS "keyId", (SELECT accounts.id FROM accounts WHERE accounts.no = c.account_no) AS "accountId",
  c.mode, c.label, c.value, c.amount::float8 AS "limit", c.period, c.models, c.extra::float8 AS extra, c.extra_period_ms::float8 AS "extraPeriodMs",
  c.is_optional AS "isOptional", c.max_values::float8 AS "maxValues", c.then_model AS "thenModel", c.then_always AS "thenAlways"
FROM value_caps c`;

export const selectValues = `
SELECT cap_no AS "capNo", value, period_start_ms::float8 AS "periodStartMs", used::float8 AS used, later_used AS "laterUsed",
  extra::float8 AS extra, extra_period_ms::float8 AS "extraPeriodMs"
FROM cap_values`;

export type CapRow = Flagged<ValueCapRecord, "isOptional" | "thenAlways">;

export function recordOf(row: CapRow): ValueCapRecord {
  return unflagged(row, "isOptional", "thenAlways");
}

export function* allValueCaps(): Work<readonly ValueCapRecord[]> {
  return (yield* query<CapRow>(`${selectCaps} ORDER BY c.no`)).map(recordOf);
}

export function* valueCapState(): Work<ValueCapState> {
  const raises = yield* query<ValueTotals>(`${selectValues} WHERE extra > 0`);
  return { caps: yield* allValueCaps(), raises };
}

export function* allValueTotals(): Work<ValueTotals[]> {
  return yield* query<ValueTotals>(selectValues);
}

export function* valueTotalsOf(capNo: number): Work<ValueTotals[]> {
  return yield* query<ValueTotals>(
    `${selectValues} WHERE cap_no = $1::int ORDER BY used DESC, value COLLATE "C"`,
    [capNo],
  );
}

/** Counts what the current period has seen before, of charges that have the label stored. */
export function* insertValueCap(
  own: OwnStatements,
  cap: NewValueCap,
  nowMs: number,
  sinceRevision?: number,
): Work<ValueCapRecord> {
  yield* begin(own);
  yield* rejectChanged(sinceRevision);
  const numbers = yield* query<{ keyNo: number | null; accountNo: number | null }>(
    `SELECT (SELECT no FROM keys WHERE id = $1) AS "keyNo", (SELECT no FROM accounts WHERE id = $2) AS "accountNo"`,
    [cap.keyId, cap.accountId],
  );
  const { keyNo = null, accountNo = null } = numbers[0] ?? {};
  yield* query(
    `INSERT INTO value_caps (id, key_no, account_no, mode, label, value, amount, period, models, is_optional, max_values, counted_from_ms, then_model, then_always)
    VALUES ($1, $2::int, $3::int, $4, $5, $6, $7::int8, $8, $9, $10::int, $11::int8, $12::int8, $13, $14::int)`,
    [
      ...[cap.id, keyNo, accountNo, cap.mode, cap.label, cap.value, cap.limit, cap.period, cap.models],
      ...[Number(cap.isOptional), cap.maxValues, nowMs, cap.thenModel, Number(cap.thenAlways)],
    ],
  );
  const record = yield* requireValueCap(cap.id);
  yield* count(own, record, nowMs);
  yield* raiseRevision();
  return record;
}

export function* updateValueCap(
  own: OwnStatements,
  id: string,
  changes: ValueCapChanges,
  nowMs: number,
  sinceRevision?: number,
): Work<ValueCapRecord> {
  yield* begin(own);
  yield* rejectChanged(sinceRevision);
  const before = yield* requireValueCap(id);
  const { limit, period, models, maxValues, thenModel, thenAlways, no } = { ...before, ...changes };
  yield* query(
    `UPDATE value_caps SET amount = $1::int8, period = $2, models = $3, max_values = $4::int8, then_model = $5, then_always = $6::int
    WHERE no = $7::int`,
    [limit, period, models, maxValues, thenModel, Number(thenAlways), no],
  );
  const record = yield* requireValueCap(id);
  if (period !== before.period || models !== before.models) {
    yield* query("UPDATE value_caps SET extra = 0, counted_from_ms = $2::int8 WHERE no = $1::int", [
      no,
      nowMs,
    ]);
    yield* query("DELETE FROM cap_values WHERE cap_no = $1::int", [no]);
    yield* count(own, record, nowMs);
  }
  yield* raiseRevision();
  return yield* requireValueCap(id);
}

/** Raises the current period only: for one value, or for all. */
export function* raiseValueCap(
  own: OwnStatements,
  id: string,
  amount: number,
  value: string | null,
  nowMs: number,
): Work<void> {
  yield* begin(own);
  const { no, period } = yield* requireValueCap(id);
  const [latest] = yield* query<{ at: number | null }>(
    "SELECT max(period_start_ms)::float8 AS at FROM cap_values WHERE cap_no = $1::int AND (used > 0 OR extra > 0)",
    [no],
  );
  const startMs = Math.max(periodStart(period, nowMs), latest?.at ?? 0);
  const raise = (table: string) =>
    `extra = CASE WHEN ${table}.extra_period_ms = $1::int8 THEN ${table}.extra ELSE 0 END + $2::int8, extra_period_ms = $1::int8`;
  if (value === null) {
    yield* query(`UPDATE value_caps SET ${raise("value_caps")} WHERE no = $3::int`, [startMs, amount, no]);
  } else {
    yield* query(
      `INSERT INTO cap_values (cap_no, value, period_start_ms, extra, extra_period_ms) VALUES ($3::int, $4, $1::int8, $2::int8, $1::int8)
      ON CONFLICT (cap_no, value) DO UPDATE SET ${raise("cap_values")}`,
      [startMs, amount, no, value],
    );
  }
  yield* raiseRevision();
}

export function* removeValueCap(own: OwnStatements, id: string): Work<ValueCapRecord> {
  yield* begin(own);
  const record = yield* requireValueCap(id);
  yield* query("DELETE FROM cap_values WHERE cap_no = $1::int", [record.no]);
  yield* query("DELETE FROM value_caps WHERE no = $1::int", [record.no]);
  yield* raiseRevision();
  return record;
}

/** How long after the end of a period its requests can still end, and charge its values. */
const lateChargesMs = msPerDay;

/**
 * Deletes values that ended with their period, a few at a time, unless something is reserved or raised. A cap keeps the
 * values of its latest period: a clock that is set back grants nothing twice. Returns how many were deleted.
 */
export function* pruneCapValues(own: OwnStatements, nowMs: number, limit: number): Work<number> {
  const ended = `WITH latest AS MATERIALIZED (
      SELECT c.no, least((SELECT max(period_start_ms) FROM cap_values WHERE cap_no = c.no), sluice_period_start(c.period, $1::int8)) AS at FROM value_caps c
    )
    SELECT cap_no, value FROM cap_values JOIN latest ON latest.no = cap_no
    WHERE period_start_ms < latest.at AND extra_period_ms < latest.at AND later_used IS NULL ${own.isUnheld} LIMIT $2::int8`;
  const parameters = [nowMs - lateChargesMs, limit];
  // Usually there are none, and then nothing is locked.
  if ((yield* query(ended, parameters)).length === 0) return 0;
  yield* begin(own);
  const deletion = `DELETE FROM cap_values WHERE (cap_no, value) IN (${ended}) RETURNING cap_no`;
  return (yield* query(deletion, parameters)).length;
}

/** Brings values back to the present that a wrong clock had moved ahead, as `returnToPresent` does with caps. */
export function* returnValues(own: OwnStatements, nowMs: number): Work<void> {
  for (const cap of yield* allValueCaps()) {
    const startMs = periodStart(cap.period, nowMs);
    yield* query(
      "UPDATE value_caps SET extra_period_ms = least(extra_period_ms, $1::int8) WHERE no = $2::int",
      [startMs, cap.no],
    );
    const [ahead] = yield* query<{ any: number }>(
      "SELECT count(*)::float8 AS any FROM cap_values WHERE cap_no = $1::int AND period_start_ms > $2::int8",
      [cap.no, startMs],
    );
    if ((ahead?.any ?? 0) === 0) continue;
    yield* query(
      "UPDATE value_caps SET counted_from_ms = least(counted_from_ms, $1::int8) WHERE no = $2::int",
      [nowMs, cap.no],
    );
    yield* recountValues(own, cap, nowMs, yield* query(`${selectValues} WHERE cap_no = $1::int`, [cap.no]));
  }
}

/** Counts again what each value has used in the period of this moment. `before` are the values so far. */
export function* recountValues(
  own: OwnStatements,
  cap: ValueCapRecord,
  nowMs: number,
  before: readonly ValueTotals[],
): Work<void> {
  const startMs = periodStart(cap.period, nowMs);
  yield* query("DELETE FROM cap_values WHERE cap_no = $1::int", [cap.no]);
  yield* count(own, cap, nowMs, before);
  for (const { value, extra, extraPeriodMs } of before.filter((totals) => totals.extra > 0)) {
    yield* query(
      `INSERT INTO cap_values (cap_no, value, period_start_ms, extra, extra_period_ms) VALUES ($1::int, $2, $3::int8, $4::int8, $5::int8)
      ON CONFLICT (cap_no, value) DO UPDATE SET extra = excluded.extra, extra_period_ms = excluded.extra_period_ms`,
      [cap.no, value, startMs, extra, Math.min(extraPeriodMs, startMs)],
    );
  }
}

/** Prevents holds and charges everywhere until the transaction ends. */
function* begin(own: OwnStatements): Work<void> {
  yield* lockRevision();
  yield* own.lockMoney();
}

function* requireValueCap(id: string): Work<ValueCapRecord> {
  const [row] = yield* query<CapRow>(`${selectCaps} WHERE c.id = $1`, [id]);
  if (row === undefined) throw new StoreError("unknown_cap", `Cap ${id} does not exist.`);
  return recordOf(row);
}

/** The value that a cap counts a row by, as SQL; NULL if it does not. `row` has labels. */
function countedValue(row: string): string {
  const member = (name: string) => `nullif(${row}.labels::json ->> ${name}, '')`;
  const stored = `coalesce(${member("(c.label)")}, ${member("('+' || c.label)")}, CASE WHEN c.is_optional = 1 AND ${row}.labels IS NOT NULL THEN '' END)`;
  return `coalesce((SELECT cleaned FROM cleaned_labels WHERE cleaned_labels.label = ${stored}), ${stored})`;
}

/** Whether a cap counts a row of `counted_charges` or `holds`, as SQL. */
export function countsRow(row: string, accountNo: string, fallbackFrom?: string): string {
  const value = countedValue(row);
  return `(c.key_no IS NULL OR c.key_no = ${row}.key_no) AND (c.account_no IS NULL OR c.account_no = ${accountNo})
    AND c.mode = (SELECT accounts.mode FROM accounts WHERE accounts.no = ${accountNo})
    AND ${countsModel("c.models", row, fallbackFrom)} AND ${value} IS NOT NULL AND (c.value IS NULL OR c.value = ${value})`;
}

export const chargedValue = countedValue("e");
export const heldValue = countedValue("holds");

interface CountedRow {
  readonly value: string;
  readonly at: number;
  readonly used: number;
}

/**
 * Writes what a cap without values has counted since its period began, and in later ones that a clock had reached.
 * `before` are the values that it had.
 */
function* count(
  own: OwnStatements,
  { no, period }: ValueCapRecord,
  nowMs: number,
  before: readonly ValueTotals[] = [],
): Work<void> {
  const startMs = periodStart(period, nowMs);
  const rows = yield* query<CountedRow>(
    `SELECT ${chargedValue} AS value, sluice_period_start($2, e.counted_at_ms)::float8 AS at, sum(e.amount)::float8 AS used
    FROM value_caps c, counted_charges e WHERE c.no = $1::int AND e.counted_at_ms >= $3::int8 AND ${countsRow("e", "e.account_no")} GROUP BY 1, 2`,
    [no, period, startMs],
  );
  const held = yield* own.heldValues(no, period, startMs);
  const byValue = Map.groupBy(rows, ({ value }) => value);
  const reserved = new Map(held.map(({ value, amount }) => [value, amount]));
  const known = new Map(before.map(({ value, laterUsed }) => [value, laterUseOf(laterUsed)]));
  for (const value of new Set([...byValue.keys(), ...reserved.keys()])) {
    const { used, later } = returnTo(startMs, byValue.get(value) ?? [], known.get(value) ?? []);
    yield* own.insertCapValue({
      ...{ no, value, startMs, used },
      ...{ later: laterUseText(later), held: reserved.get(value) ?? 0 },
    });
  }
}
