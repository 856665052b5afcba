import { type Figures, type GroupFigures, sumFigures, type UsageSummaryQuery } from "../../store/store.ts";
import type { OperationContext } from "./context.ts";
import { findKey } from "./find-key.ts";
import type { ChosenRange } from "./moments.ts";

export interface UsageReportRequest extends ChosenRange {
  readonly by: UsageSummaryQuery["by"];
  /** An id, prefix or label; absent means all keys. */
  readonly key?: string | undefined;
  readonly largest?: number | undefined;
}

export interface UsageReport extends ChosenRange {
  readonly groups: readonly GroupFigures[];
  readonly total: Figures;
}

/** The only source of usage figures: `sluice usage`, the admin API and the dashboard all call this. */
export async function usageReport(
  context: OperationContext,
  { by, key, sinceMs, untilMs, largest }: UsageReportRequest,
): Promise<UsageReport> {
  const keyId = key === undefined ? undefined : (await findKey(context, key)).id;
  const nowMs = context.clock.wallMs();
  const groups = await context.store.summarizeUsage({ by, sinceMs, untilMs, nowMs, keyId, largest });
  return { sinceMs, untilMs, groups, total: sumFigures(groups) };
}
