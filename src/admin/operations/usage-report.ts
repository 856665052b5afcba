import {
  countedRange,
  type Figures,
  type GroupFigures,
  sumFigures,
  type UsageSummaryQuery,
} from "../../store/store.ts";
import type { OperationContext } from "./context.ts";
import { findKey } from "./find-key.ts";

export interface UsageReportRequest {
  readonly by: UsageSummaryQuery["by"];
  readonly sinceMs: number;
  /** Absent means now. */
  readonly untilMs?: number | undefined;
  /** An id, prefix or label; absent means all keys. */
  readonly key?: string | undefined;
  readonly largest?: number | undefined;
}

export interface UsageReport {
  /** The range that was counted: whole minutes or hours around the requested one. */
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly groups: readonly GroupFigures[];
  readonly total: Figures;
}

/** The only source of usage figures: `sluice usage`, the admin API and the dashboard all call this. */
export async function usageReport(
  context: OperationContext,
  request: UsageReportRequest,
): Promise<UsageReport> {
  const keyId = request.key === undefined ? undefined : (await findKey(context, request.key)).id;
  const nowMs = context.clock.wallMs();
  const { by, largest } = request;
  const { sinceMs, untilMs, resolution } = countedRange(request.sinceMs, request.untilMs ?? nowMs, nowMs);
  const lastMs = untilMs - 1;
  const groups = await context.store.summarizeUsage({
    by,
    sinceMs,
    untilMs: lastMs,
    resolution,
    keyId,
    largest,
  });
  return { sinceMs, untilMs, groups, total: sumFigures(groups) };
}
