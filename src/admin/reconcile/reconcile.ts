import { msPerDay } from "../../base/clock.ts";
import type { Settings } from "../../config/settings.ts";
import type { ProviderSettings } from "../../vendors/provider.ts";
import { nanoUsd, UnreadableReport, type UsageReportLine } from "../../vendors/usage-report.ts";
import { invalidInput, type OperationContext } from "../context.ts";
import { isoMs } from "../moments.ts";
import { type FetchedDays, fetchReports } from "./fetch-report.ts";
import { type ProviderReport, type ReportFile, readReports } from "./read-report.ts";
import { type ReconciliationRequest, reconciliation } from "./reconciliation.ts";
import type { BilledFiguresView, ReconciliationView } from "./schema.ts";

/** Percent. Calls around midnight may be billed on the other day. */
export const defaultTolerance = 1;

const maxDays = 366;

/** Two dates (UTC), both included. */
export function comparedDays(from: string, to: string): FetchedDays {
  const [fromMs, toMs] = [from, to].map((date) => (date.length === 10 ? isoMs(date) : null));
  if (fromMs == null || toMs == null) {
    throw invalidInput(`"${fromMs == null ? from : to}" is not a day such as 2026-10-31.`);
  }
  const [fromDay, throughDay] = [fromMs / msPerDay, toMs / msPerDay];
  if (throughDay < fromDay) throw invalidInput(`${to} is before ${from}.`);
  if (throughDay - fromDay >= maxDays) throw invalidInput(`At most ${maxDays} days can be compared.`);
  return { fromDay, throughDay };
}

/** Reads saved reports and tables, each recognized by its content, and adds `figures`. */
export function reportFromFiles(
  files: readonly ReportFile[],
  figures: readonly BilledFiguresView[] = [],
): ProviderReport {
  try {
    return readReports(files, figures.map(lineOf));
  } catch (error) {
    throw asOperationError(error);
  }
}

function lineOf({ date, model, cost, ...counts }: BilledFiguresView): UsageReportLine {
  const { fromDay: day } = comparedDays(date, date);
  return {
    day,
    model: model ?? null,
    figures: { ...counts, cost: cost === undefined ? undefined : nanoUsd(cost) },
  };
}

/** Fetches the report from the provider with an admin key. */
export async function fetchProviderReport(
  provider: ProviderSettings,
  adminKey: string,
  days: FetchedDays,
  onPage: (report: string, page: number) => void,
): Promise<ProviderReport> {
  try {
    return await fetchReports(provider, adminKey, days, onPage);
  } catch (error) {
    throw asOperationError(error);
  }
}

function asOperationError(error: unknown): unknown {
  return error instanceof UnreadableReport ? invalidInput(error.message) : error;
}

export interface ReconcileRequest extends ReconciliationRequest {
  readonly settings: Pick<Settings, "providers">;
}

/** Compares the report with the ledger. */
export async function reconcile(
  { store }: OperationContext,
  { settings, ...request }: ReconcileRequest,
): Promise<ReconciliationView> {
  const { provider, fromDay, throughDay } = request;
  const attempts = await store.reports.attemptSums(provider, fromDay, throughDay);
  return reconciliation(request, { attempts, providers: [...settings.providers.keys()] });
}
