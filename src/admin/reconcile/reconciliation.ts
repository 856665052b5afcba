import { dateOfDay } from "../../base/clock.ts";
import { count, plural } from "../../base/text/plural.ts";
import type { AttemptSums } from "../../store/store.ts";
import { type ReportMetric, type ReportMetrics, reportMetrics } from "../../vendors/usage-report.ts";
import { invalidInput, type OperationError } from "../context.ts";
import { compare, type LedgerFigures } from "./compare.ts";
import type { FetchedDays } from "./fetch-report.ts";
import type { ProviderReport } from "./read-report.ts";
import type { ComparedAmountView, ReconciliationView } from "./schema.ts";

export interface ReconciliationRequest extends FetchedDays {
  readonly provider: string;
  readonly bill: ProviderReport;
  /** Percent. */
  readonly tolerance: number;
}

export interface LedgerSide {
  readonly attempts: readonly AttemptSums[];
  /** The providers in the configuration. */
  readonly providers: readonly string[];
}

/** Compares a provider's report with the ledger. Takes time in proportion to the lines of both. */
export function reconciliation(
  { provider, bill, fromDay, throughDay, tolerance }: ReconciliationRequest,
  { attempts, providers }: LedgerSide,
  maxRows = Number.POSITIVE_INFINITY,
): ReconciliationView {
  if (attempts.length === 0 && !providers.includes(provider)) {
    const known = providers.join(", ");
    throw invalidInput(`Unknown provider "${provider}". Configured: ${known || "none"}.`);
  }
  const lines = bill.lines.filter(({ day }) => day >= fromDay && day <= throughDay);
  if (bill.metrics.size === 0) throw invalidInput("The report has no lines, so there is nothing to compare.");
  if (lines.length === 0) {
    const range = `${dateOfDay(fromDay)} to ${dateOfDay(throughDay)}`;
    throw invalidInput(
      `None of the report's ${bill.lines.length} lines is in ${range}. Set \`from\` and \`to\` to its days.`,
    );
  }
  const sides = { bill: { ...bill, lines }, attempts, tolerance: tolerance / 100 };
  const { rows, total, differingRows } = compare(sides, (found) => {
    if (found > maxRows) throw tooManyRows(found, maxRows);
  });
  return {
    provider,
    from: dateOfDay(fromDay),
    to: dateOfDay(throughDay),
    tolerance,
    differing: differingRows,
    data: rows.map(({ day, model, billed, ledger, differing, reasons }) => ({
      date: dateOfDay(day),
      model,
      ...figureViews(billed, ledger),
      differing: [...differing],
      reasons: reasons.map(({ kind, calls, text }) => ({ reason: kind, calls, text })),
    })),
    total: figureViews(total.billed, total.ledger),
  };
}

function tooManyRows(rows: number, maxRows: number): OperationError {
  return invalidInput(
    `the report and the ledger have ${plural(rows, "line")} by day and model, more than the limit of ${count(maxRows)}; choose fewer days`,
  );
}

function figureViews(billed: ReportMetrics, ledger: LedgerFigures): Record<ReportMetric, ComparedAmountView> {
  const views = reportMetrics.map((name) => {
    const unit = name === "cost" ? nanoPerUsd : 1;
    const reported = billed[name];
    const difference = reported === undefined ? null : (reported - ledger[name]) / unit;
    return [
      name,
      { billed: reported === undefined ? null : reported / unit, ledger: ledger[name] / unit, difference },
    ];
  });
  // One for each figure.
  return Object.fromEntries(views) as Record<ReportMetric, ComparedAmountView>;
}

const nanoPerUsd = 1_000_000_000;
