import { unknownModelIn } from "../../base/models/unknown-model.ts";
import { creditsFromNano } from "../../base/money/money.ts";
import type { AttemptRecord } from "../../base/requests/attempt.ts";
import { noUsage } from "../../base/usage/usage.ts";
import type { Settings } from "../../config/settings.ts";
import type { Entry, KeyRecord, ListedExchange } from "../../store/store.ts";
import type { KeyView } from "../key-terms/schema.ts";
import { iso } from "../moments.ts";
import { explainCharge } from "./explain-charge.ts";
import { explainExchange } from "./explain-exchange.ts";
import type { FoundExchange } from "./find-exchanges.ts";
import type { AttemptView, EntryView, ExchangeDetailView, ExchangeView } from "./schema.ts";

/** Null if the key is unknown. */
type KeyOf = (id: string) => Pick<KeyRecord, "prefix" | "label" | "mode"> | null;

/** An exchange in the fields shared by the admin API, the dashboard and `--json`. */
export function exchangeDocument(exchange: ListedExchange, keyOf: KeyOf): ExchangeView {
  const key = keyOf(exchange.keyId);
  const isCredit = key?.mode !== "token_budget";
  const usage = exchange.usage ?? noUsage;
  const credits = isCredit ? creditsFromNano(exchange.charged) : 0;
  const { fallbackFrom, steppedDownFrom, parentAgent, ...labels } = exchange.labels;
  return {
    id: exchange.exchangeId,
    entry: exchange.entryId,
    at: iso(exchange.startedAtMs),
    ended_at: iso(exchange.endedAtMs),
    key_id: exchange.keyId,
    key_prefix: key?.prefix ?? "",
    key_label: key?.label ?? null,
    route: exchange.route,
    model: exchange.model,
    unknown_model: unknownModelIn(exchange.message),
    provider: exchange.provider,
    upstream_model: exchange.upstreamModel,
    stream: exchange.stream,
    outcome: exchange.outcome,
    status: exchange.status,
    code: exchange.code,
    message: exchange.message,
    alike: exchange.alike,
    input_tokens: usage.inputTokens,
    cached_input_tokens: usage.cachedInputTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    output_tokens: usage.outputTokens,
    reasoning_tokens: usage.reasoningTokens,
    units: exchange.units,
    basis: exchange.basis,
    charged: isCredit ? credits : exchange.charged,
    unit: isCredit ? "credits" : "tokens",
    cost: credits,
    list_cost: exchange.listCostNano === null ? null : creditsFromNano(exchange.listCostNano),
    first_byte_ms: exchange.firstByteMs,
    total_ms: exchange.totalMs,
    attempts: exchange.attempts,
    ...labels,
    parent_agent: parentAgent,
    fallback_from: fallbackFrom,
    stepped_down_from: steppedDownFrom,
  };
}

/** `key` is the key's current state; null if unknown. */
export function exchangeDetailDocument(
  { id, record, others }: FoundExchange,
  keyOf: KeyOf,
  key: KeyView | null,
  /** The duration including the charge, which the record lacks; null if the gateway no longer has it. */
  durationMs: number | null,
  settings: Settings,
): ExchangeDetailView {
  const { exchange } = record;
  const totalMs = exchange?.totalMs ?? null;
  return {
    id,
    request: exchange && exchangeDocument(exchange, keyOf),
    explanation: explainExchange(record, key, settings),
    attempts: record.attempts.map(attemptDocument),
    settle_ms: durationMs === null || totalMs === null ? null : Math.max(0, durationMs - totalMs),
    entries: record.entries.map((entry) => entryDocument(entry, keyOf)),
    others: [...others],
  };
}

export function entryDocument(entry: Entry, keyOf: KeyOf): EntryView {
  // Entries without a key are credit of an account.
  const key = entry.keyId === null ? null : keyOf(entry.keyId);
  const isCredit = key?.mode !== "token_budget";
  return {
    id: entry.id,
    at: iso(entry.atMs),
    account_id: entry.accountId,
    key_id: entry.keyId ?? "",
    key_prefix: key?.prefix ?? "",
    key_label: key?.label ?? null,
    kind: entry.kind,
    amount: isCredit ? creditsFromNano(entry.amount) : entry.amount,
    unit: isCredit ? "credits" : "tokens",
    credits: isCredit ? creditsFromNano(entry.amount) : null,
    request_id: entry.exchangeId,
    basis: entry.basis,
    outcome: entry.outcome,
    period_start: entry.periodStartMs === 0 ? null : iso(entry.periodStartMs),
    reference: entry.reference,
    note: entry.note,
    model: entry.model,
    requested_model: entry.requestedModel ?? entry.model,
    provider: entry.provider,
    list_cost: entry.listCostNano === null ? null : creditsFromNano(entry.listCostNano),
    ...explainCharge(entry, isCredit),
  };
}

function attemptDocument(attempt: AttemptRecord): AttemptView {
  const { deployment, status, failure, cause, said, durationMs, left, denied = [] } = attempt;
  const next = left === "ended" ? null : left;
  const duration_ms = Math.round(durationMs);
  return {
    deployment,
    status,
    failure,
    cause,
    provider_message: said,
    duration_ms,
    next,
    denied: [...denied],
  };
}
