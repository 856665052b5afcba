import { msPerDay, msPerHour } from "../../base/clock.ts";
import type { LedgerFault } from "../store.ts";
import { attemptTotalColumns } from "./attempt-columns.ts";
import { totalColumnNames } from "./total-columns.ts";

/** Totals that follow only from the ledger's entries. The others also count uncharged requests. */
const ofEntries = [
  ...["requests", "completed", "input_tokens", "cached_input_tokens", "output_tokens"],
  ...["spend_nano", "cancelled_spend_nano", "interrupted_spend_nano"],
  ...["spend_tokens", "cancelled_spend_tokens", "interrupted_spend_tokens"],
  ...[
    "list_cost_nano",
    "cache_savings_nano",
    "overrun_nano",
    "overrun_tokens",
    "first_byte_ms",
    "first_byte_count",
  ],
];

/** More faults would not help to find the cause. */
const maxFaults = 100;

/** A comparison of totals with the rows that they add up. The statement works in every database. */
export interface SumCheck {
  readonly unitMs: number;
  /** Selects `SumRow`s. */
  readonly sql: string;
  readonly columns: readonly string[];
}

/** A row of totals that differs. Both values of each column are text, because they may exceed a double. */
export type SumRow = Readonly<Record<string, string | number | null>>;

export const sumChecks: readonly SumCheck[] = [
  check({
    unitMs: msPerHour,
    columns: ofEntries,
    kept: "SELECT key_no, hour AS unit, model, provider, COLUMNS FROM usage_hours WHERE key_no > 0",
    counted: `SELECT key_no, at_ms / ${msPerHour} AS unit, model, provider, COLUMNS FROM entry_figures
        WHERE id <= (SELECT entries_through FROM rollups)`,
  }),
  check({
    unitMs: msPerHour,
    columns: totalColumnNames,
    kept: "SELECT 0 AS key_no, hour AS unit, model, provider, COLUMNS FROM usage_hours WHERE key_no = 0",
    counted: "SELECT 0 AS key_no, hour AS unit, model, provider, COLUMNS FROM usage_hours WHERE key_no > 0",
  }),
  check({
    unitMs: msPerDay,
    columns: attemptTotalColumns,
    kept: "SELECT 0 AS key_no, day AS unit, 'attempts' AS model, '' AS provider, COLUMNS FROM attempt_sums AS kept",
    counted:
      "SELECT 0 AS key_no, day AS unit, 'attempts' AS model, '' AS provider, COLUMNS FROM attempt_days",
  }),
];

interface Comparison {
  readonly unitMs: number;
  readonly columns: readonly string[];
  readonly kept: string;
  readonly counted: string;
}

/** Adds up both sides in one pass, which needs no join. */
function check({ unitMs, columns, kept, counted }: Comparison): SumCheck {
  const side = (one: "kept" | "counted") =>
    columns
      .flatMap((name) => [
        `${one === "kept" ? name : "0"} AS kept_${name}`,
        `${one === "kept" ? "0" : name} AS counted_${name}`,
      ])
      .join(", ");
  const sums = columns.flatMap((name) => [
    `CAST(sum(kept_${name}) AS text) AS kept_${name}`,
    `CAST(sum(counted_${name}) AS text) AS counted_${name}`,
  ]);
  const differs = columns.map((name) => `sum(kept_${name}) <> sum(counted_${name})`);
  const sql = `
SELECT (SELECT id FROM keys WHERE no = key_no) AS "keyId", unit, model, provider, ${sums.join(", ")}
FROM (${kept.replace("COLUMNS", side("kept"))} UNION ALL ${counted.replace("COLUMNS", side("counted"))}) AS sides
GROUP BY key_no, unit, model, provider HAVING ${differs.join(" OR ")}
ORDER BY unit LIMIT ${maxFaults}`;
  return { unitMs, columns, sql };
}

export function sumFaults({ unitMs, columns }: SumCheck, row: SumRow): readonly LedgerFault[] {
  const at = new Date(Number(row["unit"]) * unitMs).toISOString();
  const names = { [msPerDay]: "day", [msPerHour]: "hour" };
  const groupName = [row["model"], row["provider"]].filter((part) => part !== "").join(" at ");
  const where = `${names[unitMs]} ${at.slice(0, unitMs === msPerDay ? 10 : 16)}${groupName === "" ? "" : ` ${groupName}`}`;
  return columns
    .filter((name) => row[`kept_${name}`] !== row[`counted_${name}`])
    .map((name) => ({
      keyId: row["keyId"] === null ? null : String(row["keyId"]),
      where,
      field: name,
      kept: BigInt(row[`kept_${name}`] ?? 0),
      recomputed: BigInt(row[`counted_${name}`] ?? 0),
    }));
}
