import type { FiledExchange, Store } from "../../store/store.ts";

export interface FoundExchange {
  readonly id: string;
  readonly filed: FiledExchange;
  /** More exchanges that the client gave the same id, newest first. */
  readonly others: readonly string[];
}

const mostShown = 20;

/** Finds an exchange by its own id, or by the one that its client gave it. */
export async function findExchange(
  { reports }: Pick<Store, "reports">,
  id: string,
  entryId: number | null,
): Promise<FoundExchange | null> {
  const own = await reports.exchange(id, entryId);
  if (own !== null) return { id, filed: own, others: [] };
  const called = await reports.exchangesCalled(id, mostShown);
  for (const [place, exchangeId] of called.entries()) {
    const filed = await reports.exchange(exchangeId, null);
    if (filed !== null) return { id: exchangeId, filed, others: called.toSpliced(place, 1) };
  }
  return null;
}
