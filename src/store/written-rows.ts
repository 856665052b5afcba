import {
  cacheSavingsNano,
  type Quantities,
  type Rates,
  readRates,
  type StoredRates,
} from "../base/money/rates.ts";
import type { Usage } from "../base/usage/usage.ts";
import type { ChargeEntry, OutcomeRecord, StoredResponse, UsageRecord } from "./records.ts";

/** Rows by column name, as both databases write them. */

type Value = string | number | boolean | null;
type Row = Readonly<Record<string, Value>>;

/** Fields that an overrun does not have: the charge before it has them. */
const ofChargesOnly = {
  list_cost_nano: null,
  cache_savings_nano: null,
  asked_model: null,
  rates_id: null,
  quantities: null,
};

/** Only for charges with a usage record. */
const ofUsageOnly = {
  recorded_at_ms: null,
  upstream_model: null,
  stream: null,
  status: null,
  input_tokens: null,
  cached_input_tokens: null,
  cache_write_tokens: null,
  output_tokens: null,
  reasoning_tokens: null,
  cost_nano: null,
  first_byte_ms: null,
  total_ms: null,
  attempts: null,
};

/** The columns of `entryRows`. */
export const entryColumns: readonly string[] = [
  ...["kind", "amount", "at_ms", "period_start_ms", "counted_at_ms", "exchange_id", "basis", "outcome"],
  ...["route", "model", "provider", "labels"],
  ...Object.keys(ofChargesOnly),
  ...Object.keys(ofUsageOnly),
];

/** A charge with its usage record, then the amounts owed above caps and those not charged, without the key and the account. */
export function entryRows(charge: ChargeEntry, record: UsageRecord | null): readonly [Row, ...Row[]] {
  const common = {
    at_ms: charge.atMs,
    period_start_ms: charge.periodStartMs,
    counted_at_ms: charge.countedAtMs,
    exchange_id: charge.exchangeId,
    basis: charge.basis,
    outcome: charge.outcome,
    route: record?.route ?? null,
    model: record?.model ?? charge.model,
    provider: record?.provider ?? charge.provider,
    labels: charge.labels,
  };
  const rows: [Row, ...Row[]] = [
    {
      kind: "charge",
      amount: charge.owed - charge.charged,
      ...common,
      list_cost_nano: charge.listCostNano,
      cache_savings_nano: record && savingsColumn(charge.rates, charge.quantities),
      asked_model: charge.requestedModel,
      rates_id: charge.rates?.id ?? null,
      quantities: quantitiesColumn(charge.quantities, record?.usage ?? null),
      ...(record === null ? ofUsageOnly : usageRow(record)),
    },
  ];
  for (const amount of [-charge.owed, charge.overrun]) {
    if (amount !== 0) rows.push({ kind: "overrun", amount, ...common, ...ofChargesOnly, ...ofUsageOnly });
  }
  return rows;
}

function usageRow({ usage, ...record }: UsageRecord): Record<keyof typeof ofUsageOnly, Value> {
  return {
    recorded_at_ms: record.atMs,
    upstream_model: record.upstreamModel,
    stream: record.stream,
    status: record.status,
    input_tokens: usage.inputTokens,
    cached_input_tokens: usage.cachedInputTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    output_tokens: usage.outputTokens,
    reasoning_tokens: usage.reasoningTokens,
    cost_nano: record.costNano,
    first_byte_ms: msColumn(record.firstByteMs),
    total_ms: msColumn(record.totalMs),
    attempts: record.attempts,
  };
}

/** The columns of `exchange_endings`, except the key and the charge. */
const ofOutcome: Readonly<Record<string, (record: OutcomeRecord) => Value>> = {
  exchange_id: ({ exchangeId }) => exchangeId,
  at_ms: ({ atMs }) => atMs,
  started_at_ms: ({ startedAtMs }) => startedAtMs,
  route: ({ route }) => route,
  model: ({ model }) => model,
  provider: ({ provider }) => provider,
  upstream_model: ({ upstreamModel }) => upstreamModel,
  stream: ({ stream }) => stream,
  outcome: ({ outcome }) => outcome,
  status: ({ status }) => status,
  code: ({ code }) => code,
  message: ({ message }) => message,
  first_byte_ms: ({ firstByteMs }) => msColumn(firstByteMs),
  total_ms: ({ totalMs }) => msColumn(totalMs),
  attempts: ({ attempts }) => attempts,
  attempt_details: ({ attemptDetails }) =>
    attemptDetails.length === 0 ? null : JSON.stringify(attemptDetails),
  alike: ({ alike }) => alike,
  labels: ({ labels }) => labels,
  bound: ({ bound }) => bound,
  needed: ({ needed }) => needed,
};

export const outcomeColumns: readonly string[] = Object.keys(ofOutcome);

export function outcomeRow(record: OutcomeRecord): Row {
  return Object.fromEntries(Object.entries(ofOutcome).map(([column, of]) => [column, of(record)]));
}

/** The columns of a stored response, except its key and its body. */
export function responseRow(response: StoredResponse) {
  return {
    route: response.route,
    idempotency_key: response.idempotencyKey,
    body_hash: response.bodyHash,
    status: response.status,
    headers: JSON.stringify(response.headers),
    stored_at_ms: response.storedAtMs,
    recording_id: response.recording?.id ?? null,
    parts: response.recording?.parts ?? 0,
    bytes: response.body.length + (response.recording?.bytes ?? 0),
  };
}

/** The usage columns that most charges are computed from. */
type PlainUsage = Pick<Usage, "inputTokens" | "cachedInputTokens" | "cacheWriteTokens" | "outputTokens">;

/** The column's value: JSON, or null if the usage record implies the quantities, as for nearly all charges. */
export function quantitiesColumn(quantities: Quantities | null, usage: PlainUsage | null): string | null {
  if (quantities === null) return null;
  return usage !== null && isSameStatement(usage, quantities) ? null : JSON.stringify(quantities);
}

/** Reads the column's value. `usage` is null without a usage record. */
export function quantitiesOf(column: string | null, usage: PlainUsage | null): Quantities | null {
  if (column !== null) return JSON.parse(column) as Quantities;
  if (usage === null) return null;
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens } = usage;
  return {
    ...(inputTokens === 0 ? {} : { input: inputTokens }),
    ...(cachedInputTokens === 0 ? {} : { cached_input: cachedInputTokens }),
    ...(cacheWriteTokens === 0 ? {} : { cache_write: cacheWriteTokens }),
    ...(outputTokens === 0 ? {} : { output: outputTokens }),
  };
}

function isSameStatement(usage: PlainUsage, quantities: Quantities): boolean {
  for (const name in quantities) {
    if (name !== "input" && name !== "cached_input" && name !== "cache_write" && name !== "output")
      return false;
  }
  const { input = 0, cached_input = 0, cache_write = 0, output = 0 } = quantities;
  return (
    input === usage.inputTokens &&
    cached_input === usage.cachedInputTokens &&
    cache_write === usage.cacheWriteTokens &&
    output === usage.outputTokens
  );
}

const maxKnownRates = 1000;
const knownRates = new Map<number, Rates>();

/** The amount that caching saved; null if nothing was cached. */
export function savingsColumn(rates: StoredRates | null, quantities: Quantities | null): number | null {
  if (rates === null || quantities === null) return null;
  for (const name in quantities) {
    if (name.includes("cache")) return cacheSavingsNano(ratesOf(rates), quantities);
  }
  return null;
}

function ratesOf({ id, text }: StoredRates): Rates {
  const known = knownRates.get(id);
  if (known !== undefined) return known;
  const rates = readRates(text);
  if (knownRates.size >= maxKnownRates) knownRates.clear();
  knownRates.set(id, rates);
  return rates;
}

/** A duration is stored in whole milliseconds. */
function msColumn(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms);
}
