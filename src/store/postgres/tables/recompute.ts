import type { ExactTotals, RecomputedTotals } from "../../store.ts";
import type { Query } from "../client.ts";

type Digits = Readonly<Record<string, string>>;

interface TotalsRow {
  readonly keyId: string | null;
  readonly where: string;
  readonly kept: Digits;
  readonly recomputed: Digits;
}

/**
 * The totals of every account, key and cap as they are kept, and as the entries alone add up to. It shares no code with
 * what maintains the totals, so that a bug there cannot hide here. A hold may turn an account's period before anything
 * is charged in it, so the kept period may be later than that of the last charge, and then has used nothing.
 */
export async function recomputeTotals(query: Query): Promise<readonly RecomputedTotals[]> {
  const rows = await query<TotalsRow>(selectAll);
  return rows.map(({ keyId, where, kept, recomputed }) => {
    return { keyId, where, kept: exact(kept), recomputed: exact(recomputed) };
  });
}

/** Lifetime sums may exceed a double, so they come as text. */
function exact(sums: Digits): ExactTotals {
  return Object.fromEntries(Object.entries(sums).map(([name, digits]) => [name, BigInt(digits)]));
}

/** A JSON object of sums as text, from their names and expressions. */
function sums(columns: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(columns).map(([name, value]) => `'${name}', (coalesce(${value}, 0))::text`);
  return `json_build_object(${pairs.join(", ")})`;
}

const selectAll = `
WITH latest AS (
  SELECT account_no, max(period_start_ms) AS period_start_ms FROM entries WHERE kind = 'charge' GROUP BY account_no
), of_account AS (
  SELECT e.account_no,
    sum(amount) FILTER (WHERE kind <> 'overrun') AS posted,
    sum(amount) FILTER (WHERE kind IN ('topup', 'adjustment')) AS purchased,
    -sum(amount) FILTER (WHERE kind = 'charge') AS used,
    -sum(amount) FILTER (WHERE kind = 'charge' AND e.period_start_ms = latest.period_start_ms) AS period_used
  FROM entries e LEFT JOIN latest USING (account_no) GROUP BY e.account_no
), held AS (
  SELECT h.account_no, sum(h.amount) AS amount FROM holds h JOIN accounts a ON a.no = h.account_no
  WHERE a.mode = 'credit' OR h.period_start_ms = a.period_start_ms GROUP BY h.account_no
), latest_day AS (
  SELECT key_no, max(at_ms / 86400000) AS day FROM entries WHERE kind = 'charge' GROUP BY key_no
), of_key AS (
  SELECT e.key_no, -sum(amount) AS spent, -sum(amount) FILTER (WHERE at_ms / 86400000 = latest_day.day) AS day_spend,
    count(cost_nano) AS requests,
    sum(input_tokens + cached_input_tokens + cache_write_tokens) FILTER (WHERE cost_nano IS NOT NULL) AS input_tokens,
    sum(output_tokens) FILTER (WHERE cost_nano IS NOT NULL) AS output_tokens,
    max(id) FILTER (WHERE cost_nano IS NOT NULL) AS last_id
  FROM entries e LEFT JOIN latest_day USING (key_no) WHERE kind = 'charge' GROUP BY e.key_no
), of_cap AS (
  SELECT caps.no,
    (SELECT -sum(e.amount) FROM entries e WHERE (e.key_no = caps.key_no OR (e.account_no = caps.account_no
        AND (e.key_no = caps.account_no OR e.account_no IS DISTINCT FROM e.key_no))) AND e.kind = 'charge'
      AND sluice_period_start(caps.period, coalesce(e.counted_at_ms, e.at_ms)) = caps.period_start_ms
      AND sluice_matches(caps.models, e.model)) AS used,
    (SELECT sum(h.amount) FROM holds h WHERE (h.account_no = caps.account_no OR h.key_no = caps.key_no)
      AND sluice_period_start(caps.period, h.counted_at_ms) = caps.period_start_ms AND sluice_matches(caps.models, h.model)) AS held
  FROM caps
)
SELECT * FROM (
  SELECT 1 AS part, a.no, (SELECT id FROM keys WHERE keys.no = a.no) AS "keyId", 'account' AS "where",
    ${sums({
      held: "a.held",
      posted: "a.posted",
      purchased: "a.purchased",
      used: "a.used",
      periodStartMs: "a.period_start_ms",
      periodUsed: "a.period_used",
    })} AS kept,
    ${sums({
      held: "held.amount",
      posted: "s.posted",
      purchased: "s.purchased",
      used: "s.used",
      periodStartMs: "greatest(a.period_start_ms, latest.period_start_ms)",
      periodUsed: "CASE WHEN a.period_start_ms > latest.period_start_ms THEN 0 ELSE s.period_used END",
    })} AS recomputed
  FROM accounts a LEFT JOIN of_account s ON s.account_no = a.no LEFT JOIN latest ON latest.account_no = a.no
    LEFT JOIN held ON held.account_no = a.no
  UNION ALL
  SELECT 2, k.key_no, keys.id, 'key',
    ${sums({
      day: "k.day",
      daySpend: "k.day_spend",
      spent: "k.spent",
      requests: "k.requests",
      inputTokens: "k.input_tokens",
      outputTokens: "k.output_tokens",
      lastCostNano: "k.last_cost_nano",
    })},
    ${sums({
      day: "latest_day.day",
      daySpend: "s.day_spend",
      spent: "s.spent",
      requests: "s.requests",
      inputTokens: "s.input_tokens",
      outputTokens: "s.output_tokens",
      lastCostNano: "(SELECT cost_nano FROM entries WHERE id = s.last_id)",
    })}
  FROM key_sums k JOIN keys ON keys.no = k.key_no LEFT JOIN of_key s ON s.key_no = k.key_no LEFT JOIN latest_day ON latest_day.key_no = k.key_no
  UNION ALL
  SELECT 3, caps.no, keys.id, 'cap ' || caps.no, ${sums({ used: "caps.used", held: "caps.held" })},
    ${sums({ used: "s.used", held: "s.held" })}
  FROM caps LEFT JOIN keys ON keys.no = caps.key_no JOIN of_cap s ON s.no = caps.no
) AS totals ORDER BY part, no`;
