import { groupRows, prunedColumns, sumsOf } from "./reporting/add-to-sums.ts";

/**
 * Statements that fill `pruned_usage` from the totals of builds before 001.sql was frozen: their counts, minus the rows
 * that still exist. Latency bands were stored only for all keys together, which is sufficient for reports: in each
 * hour, the keys share them in turn.
 */
export const collectPruned: readonly string[] = [
  `CREATE TEMP TABLE former_rows AS ${groupRows(`(
    SELECT * FROM entry_figures WHERE id <= (SELECT entries_through FROM rollups)
    UNION ALL SELECT * FROM ending_figures WHERE id <= (SELECT endings_through FROM rollups)
    UNION ALL SELECT * FROM attempt_figures WHERE id <= (SELECT endings_through FROM rollups)
  ) AS counted`)}`,
  `CREATE TEMP TABLE former_groups AS
  SELECT key_no, hour, model, provider, ${sumsOf(prunedColumns)} FROM (
    SELECT key_no, hour, model, provider, ${prunedColumns.join(", ")} FROM usage_key_hours
    UNION ALL SELECT key_no, hour, model, provider, ${prunedColumns.map((column) => `-${column}`).join(", ")} FROM former_rows
  ) AS counted GROUP BY 1, 2, 3, 4 HAVING ${prunedColumns.map((column) => `sum(${column}) <> 0`).join(" OR ")}`,
  `CREATE TEMP TABLE former_bands AS
  SELECT hour, total_band, sum(requests)::int8 AS requests FROM (
    SELECT hour, up_to_ms AS total_band, requests FROM latency_all_hours WHERE measure = 'total'
    UNION ALL SELECT hour, total_band, -total_count FROM former_rows
  ) AS counted GROUP BY 1, 2 HAVING sum(requests) > 0`,
  `INSERT INTO pruned_usage (key_no, hour, model, provider, total_band, ${prunedColumns.join(", ")})
  WITH keyed AS (
    SELECT *, (sum(total_count) OVER (PARTITION BY hour ORDER BY key_no, model, provider))::int8 AS through FROM former_groups
  ), banded AS (
    SELECT *, (sum(requests) OVER (PARTITION BY hour ORDER BY total_band))::int8 AS through FROM former_bands
  )
  SELECT key_no, hour, model, provider, total_band, ${sumsOf(prunedColumns)} FROM (
    SELECT key_no, hour, model, provider, 1 AS total_band, failed, rejected, cancelled, interrupted, total_ms, 0 AS total_count, covered_attempts
    FROM former_groups
    UNION ALL
    SELECT keyed.key_no, keyed.hour, keyed.model, keyed.provider, banded.total_band, 0, 0, 0, 0, 0,
      least(keyed.through, banded.through) + least(keyed.total_count - keyed.through, banded.requests - banded.through), 0
    FROM keyed JOIN banded ON banded.hour = keyed.hour AND banded.through > keyed.through - keyed.total_count
      AND banded.through - banded.requests < keyed.through AND keyed.total_count > 0
  ) AS parts GROUP BY 1, 2, 3, 4, 5`,
  ...["former_rows", "former_groups", "former_bands"].map((table) => `DROP TABLE ${table}`),
];
