import { msPerDay, msPerHour } from "../../base/clock.ts";
import type { GroupFigures, Reports } from "../reports.ts";
import type { UsageSummaryQuery } from "../store.ts";

const endOfTimeMs = Date.UTC(9999, 0);

/** Figures by one of the groupings, times as people write them. */
export async function summarizeUsage(
  reports: Pick<Reports, "usageInSteps" | "usageBy">,
  { by, largest, untilMs = endOfTimeMs, ...rest }: UsageSummaryQuery,
): Promise<readonly GroupFigures[]> {
  const range = { ...rest, untilMs };
  if (by !== "day" && by !== "hour") return reports.usageBy(by, { ...range, largest });
  const steps = await reports.usageInSteps({ ...range, stepMs: by === "day" ? msPerDay : msPerHour });
  return steps.map(({ startMs, ...figures }) => {
    const iso = new Date(startMs).toISOString();
    return { group: by === "day" ? iso.slice(0, 10) : `${iso.slice(0, 16)}Z`, ...figures };
  });
}
