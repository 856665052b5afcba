import type { Cut, ExchangeQuery, ListedExchange, Store } from "../../store/store.ts";

/**
 * A page of exchanges. A search for an id finds those that are called so, by us or by their client, whatever the other
 * filters say; any other text is looked for by the store.
 */
export async function searchExchanges(
  { reports }: Pick<Store, "reports">,
  query: ExchangeQuery,
): Promise<Cut<ListedExchange, string>> {
  const { search, cursor, keyId, limit } = query;
  if (search !== undefined && cursor === undefined) {
    const ids = search.startsWith("req_") ? [search] : await reports.exchangesCalled(search, limit);
    const filed = await Promise.all(ids.map((id) => reports.exchange(id, null)));
    const rows = filed
      .flatMap((found) => found?.exchange ?? [])
      .filter((found) => keyId === undefined || found.keyId === keyId);
    if (rows.length > 0) return { rows, next: null };
  }
  return reports.exchanges(query);
}
