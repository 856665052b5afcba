import type { GroupFigures, GroupQuery, Store } from "../../src/store/store.ts";

interface UsageSummaryQuery extends Partial<GroupQuery> {
  readonly by: "day" | "hour" | "model" | "provider" | "key" | "route";
  readonly sinceMs: number;
}

/** Figures by one of the groupings; without an end, all until the end of time. */
export function summarizeUsage(
  { reports }: Pick<Store, "reports">,
  { by, untilMs = Date.UTC(9999, 0), ...query }: UsageSummaryQuery,
): Promise<readonly GroupFigures[]> {
  return reports.usageBy(by, { ...query, untilMs });
}
