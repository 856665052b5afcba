import { collectPruned } from "../../former-usage.ts";
import { totalColumns } from "../../reporting/total-columns.ts";
import { StoreError } from "../../store.ts";
import type { Query } from "../client.ts";
import first from "../migrations/001.sql" with { type: "text" };

/** The fingerprint of 001.sql in the last build that changed it. */
export const formerFingerprint = "83f05c54b3bfff91f9df14117ad9a83d1ced7386dea6615b3a1f980558b8ebde";

/**
 * Carries a database of that build to the schema of 001.sql, with all that it has counted. Its gateways cannot use that, so
 * none may run.
 */
export async function upgradeFormer(query: Query, name: string): Promise<void> {
  await query("LOCK TABLE nodes IN ACCESS EXCLUSIVE MODE");
  const living = await query(
    "SELECT no FROM nodes WHERE dead_at IS NULL AND lease_until > clock_timestamp()",
  );
  if (living.length > 0) {
    throw new StoreError(
      "in_use",
      `Gateways of an earlier version use ${name}, and they cannot use the new schema. Nothing was changed. Stop them first.`,
    );
  }
  for (const statement of [
    dropCode,
    "ALTER TABLE lanes ADD COLUMN reply text",
    part("-- Totals for reports by the hour", "-- The figures of one charge."),
    ...collectPruned,
    `INSERT INTO usage_hours (key_no, hour, model, provider, ${totalColumns})
      SELECT key_no, hour, model, provider, ${totalColumns} FROM usage_key_hours
      UNION ALL SELECT 0, hour, model, provider, ${totalColumns} FROM usage_all_hours`,
    "INSERT INTO latency_hours SELECT * FROM latency_all_hours",
    "DROP TABLE usage_minutes, usage_key_hours, usage_all_hours, usage_key_days, latency_minutes, latency_all_hours",
    part("-- On SQLite this adds attempts", "-- Content of requests"),
  ])
    await query(statement);
}

/** All that 001.sql creates between these comments. */
function part(from: string, until: string): string {
  return first.slice(first.indexOf(from), first.indexOf(until));
}

/** Functions of tables stay. */
const dropCode = `
DROP VIEW key_totals, attempt_totals;
DROP TYPE sluice_hold_order, sluice_progress, sluice_hold_end, sluice_attempt, sluice_held, sluice_ended, sluice_account_sums, sluice_account_holds CASCADE;
DO $$
DECLARE
  f regprocedure;
BEGIN
  FOR f IN SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND proname LIKE 'sluice\\_%'
    AND proname NOT IN ('sluice_month', 'sluice_make_months', 'sluice_entries_are_only_added', 'sluice_turn_inserted', 'sluice_turn_deleted', 'sluice_uncounted_usage')
  LOOP
    EXECUTE format('DROP FUNCTION %s', f);
  END LOOP;
END $$`;
