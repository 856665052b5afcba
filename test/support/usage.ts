import type { ExchangeQuery, GroupQuery, GroupTotals, Store, UsageRecord } from "../../src/store/store.ts";

interface UsageSummaryQuery extends Partial<GroupQuery> {
  readonly by: "day" | "hour" | "model" | "provider" | "key" | "route";
  readonly sinceMs: number;
}

/** Usage by one grouping; without `untilMs`, everything from `sinceMs` on. */
export function summarizeUsage(
  { reports }: Pick<Store, "reports">,
  { by, untilMs = Date.UTC(9999, 0), ...query }: UsageSummaryQuery,
): Promise<readonly GroupTotals[]> {
  return reports.usageBy(by, { ...query, untilMs });
}

/** The usage records, newest first, with the ids of their entries. */
export async function usageRecords(
  store: Pick<Store, "reports" | "listEntries">,
  query: Pick<ExchangeQuery, "keyId"> = {},
): Promise<readonly (UsageRecord & { readonly id: number })[]> {
  const { rows } = await store.reports.exchanges({ ...query, limit: 5_000 });
  const entries = await store.listEntries({ afterId: 0, limit: 10_000 });
  const costs = new Map(entries.map(({ id, costNano }) => [id, costNano]));
  return rows.flatMap(({ entryId: id, usage, basis, startedAtMs, ...row }) => {
    const { exchangeId, keyId, route, model, provider, upstreamModel, stream, outcome, status } = row;
    const { firstByteMs, totalMs, attempts } = row;
    if (id === null || usage === null || basis === null || totalMs === null) return [];
    if (outcome === "rejected" || status === null) return [];
    return {
      ...{ id, exchangeId, keyId, atMs: startedAtMs, route, model, provider, upstreamModel, stream, outcome },
      ...{ status, usage, basis, costNano: costs.get(id) ?? 0, firstByteMs, totalMs, attempts },
    };
  });
}
