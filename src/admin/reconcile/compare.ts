import type { AttemptSums } from "../../store/store.ts";
import { type ReportMetric, type ReportMetrics, reportMetrics } from "../../vendors/usage-report.ts";
import type { ProviderReport } from "./read-report.ts";
import { type Reason, reasonsOf } from "./reasons.ts";
import { commonNames } from "./same-model.ts";

export type LedgerFigures = Readonly<Record<ReportMetric, number>>;

/** The reported and the recorded metrics of one day and model. */
export interface ComparedRow {
  readonly day: number;
  /** Null for all models, if the report is not broken down by model. */
  readonly model: string | null;
  readonly billed: ReportMetrics;
  readonly ledger: LedgerFigures;
  /** The metrics that differ by more than the tolerance. */
  readonly differing: readonly ReportMetric[];
  /** Likely reasons, if any metric differs. */
  readonly reasons: readonly Reason[];
}

export interface Comparison {
  readonly rows: readonly ComparedRow[];
  readonly total: Pick<ComparedRow, "billed" | "ledger">;
  readonly differingRows: number;
}

export interface ComparedSides {
  readonly bill: ProviderReport;
  readonly attempts: readonly AttemptSums[];
  /** A share: 0.01 is one percent. */
  readonly tolerance: number;
}

interface Side {
  readonly day: number;
  readonly model: string | null;
  readonly billed: Partial<Record<ReportMetric, number>>;
  readonly attempts: AttemptSums[];
}

/** Compares both sides: rows by day, and by model within a day. `onRows` is first called with their number, and may throw. */
export function compare(
  { bill, attempts, tolerance }: ComparedSides,
  onRows: (count: number) => void = () => {},
): Comparison {
  const sides = bothSides(bill, attempts);
  onRows(sides.length);
  const rows = sides.map(({ day, model, billed, attempts }) => {
    const ledger = ledgerFigures(attempts);
    const differing = reportMetrics.filter((name) => isBeyond(billed[name], ledger[name], tolerance));
    const reasons = differing.length === 0 ? [] : reasonsOf({ billed, ledger, differing, attempts });
    return { day, model, billed, ledger, differing, reasons };
  });
  rows.sort((a, b) => a.day - b.day || ((a.model ?? "") < (b.model ?? "") ? -1 : 1));
  const differingRows = rows.filter(({ differing }) => differing.length > 0).length;
  return { rows, total: totalOf(rows), differingRows };
}

/** A metric that the report lacks cannot differ. */
function isBeyond(billed: number | undefined, ledger: number, tolerance: number): boolean {
  return billed !== undefined && Math.abs(billed - ledger) > tolerance * Math.max(Math.abs(billed), ledger);
}

/** A row that is missing on one side counts as 0 there, if the report has the metric at all. */
function bothSides({ lines, metrics }: ProviderReport, attempts: readonly AttemptSums[]): readonly Side[] {
  const billedModels = lines.flatMap(({ model }) => model ?? []);
  const nameOf = commonNames(
    billedModels,
    attempts.map(({ upstreamModel }) => upstreamModel),
  );
  const sides = new Map<string, Side>();
  const sideOf = (day: number, model: string | null) =>
    sides.getOrInsertComputed(`${day} ${model}`, () => ({ day, model, billed: {}, attempts: [] }));
  for (const { day, model, figures } of lines) {
    add(sideOf(day, model && nameOf(model)).billed, figures);
  }
  const isByModel = billedModels.length > 0 || lines.length === 0;
  for (const sums of attempts) {
    sides.get(`${sums.day} null`)?.attempts.push(sums);
    if (isByModel) sideOf(sums.day, nameOf(sums.upstreamModel)).attempts.push(sums);
  }
  const whole = new Set(lines.flatMap(({ model, figures }) => (model === null ? Object.keys(figures) : [])));
  for (const { model, billed } of sides.values()) {
    if (model === null) continue;
    for (const name of metrics) if (!whole.has(name)) billed[name] ??= 0;
  }
  return [...sides.values()];
}

function add(billed: Partial<Record<ReportMetric, number>>, figures: ReportMetrics): void {
  for (const name of reportMetrics) {
    const figure = figures[name];
    if (figure !== undefined) billed[name] = (billed[name] ?? 0) + figure;
  }
}

/** Totals of the charged attempts. Uncharged ones are not in the ledger. */
function ledgerFigures(attempts: readonly AttemptSums[]): LedgerFigures {
  const sum = { requests: 0, input: 0, cached: 0, cache_writes: 0, output: 0, cost: 0 };
  for (const each of attempts) {
    if (each.outcome === "uncharged") continue;
    const { cachedInputTokens, cacheWriteTokens } = each;
    sum.requests += each.attempts;
    sum.input += each.inputTokens + cachedInputTokens + cacheWriteTokens + each.countedInputTokens;
    sum.cached += cachedInputTokens;
    sum.cache_writes += cacheWriteTokens;
    sum.output += each.outputTokens + each.countedOutputTokens;
    sum.cost += each.owedNanoUsd;
  }
  return sum;
}

/** A day without a breakdown by model counts once, as its total. */
function totalOf(rows: readonly ComparedRow[]): Comparison["total"] {
  const billed: Partial<Record<ReportMetric, number>> = {};
  const ledger = { requests: 0, input: 0, cached: 0, cache_writes: 0, output: 0, cost: 0 };
  const hasModels = rows.some(({ model }) => model !== null);
  for (const row of rows) {
    add(billed, row.billed);
    if (row.model === null && hasModels) continue;
    for (const name of reportMetrics) ledger[name] += row.ledger[name];
  }
  return { billed, ledger };
}
