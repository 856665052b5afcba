import type { OutcomeRecord, StoredResponse } from "./records.ts";
import { msColumn } from "./stored-columns.ts";

/** Rows by column name, as both databases write them. */

type Value = string | number | boolean | null;

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

export function outcomeRow(record: OutcomeRecord): Readonly<Record<string, Value>> {
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
