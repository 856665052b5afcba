import type { GroupFigures, Reports } from "../reports.ts";
import type { UsageSummaryQuery } from "../store.ts";

const endOfTimeMs = Date.UTC(9999, 0);

/** Figures by one of the groupings; those of times come in their order. */
export function summarizeUsage(
  reports: Pick<Reports, "usageBy">,
  { by, untilMs = endOfTimeMs, ...rest }: UsageSummaryQuery,
): Promise<readonly GroupFigures[]> {
  const largest = by === "day" || by === "hour" ? undefined : rest.largest;
  return reports.usageBy(by, { ...rest, untilMs, largest });
}
