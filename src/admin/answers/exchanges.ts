import { creditsFromNano } from "../../base/money.ts";
import type { Entry, EntrySearch, ExchangeQuery, FiledUsage } from "../../store/store.ts";
import type { AdminDeps } from "../deps.ts";
import type { EntryView, ExchangeDetailView, ExchangeView, Page } from "../views.ts";
import { iso } from "./time.ts";

export async function exchangePage(deps: AdminDeps, query: ExchangeQuery): Promise<Page<ExchangeView>> {
  const { rows, nextBeforeId } = await deps.store.reports.exchanges(query);
  return { data: rows.map((row) => exchangeView(deps, row)), next_cursor: cursorOf(nextBeforeId) };
}

export async function entryPage(deps: AdminDeps, query: EntrySearch): Promise<Page<EntryView>> {
  const { rows, nextBeforeId } = await deps.store.reports.entries(query);
  return { data: rows.map((row) => entryView(deps, row)), next_cursor: cursorOf(nextBeforeId) };
}

export async function exchangeDetail(
  deps: AdminDeps,
  id: string,
  entryId: number | null,
): Promise<ExchangeDetailView | null> {
  const found = await deps.store.reports.exchange(id, entryId);
  if (found === null) return null;
  return {
    exchange: found.record && exchangeView(deps, found.record),
    entries: found.entries.map((entry) => entryView(deps, entry)),
  };
}

function cursorOf(beforeId: number | null): string | null {
  return beforeId === null ? null : String(beforeId);
}

function exchangeView(deps: AdminDeps, record: FiledUsage): ExchangeView {
  const key = deps.keys.byId(record.keyId);
  return {
    id: record.exchangeId,
    entry: record.entryId,
    at: iso(record.atMs),
    key_id: record.keyId,
    key_prefix: key?.prefix ?? "",
    key_label: key?.label ?? null,
    route: record.route,
    model: record.model,
    provider: record.provider,
    upstream_model: record.upstreamModel,
    stream: record.stream,
    outcome: record.outcome,
    status: record.status,
    input_tokens: record.usage.inputTokens,
    cached_input_tokens: record.usage.cachedInputTokens,
    cache_write_tokens: record.usage.cacheWriteTokens,
    output_tokens: record.usage.outputTokens,
    reasoning_tokens: record.usage.reasoningTokens,
    basis: record.basis,
    cost: creditsFromNano(record.costNano),
    first_byte_ms: record.firstByteMs,
    total_ms: record.totalMs,
    attempts: record.attempts,
  };
}

function entryView(deps: AdminDeps, entry: Entry): EntryView {
  const key = deps.keys.byId(entry.keyId);
  const isCredit = key?.mode !== "token_budget";
  return {
    id: entry.id,
    at: iso(entry.atMs),
    key_id: entry.keyId,
    key_prefix: key?.prefix ?? "",
    kind: entry.kind,
    amount: isCredit ? creditsFromNano(entry.amount) : entry.amount,
    unit: isCredit ? "credits" : "tokens",
    exchange_id: entry.exchangeId,
    basis: entry.basis,
    outcome: entry.outcome,
    reference: entry.reference,
    note: entry.note,
  };
}
