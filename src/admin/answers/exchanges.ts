import type { EntrySearch, ExchangeQuery, FiledExchange } from "../../store/store.ts";
import type { Caller } from "../auth/identity.ts";
import type { AdminDeps } from "../deps.ts";
import { entryDocument, exchangeDetailDocument, exchangeDocument } from "../operations/exchange-document.ts";
import { findExchange, searchExchanges } from "../operations/find-exchanges.ts";
import type { EntryView, ExchangeDetailView, ExchangeView, Page } from "../views.ts";

export async function exchangePage(deps: AdminDeps, query: ExchangeQuery): Promise<Page<ExchangeView>> {
  const { rows, next } = await searchExchanges(deps.store, query);
  return { data: rows.map((row) => exchangeDocument(row, keyOf(deps))), next_cursor: next };
}

export async function entryPage(deps: AdminDeps, query: EntrySearch): Promise<Page<EntryView>> {
  const { rows, next } = await deps.store.reports.entries(query);
  return {
    data: rows.map((row) => entryDocument(row, keyOf(deps))),
    next_cursor: next === null ? null : String(next),
  };
}

export async function exchangeDetail(
  deps: AdminDeps,
  id: string,
  entryId: number | null,
  caller: Pick<Caller, "role" | "owns">,
): Promise<ExchangeDetailView | null> {
  const isShown = (filed: FiledExchange) => caller.role !== "holder" || isOwn(deps, filed, caller);
  const found = await findExchange(deps.store, id, entryId, isShown);
  return found === null ? null : exchangeDetailDocument(found.filed, keyOf(deps));
}

function isOwn(
  { keys }: AdminDeps,
  { exchange, entries }: FiledExchange,
  { owns }: Pick<Caller, "owns">,
): boolean {
  const key = keys.byId(exchange?.keyId ?? entries[0]?.keyId ?? "");
  return key !== null && owns(key);
}

function keyOf({ keys }: AdminDeps) {
  return (id: string) => keys.byId(id) ?? null;
}
