import type { UsageGroup, UsageSummaryQuery } from "../../store/store.ts";
import type { OperationContext } from "./context.ts";
import { findKey } from "./find-key.ts";

export interface UsageReportRequest {
  readonly by: UsageSummaryQuery["by"];
  readonly sinceMs: number;
  readonly untilMs?: number | undefined;
  /** An id or prefix; absent means all keys. */
  readonly key?: string | undefined;
}

export interface UsageReport {
  readonly groups: readonly UsageGroup[];
  readonly total: UsageGroup;
}

export async function usageReport(
  context: OperationContext,
  request: UsageReportRequest,
): Promise<UsageReport> {
  const keyId = request.key === undefined ? undefined : (await findKey(context, request.key)).id;
  const { by, sinceMs, untilMs } = request;
  const groups = await context.store.summarizeUsage({ by, sinceMs, untilMs, keyId });
  return { groups, total: groups.reduce(add, emptyGroup) };
}

const emptyGroup: UsageGroup = {
  group: "total",
  requests: 0,
  failures: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  outputTokens: 0,
  costNano: 0,
  firstByteMs: 0,
  firstByteCount: 0,
  totalMs: 0,
};

function add(sum: UsageGroup, group: UsageGroup): UsageGroup {
  return {
    group: sum.group,
    requests: sum.requests + group.requests,
    failures: sum.failures + group.failures,
    inputTokens: sum.inputTokens + group.inputTokens,
    cachedInputTokens: sum.cachedInputTokens + group.cachedInputTokens,
    outputTokens: sum.outputTokens + group.outputTokens,
    costNano: sum.costNano + group.costNano,
    firstByteMs: sum.firstByteMs + group.firstByteMs,
    firstByteCount: sum.firstByteCount + group.firstByteCount,
    totalMs: sum.totalMs + group.totalMs,
  };
}
