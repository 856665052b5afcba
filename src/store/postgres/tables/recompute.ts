import type { ExactTotals, RecomputedTotals } from "../../store.ts";
import type { Query } from "../client.ts";

type Sums = { readonly [Name in keyof Required<ExactTotals>]: string };

/**
 * The totals of every account as they are kept, and as its entries alone add up to, in one read. It shares no code with
 * what maintains the totals, so that a bug there cannot hide here. A hold may turn an account's period before anything
 * is charged in it, so the kept period may be later than that of the last charge, and then has used nothing.
 */
export async function recomputeTotals(query: Query): Promise<readonly RecomputedTotals[]> {
  const rows = await query<Sums & { kept: Sums }>(selectBoth);
  return rows.map(({ kept, ...recomputed }) => ({ kept: exact(kept), recomputed: exact(recomputed) }));
}

/** Lifetime sums may exceed a double, so they come as text. */
function exact({ keyId, ...sums }: Sums): ExactTotals {
  const values = Object.entries(sums).map(([name, digits]) => [name, BigInt(digits)]);
  return { keyId, ...Object.fromEntries(values) } as ExactTotals;
}

const keptColumns: Readonly<Record<keyof Sums, string>> = {
  keyId: "keys.id",
  held: "accounts.held",
  posted: "accounts.posted",
  purchased: "accounts.purchased",
  used: "accounts.used",
  day: "accounts.day",
  daySpend: "accounts.day_spend",
  periodStartMs: "accounts.period_start_ms",
  periodUsed: "accounts.period_used",
  requests: "accounts.requests",
  inputTokens: "accounts.input_tokens",
  outputTokens: "accounts.output_tokens",
  lastCostNano: "accounts.last_cost_nano",
};

const kept = Object.entries(keptColumns).map(([name, column]) => `'${name}', ${column}::text`);

const selectBoth = `
WITH latest AS (
  SELECT account_no, max(at_ms / 86400000) AS day, max(period_start_ms) AS period_start_ms
  FROM entries WHERE kind = 'charge' GROUP BY account_no
), summed AS (
  SELECT e.account_no,
    sum(amount) FILTER (WHERE kind <> 'overrun') AS posted,
    sum(amount) FILTER (WHERE kind IN ('topup', 'adjustment')) AS purchased,
    -sum(amount) FILTER (WHERE kind = 'charge') AS used,
    -sum(amount) FILTER (WHERE kind = 'charge' AND at_ms / 86400000 = latest.day) AS day_spend,
    -sum(amount) FILTER (WHERE kind = 'charge' AND e.period_start_ms = latest.period_start_ms) AS period_used,
    count(cost_nano) AS requests,
    sum(input_tokens + cached_input_tokens + cache_write_tokens) FILTER (WHERE cost_nano IS NOT NULL) AS input_tokens,
    sum(output_tokens) FILTER (WHERE cost_nano IS NOT NULL) AS output_tokens,
    max(id) FILTER (WHERE cost_nano IS NOT NULL) AS last_id
  FROM entries e LEFT JOIN latest USING (account_no) GROUP BY e.account_no
), held AS (
  SELECT h.account_no, sum(h.amount) AS amount FROM holds h JOIN accounts a ON a.no = h.account_no
  WHERE a.mode = 'credit' OR h.period_start_ms = a.period_start_ms GROUP BY h.account_no
)
SELECT keys.id AS "keyId",
  coalesce(held.amount, 0)::text AS held,
  coalesce(s.posted, 0)::text AS posted,
  coalesce(s.purchased, 0)::text AS purchased,
  coalesce(s.used, 0)::text AS used,
  coalesce(latest.day, 0)::text AS day,
  coalesce(s.day_spend, 0)::text AS "daySpend",
  greatest(accounts.period_start_ms, latest.period_start_ms)::text AS "periodStartMs",
  (CASE WHEN accounts.period_start_ms > latest.period_start_ms THEN 0 ELSE coalesce(s.period_used, 0) END)::text
    AS "periodUsed",
  coalesce(s.requests, 0)::text AS requests,
  coalesce(s.input_tokens, 0)::text AS "inputTokens",
  coalesce(s.output_tokens, 0)::text AS "outputTokens",
  coalesce((SELECT cost_nano FROM entries WHERE id = s.last_id), 0)::text AS "lastCostNano",
  json_build_object(${kept.join(", ")}) AS kept
FROM accounts JOIN keys ON keys.account_no = accounts.no
LEFT JOIN summed s ON s.account_no = accounts.no
LEFT JOIN latest ON latest.account_no = accounts.no
LEFT JOIN held ON held.account_no = accounts.no
ORDER BY keys.no`;
