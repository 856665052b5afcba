import type { Cut, ExchangeQuery, ListedExchange } from "../reports.ts";
import { type ExchangeRow, listedExchange } from "./exchange-row.ts";
import { mergePages, type TwoLists } from "./merge-pages.ts";

/**
 * Exchanges that completed are the usage records of the ledger; all others are the kept endings. The two are read side
 * by side and merged by the moment they ended.
 */
export async function listExchanges(
  query: ExchangeQuery,
  lists: TwoLists<ExchangeRow>,
): Promise<Cut<ListedExchange, string>> {
  const page = await mergePages(query.cursor, query.limit, {
    completed: (beforeId) => (canBeCompleted(query) ? lists.completed(beforeId) : null),
    ended: (beforeId) => (query.outcome === "completed" ? null : lists.ended(beforeId)),
    completedTimeAt: lists.completedTimeAt,
    endedTimeAt: lists.endedTimeAt,
  });
  return { rows: page.rows.map(listedExchange), next: page.next };
}

/** One that completed has no error. */
function canBeCompleted({ outcome, code }: ExchangeQuery): boolean {
  return (outcome === undefined || outcome === "completed") && code === undefined;
}
