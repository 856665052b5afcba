import type { ChargeEntry, OutcomeRecord, StoredResponse, UsageRecord } from "./records.ts";
import { msColumn, quantitiesColumn, savingsColumn } from "./stored-columns.ts";

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
