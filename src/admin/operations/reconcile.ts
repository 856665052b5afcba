import { dateOfDay, msPerDay } from "../../base/clock.ts";
import type { Settings } from "../../config/settings.ts";
import {
  type BillFigure,
  type BillFigures,
  type BillLine,
  billFigures,
  nanoUsd,
  UnreadableBill,
} from "../../vendors/bill.ts";
import type { ProviderSettings } from "../../vendors/provider.ts";
import { compare, type LedgerFigures } from "../reconcile/compare.ts";
import { type FetchedDays, fetchBill } from "../reconcile/fetch-bill.ts";
import { type BillFile, type ProviderBill, readBill } from "../reconcile/read-bill.ts";
import type { BilledFiguresView, ComparedFigureView, ReconciliationView } from "../views.ts";
import { invalidInput, type OperationContext } from "./context.ts";
import { isoMs } from "./moments.ts";

/** Percent. Calls around midnight may be billed on the other day. */
export const defaultTolerance = 1;

const mostDays = 366;

/** Two dates (UTC), both included. */
export function comparedDays(from: string, to: string): FetchedDays {
  const [fromMs, toMs] = [from, to].map((date) => (date.length === 10 ? isoMs(date) : null));
  if (fromMs == null || toMs == null) throw invalidInput("Write days such as 2026-10-01 and 2026-10-31.");
  const [fromDay, throughDay] = [fromMs / msPerDay, toMs / msPerDay];
  if (throughDay < fromDay) throw invalidInput(`${to} is before ${from}.`);
  if (throughDay - fromDay >= mostDays) throw invalidInput(`At most ${mostDays} days can be compared.`);
  return { fromDay, throughDay };
}

/** Saved reports and tables, each recognised by its content, and figures as they are. */
export function billIn(files: readonly BillFile[], figures: readonly BilledFiguresView[] = []): ProviderBill {
  try {
    return readBill(files, figures.map(lineOf));
  } catch (error) {
    throw asRefusal(error);
  }
}

function lineOf({ date, model, cost, ...counts }: BilledFiguresView): BillLine {
  const { fromDay: day } = comparedDays(date, date);
  return {
    day,
    model: model ?? null,
    figures: { ...counts, cost: cost === undefined ? undefined : nanoUsd(cost) },
  };
}

/** What the provider answers, asked with an admin key. */
export async function billOf(
  provider: ProviderSettings,
  adminKey: string,
  days: FetchedDays,
  onPage: (report: string, page: number) => void,
): Promise<ProviderBill> {
  try {
    return await fetchBill(provider, adminKey, days, onPage);
  } catch (error) {
    throw asRefusal(error);
  }
}

function asRefusal(error: unknown): unknown {
  return error instanceof UnreadableBill ? invalidInput(error.message) : error;
}

export interface ReconcileRequest extends FetchedDays {
  readonly provider: string;
  readonly bill: ProviderBill;
  readonly settings: Pick<Settings, "microUsdPerCredit" | "providers">;
  /** Percent. */
  readonly tolerance: number;
}

/** What a provider has billed, held against the ledger. */
export async function reconcile(
  { store }: OperationContext,
  request: ReconcileRequest,
): Promise<ReconciliationView> {
  const { provider, bill, settings, fromDay, throughDay, tolerance } = request;
  const attempts = await store.reports.attemptSums(provider, fromDay, throughDay);
  if (attempts.length === 0 && !settings.providers.has(provider)) {
    const known = [...settings.providers.keys()].join(", ");
    throw invalidInput(`There is no provider "${provider}"; the configuration has ${known || "none"}.`);
  }
  const lines = bill.lines.filter(({ day }) => day >= fromDay && day <= throughDay);
  if (bill.tells.size === 0) throw invalidInput("The bill has no lines, so there is nothing to compare.");
  if (lines.length === 0) {
    const range = `${dateOfDay(fromDay)} to ${dateOfDay(throughDay)}`;
    throw invalidInput(
      `None of the bill's ${bill.lines.length} lines is of ${range}; name its days with from and to.`,
    );
  }
  const { microUsdPerCredit } = settings;
  const sides = { bill: { ...bill, lines }, attempts, microUsdPerCredit, tolerance: tolerance / 100 };
  const { rows, total, differingRows } = compare(sides);
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

function figureViews(billed: BillFigures, ledger: LedgerFigures): Record<BillFigure, ComparedFigureView> {
  const views = billFigures.map((name) => {
    const unit = name === "cost" ? nanoPerUsd : 1;
    const told = billed[name];
    const difference = told === undefined ? null : (told - ledger[name]) / unit;
    return [
      name,
      { billed: told === undefined ? null : told / unit, ledger: ledger[name] / unit, difference },
    ];
  });
  // One for each figure.
  return Object.fromEntries(views) as Record<BillFigure, ComparedFigureView>;
}

const nanoPerUsd = 1_000_000_000;
