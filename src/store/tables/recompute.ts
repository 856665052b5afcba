import { query, type Work } from "../query.ts";
import { columnOf } from "../reporting/total-columns.ts";
import type { ExactTotals, RecomputedTotals } from "../store.ts";
import { countsModel } from "./cap-table.ts";
import { chargedValue, countsRow } from "./value-cap-table.ts";

/** Totals as JSON objects of digits: lifetime totals may exceed a double. */
interface TotalsRow {
  readonly keyId: string | null;
  readonly where: string;
  readonly kept: string;
  readonly recomputed: string;
}

/**
 * The totals of every account, key and cap, as stored and as the sum of the entries. Shares no code with the statements
 * that maintain the totals, so that a bug there cannot hide here. Charges of later periods than the stored one exist only
 * after a clock was set back. They are stored with the period to which it returned, and count there.
 */
export function* recomputeTotals(): Work<readonly RecomputedTotals[]> {
  const rows = yield* query<TotalsRow>(selectAll);
  const caps = yield* query("SELECT no FROM value_caps LIMIT 1");
  const values = caps.length === 0 ? [] : yield* query<TotalsRow>(selectValues);
  return [...rows, ...values].map(({ keyId, where, kept, recomputed }) => {
    return { keyId, where, kept: exact(kept), recomputed: exact(recomputed) };
  });
}

function exact(sums: string): ExactTotals {
  const digits = Object.entries(JSON.parse(sums) as Record<string, string>);
  return Object.fromEntries(digits.map(([name, value]) => [name, BigInt(value)]));
}

/** An SQL expression for a JSON object of sums as text, from names and expressions. */
function sums(columns: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(columns).map(
    ([name, value]) => `'${name}', CAST(coalesce(${value}, 0) AS text)`,
  );
  return `json_build_object(${pairs.join(", ")})::text`;
}

/** Columns of a table, by the names of their totals. */
function columnsOf(table: string, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, `${table}.${columnOf(name)}`]));
}

const accountNames = ["posted", "purchased", "used", "periodUsed"];
const keyNames = ["daySpend", "spent", "requests", "inputTokens", "outputTokens", "lastCostNano"];

/** The charges that a cap counts, among its owner's charges, and whether they are of a later period. */
const countedBy = (owner: "key_no" | "account_no") => `
  SELECT caps.no, c.amount, sluice_period_start(caps.period, c.counted_at_ms) > caps.period_start_ms AS is_later
  FROM caps JOIN counted_charges c ON c.${owner} = caps.${owner}
  WHERE c.counted_at_ms >= caps.period_start_ms AND ${countsModel("caps.models", "c")}`;

/** Stored amounts for the periods after a table's own. */
const laterUseSum = (column: string, after: string, condition = "") =>
  `(SELECT sum(CAST(l.value ->> 'used' AS bigint)) FROM json_array_elements(${column}::json) AS l WHERE CAST(l.value ->> 'at' AS bigint) > ${after} ${condition})`;

/** The amount of a period, with the later charges that count in it. */
const withLaterUse = (used: string, column: string, start: string) =>
  `coalesce(${used}, 0) + coalesce(${laterUseSum(column, start, `AND CAST(l.value ->> 'in' AS bigint) = ${start}`)}, 0)`;

/** In SQLite an entry of a key's own account has no account number: it equals the key's number. */
const selectAll = `
WITH charges AS NOT MATERIALIZED (SELECT * FROM counted_charges), credits AS (
  SELECT coalesce(account_no, key_no) AS account_no, sum(amount) AS amount FROM entries
  WHERE kind IN ('topup', 'adjustment') GROUP BY 1
), of_account AS (
  SELECT a.no AS account_no, sum(c.amount) AS used, sum(c.amount) FILTER (WHERE c.period_start_ms = a.period_start_ms) AS period_used,
    sum(c.amount) FILTER (WHERE c.period_start_ms > a.period_start_ms) AS later_used
  FROM accounts a JOIN charges c ON c.account_no = a.no GROUP BY a.no
), of_key AS (
  SELECT c.key_no, sum(c.amount) AS spent, sum(c.amount) FILTER (WHERE c.day = sums.day) AS day_spend,
    sum(c.amount) FILTER (WHERE c.day > sums.day) AS later_spend,
    count(c.cost_nano) AS requests, sum(c.input_tokens) FILTER (WHERE c.cost_nano IS NOT NULL) AS input_tokens,
    sum(c.output_tokens) FILTER (WHERE c.cost_nano IS NOT NULL) AS output_tokens, max(c.id) FILTER (WHERE c.cost_nano IS NOT NULL) AS last_id
  FROM charges c LEFT JOIN key_sums AS sums ON sums.key_no = c.key_no GROUP BY c.key_no
), of_cap AS (
  SELECT no, sum(amount) FILTER (WHERE NOT is_later) AS used, sum(amount) FILTER (WHERE is_later) AS later_used
  FROM (${countedBy("key_no")} UNION ALL ${countedBy("account_no")}) AS counted GROUP BY no
)
SELECT * FROM (
  SELECT 1 AS part, a.no, (SELECT keys.id FROM keys WHERE keys.no = a.no) AS "keyId", 'account' AS "where",
    ${sums({ ...columnsOf("a", accountNames), laterUsed: laterUseSum("a.later_used", "a.period_start_ms") })} AS kept,
    ${sums({
      posted: "coalesce(credits.amount, 0) - coalesce(s.used, 0)",
      purchased: "credits.amount",
      used: "s.used",
      periodUsed: withLaterUse("s.period_used", "a.later_used", "a.period_start_ms"),
      laterUsed: "s.later_used",
    })} AS recomputed
  FROM accounts a LEFT JOIN credits ON credits.account_no = a.no LEFT JOIN of_account s ON s.account_no = a.no
  UNION ALL
  SELECT 2, keys.no, keys.id, 'key',
    ${sums({
      ...columnsOf("sums", keyNames),
      laterSpend: laterUseSum("sums.later_spend", "sums.day"),
      rows: "CASE WHEN sums.key_no IS NULL THEN 0 ELSE 1 END",
    })},
    ${sums({
      ...columnsOf("s", keyNames),
      laterSpend: "s.later_spend",
      lastCostNano: "(SELECT entries.cost_nano FROM entries WHERE entries.id = s.last_id)",
      rows: "1",
    })}
  FROM keys LEFT JOIN key_sums AS sums ON sums.key_no = keys.no LEFT JOIN of_key s ON s.key_no = keys.no WHERE keys.id <> ''
  UNION ALL
  SELECT 3, caps.no, keys.id, 'cap ' || caps.no, ${sums({ used: "caps.used", laterUsed: laterUseSum("caps.later_used", "caps.period_start_ms") })},
    ${sums({ used: withLaterUse("s.used", "caps.later_used", "caps.period_start_ms"), laterUsed: "s.later_used" })}
  FROM caps LEFT JOIN keys ON keys.no = caps.key_no LEFT JOIN of_cap s ON s.no = caps.no
) AS totals ORDER BY part, no`;

/** Compares caps by value in the same way. A value that was charged since its cap's latest period began has a row. */
const selectValues = `
WITH latest AS (
  SELECT c.no, coalesce(max(v.period_start_ms), 0) AS at FROM value_caps c LEFT JOIN cap_values v ON v.cap_no = c.no GROUP BY c.no
), of_value AS (
  SELECT cap_no, value, sum(amount) FILTER (WHERE counted_at = since) AS used, sum(amount) AS all_used, sum(amount) FILTER (WHERE counted_at > since) AS later_used, max(CASE WHEN at > 0 AND counted_at >= at THEN at ELSE 0 END) AS latest_at
  FROM (
    SELECT c.no AS cap_no, ${chargedValue} AS value, e.amount, coalesce(v.period_start_ms, latest.at) AS since, latest.at, sluice_period_start(c.period, e.counted_at_ms) AS counted_at
    FROM value_caps c JOIN latest ON latest.no = c.no CROSS JOIN counted_charges e
      LEFT JOIN cap_values v ON v.cap_no = c.no AND v.value = ${chargedValue}
    WHERE ${countsRow("e", "e.account_no")}
  ) AS counted WHERE counted_at >= since GROUP BY cap_no, value
)
SELECT * FROM (
  SELECT 1 AS part, v.cap_no AS no, NULL AS "keyId", 'cap ' || c.id || ' ' || v.value AS "where", ${sums({ used: "v.used", laterUsed: laterUseSum("v.later_used", "v.period_start_ms") })} AS kept,
    ${sums({ used: withLaterUse("s.used", "v.later_used", "v.period_start_ms"), laterUsed: "s.later_used" })} AS recomputed
  FROM cap_values v JOIN value_caps c ON c.no = v.cap_no LEFT JOIN of_value s ON s.cap_no = v.cap_no AND s.value = v.value
  UNION ALL
  SELECT 2, s.cap_no, NULL, 'cap ' || c.id || ' ' || s.value, ${sums({ used: "0" })}, ${sums({ used: "s.all_used" })}
  FROM of_value s JOIN value_caps c ON c.no = s.cap_no WHERE s.latest_at > 0 AND s.all_used > 0
    AND s.latest_at >= sluice_period_start(c.period, c.counted_from_ms)
    AND NOT EXISTS (SELECT 1 FROM cap_values v WHERE v.cap_no = s.cap_no AND v.value = s.value)
) AS totals ORDER BY part, no, "where"`;
