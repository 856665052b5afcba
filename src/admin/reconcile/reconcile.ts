import { msPerDay } from "../../base/clock.ts";
import { nanoUsd, UnreadableReport, type UsageReportLine } from "../../vendors/usage-report.ts";
import { invalidInput } from "../context.ts";
import { isoMs } from "../moments.ts";
import { type FetchedDays, fetchPages } from "./fetch-report.ts";
import { type ProviderReport, type ReportFile, readReports } from "./read-report.ts";
import type { BilledFiguresView } from "./schema.ts";

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
export async function fetchReports(
  ...request: Parameters<typeof fetchPages>
): Promise<readonly ReportFile[]> {
  try {
    return await fetchPages(...request);
  } catch (error) {
    throw asOperationError(error);
  }
}

function asOperationError(error: unknown): unknown {
  return error instanceof UnreadableReport ? invalidInput(error.message) : error;
}
