import type { CursorPage, ExchangeQuery, FiledExchange, ListedExchange, Store } from "../../store/store.ts";
import { invalidInput } from "../context.ts";

export interface FoundExchange {
  readonly id: string;
  readonly record: FiledExchange;
  /** Ids of other exchanges to which clients gave the same id, newest first. */
  readonly others: readonly string[];
}

const maxShown = 20;

/** Finds an exchange by its own id, or by the id that its client gave it. Several clients can use the same id. */
export async function findExchange(
  { reports }: Pick<Store, "reports">,
  id: string,
  entryId: number | null,
  isShown: (record: FiledExchange) => boolean = () => true,
): Promise<FoundExchange | null> {
  const own = await reports.exchange(id, entryId);
  if (own !== null) return isShown(own) ? { id, record: own, others: [] } : null;
  const called = await reports.exchangesCalled(id, maxShown);
  for (const [place, exchangeId] of called.entries()) {
    const record = await reports.exchange(exchangeId, null);
    if (record !== null && isShown(record))
      return { id: exchangeId, record, others: called.toSpliced(place, 1) };
  }
  return null;
}

/**
 * A page of exchanges. A search for an id, ours or a client's, ignores the other filters. Other text is searched by the
 * store.
 */
export async function searchExchanges(
  { reports }: Pick<Store, "reports">,
  query: ExchangeQuery,
): Promise<CursorPage<ListedExchange, string>> {
  const { search, cursor, keyId, limit } = query;
  if (search !== undefined && cursor === undefined) {
    const ids = search.startsWith("req_") ? [search] : await reports.exchangesCalled(search, limit);
    const records = await Promise.all(ids.map((id) => reports.exchange(id, null)));
    const rows = records
      .flatMap((found) => found?.exchange ?? [])
      .filter((found) => keyId === undefined || found.keyId === keyId);
    if (rows.length > 0) return { rows, next: null };
  }
  return reports.exchanges(query);
}

export type RequestedLabels = {
  readonly [Name in "user" | "session" | "agent" | "batch" | "tag"]?: string | undefined;
};

/** The labels to search for, by their stored names. A tag is written as `project=atlas`. */
export function requestedLabels({
  user,
  session,
  agent,
  batch,
  tag,
}: RequestedLabels): Readonly<Record<string, string>> {
  const [name = "", ...value] = tag?.split("=") ?? [];
  if (tag !== undefined && (name === "" || value.length === 0))
    throw invalidInput(`a tag must be a name and a value, such as project=atlas, not "${tag}"`);
  return {
    ...(user === undefined ? {} : { user }),
    ...(session === undefined ? {} : { session }),
    ...(agent === undefined ? {} : { agent }),
    ...(batch === undefined ? {} : { batch }),
    ...(tag === undefined ? {} : { [`tag:${name}`]: value.join("=") }),
  };
}
