import { msPerHour } from "../../base/clock.ts";
import type { GroupFigures, Reports, Resolution } from "../reports.ts";
import type { UsageSummaryQuery } from "../store.ts";

const unitMs: Readonly<Record<Resolution, number>> = { minute: 60_000, hour: 3_600_000 };
const endOfTimeMs = Date.UTC(9999, 0);

/** Figures by one of the groupings, times as people write them. */
export async function summarizeUsage(
  reports: Pick<Reports, "usageInSteps" | "usageBy">,
  { by, sinceMs, untilMs = endOfTimeMs, resolution = "hour", keyId, largest }: UsageSummaryQuery,
): Promise<readonly GroupFigures[]> {
  const unit = unitMs[resolution];
  const range = { sinceMs, untilMs: (Math.floor(untilMs / unit) + 1) * unit, resolution, keyId };
  if (by !== "day" && by !== "hour") return reports.usageBy(by, { ...range, largest });
  const stepMs = by === "day" ? 24 * msPerHour : msPerHour;
  const steps = await reports.usageInSteps({ ...range, stepMs });
  return steps.map(({ startMs, ...figures }) => {
    const iso = new Date(startMs).toISOString();
    return { group: by === "day" ? iso.slice(0, 10) : `${iso.slice(0, 16)}Z`, ...figures };
  });
}
