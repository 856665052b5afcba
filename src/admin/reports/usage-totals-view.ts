import { creditsFromNano } from "../../base/money/money.ts";
import { cachedInputShare, errorRate, type UsageTotals } from "../../store/store.ts";
import type { UsageRowView, UsageTotalsView } from "./schema.ts";

/** The totals in the fields shared by the admin API, the dashboard and `--json`. */
export function usageTotalsView(figures: UsageTotals): UsageTotalsView {
  return {
    recorded_requests: figures.requests,
    completed: figures.completed,
    failed: figures.failed,
    rejected: figures.rejected,
    cancelled: figures.cancelled,
    interrupted: figures.interrupted,
    error_rate: errorRate(figures),
    input_tokens: figures.inputTokens,
    cached_input_tokens: figures.cachedInputTokens,
    cached_input_share: cachedInputShare(figures),
    output_tokens: figures.outputTokens,
    spend: creditsFromNano(figures.spendNano),
    cancelled_spend: creditsFromNano(figures.cancelledSpendNano),
    interrupted_spend: creditsFromNano(figures.interruptedSpendNano),
    spend_tokens: figures.spendTokens,
    list_cost: creditsFromNano(figures.listCostNano),
    cache_savings: creditsFromNano(figures.cacheSavingsNano),
    overrun: creditsFromNano(figures.overrunNano),
    overrun_tokens: figures.overrunTokens,
    recovered_attempts: figures.coveredAttempts,
    average_first_byte_ms: average(figures.firstByteMs, figures.firstByteCount),
    average_total_ms: average(figures.totalMs, figures.totalCount),
  };
}

export function usageRow(group: string | null, name: string, figures: UsageTotals): UsageRowView {
  return { group, name, ...usageTotalsView(figures) };
}

function average(sumMs: number, count: number): number | null {
  return count === 0 ? null : sumMs / count;
}
