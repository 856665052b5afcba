import { assert } from "../../../src/base/assert.ts";
import { type ChainedRow, type ChainPlace, entryHash } from "../../../src/base/money/chain.ts";
import { totalInput } from "../../../src/base/usage/usage.ts";
import type { PostgresClient, Query } from "../../../src/store/postgres/client.ts";
import { turnOf } from "../../../src/store/postgres/lanes/hold-end.ts";
import { RatesKeeper } from "../../../src/store/postgres/node/rates-keeper.ts";
import type { OutcomeRecord, StoredResponse } from "../../../src/store/store.ts";
import { withoutRequest } from "../../../src/store/tables/chained-entry.ts";
import { quantitiesColumn, responseRow, savingsColumn } from "../../../src/store/written-rows.ts";
import type { SettleItem } from "../fixtures.ts";

/** Writes the given charges in one transaction, as if the accounts had decided them. */
export async function bookCharges(client: PostgresClient, items: readonly SettleItem[]): Promise<void> {
  await new RatesKeeper(client.query).keep(items.flatMap(({ charge }) => charge.rates ?? []));
  return client.transaction(async (query) => {
    for (const item of items) await book(query, item);
  });
}

interface BookedEntry {
  readonly id: number;
  readonly month: number;
}

async function book(
  query: Query,
  { charge, record, response, outcomeRecord, turns }: SettleItem,
): Promise<void> {
  const [found] = await query<{ no: number; accountNo: number }>(
    'SELECT no, account_no AS "accountNo" FROM keys WHERE id = $1',
    [charge.keyId],
  );
  assert(found !== undefined, `there is no key ${charge.keyId}`);
  const common = {
    route: record?.route ?? null,
    account_no: found.accountNo,
    key_no: found.no,
    at_ms: charge.atMs,
    period_start_ms: charge.periodStartMs,
    exchange_id: charge.exchangeId,
    basis: charge.basis,
    outcome: charge.outcome,
    model: charge.model,
    provider: charge.provider,
  };
  const saved = savingsColumn(charge.rates, charge.quantities);
  const recorded =
    record === null ? {} : { ...columnsOf(record), cost_nano: record.costNano, cache_savings_nano: saved };
  const { accountId, keyId } = charge;
  const owner = { accountId, keyId };
  const entry = await insert(query, owner, {
    ...common,
    kind: "charge",
    amount: charge.owed - charge.charged,
    list_cost_nano: charge.listCostNano,
    ...recorded,
    rates_id: charge.rates?.id ?? null,
    quantities: quantitiesColumn(charge.quantities, record?.usage ?? null),
    asked_model: charge.requestedModel,
    labels: charge.labels,
  });
  if (charge.owed > 0) await insert(query, owner, { ...common, kind: "overrun", amount: -charge.owed });
  if (charge.overrun > 0) await insert(query, owner, { ...common, kind: "overrun", amount: charge.overrun });
  await query(updateAccount, [found.accountNo, charge.charged, charge.periodStartMs]);
  await query(updateKey, [
    found.no,
    charge.charged,
    Math.floor(charge.atMs / 86_400_000),
    record === null ? 0 : 1,
    record === null ? 0 : totalInput(record.usage),
    record?.usage.outputTokens ?? 0,
    record?.costNano ?? null,
  ]);
  if (outcomeRecord !== null) await insertOutcome(query, found.no, outcomeRecord, entry);
  if (response !== null) await insertResponse(query, found.no, response);
  if (turns !== undefined) {
    await query("SELECT sluice_keep_turns($1::text::json)", [JSON.stringify(turns.map(turnOf))]);
  }
}

function columnsOf(
  record: NonNullable<SettleItem["record"]>,
): Record<string, string | number | boolean | null> {
  const { usage } = record;
  return {
    recorded_at_ms: record.atMs,
    route: record.route,
    model: record.model,
    provider: record.provider,
    upstream_model: record.upstreamModel,
    stream: record.stream,
    status: record.status,
    input_tokens: usage.inputTokens,
    cached_input_tokens: usage.cachedInputTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    output_tokens: usage.outputTokens,
    reasoning_tokens: usage.reasoningTokens,
    first_byte_ms: record.firstByteMs === null ? null : Math.round(record.firstByteMs),
    total_ms: Math.round(record.totalMs),
    attempts: record.attempts,
  };
}

async function insert(
  query: Query,
  owner: Pick<ChainPlace, "accountId" | "keyId">,
  row: Pick<ChainedRow, "kind" | "amount" | "at_ms"> & Partial<ChainedRow>,
): Promise<BookedEntry> {
  await query("SELECT no FROM accounts WHERE id = $1 FOR NO KEY UPDATE", [owner.accountId]);
  await query("LOCK TABLE ONLY entries IN ROW EXCLUSIVE MODE");
  const [place] = await query<{ id: number; previous: string | null }>(
    `SELECT nextval('entries_id_seq')::float8 AS id, chain_hash AS previous FROM accounts WHERE id = $1`,
    [owner.accountId],
  );
  assert(place !== undefined, `there is no account ${owner.accountId}`);
  const { id, previous } = place;
  const hash = entryHash(previous, { id, ...owner }, { ...withoutRequest, ...row });
  await query("UPDATE accounts SET chain_hash = $1 WHERE id = $2", [hash, owner.accountId]);
  const columns = { id, hash, ...row };
  const names = Object.keys(columns);
  const [entry] = await query<BookedEntry>(
    `INSERT INTO entries (month, ${names.join(", ")})
    SELECT sluice_month(at_ms), ${names.join(", ")} FROM json_populate_record(NULL::entries, $1::text::json)
    RETURNING id::float8 AS id, month`,
    [JSON.stringify(columns)],
  );
  assert(entry !== undefined, "a new entry has an id");
  return entry;
}

async function insertOutcome(
  query: Query,
  keyNo: number,
  outcomeRecord: OutcomeRecord,
  { id, month }: BookedEntry,
): Promise<void> {
  await query(
    `INSERT INTO exchange_endings (exchange_id, key_no, at_ms, started_at_ms, route, model, provider, upstream_model,
      stream, outcome, status, code, message, first_byte_ms, total_ms, attempts, attempt_details, alike, entry_id,
      entry_month, labels)
    VALUES ($1, $2::int, $3::int8, $4::int8, $5, $6, $7, $8, $9::bool, $10, $11::int, $12, $13, $14::int8, $15::int8,
      $16::int, $17, $18::int, $19::int8, $20::int, $21)`,
    [
      outcomeRecord.exchangeId,
      keyNo,
      outcomeRecord.atMs,
      outcomeRecord.startedAtMs,
      outcomeRecord.route,
      outcomeRecord.model,
      outcomeRecord.provider,
      outcomeRecord.upstreamModel,
      outcomeRecord.stream,
      outcomeRecord.outcome,
      outcomeRecord.status,
      outcomeRecord.code,
      outcomeRecord.message,
      outcomeRecord.firstByteMs === null ? null : Math.round(outcomeRecord.firstByteMs),
      outcomeRecord.totalMs === null ? null : Math.round(outcomeRecord.totalMs),
      outcomeRecord.attempts,
      outcomeRecord.attemptDetails.length === 0 ? null : JSON.stringify(outcomeRecord.attemptDetails),
      outcomeRecord.alike,
      id,
      month,
      outcomeRecord.labels,
    ],
  );
}

async function insertResponse(query: Query, keyNo: number, response: StoredResponse): Promise<void> {
  await query(
    `INSERT INTO responses (key_no, route, idempotency_key, body_hash, status, headers, stored_at_ms, recording_id,
      parts, body, bytes)
    VALUES ($1::int, $2, $3, $4, $5::int, $6, $7::int8, $8, $9::int, $10, $11::int8)`,
    [
      keyNo,
      response.route,
      response.idempotencyKey,
      response.bodyHash,
      response.status,
      JSON.stringify(response.headers),
      response.storedAtMs,
      response.recording?.id ?? null,
      response.recording?.parts ?? 0,
      response.body,
      responseRow(response).bytes,
    ],
  );
}

const updateAccount = `
UPDATE accounts SET
  posted = posted - $2::int8,
  used = used + $2::int8,
  period_used = CASE WHEN $3::int8 = period_start_ms THEN period_used + $2::int8
    WHEN $3::int8 > period_start_ms THEN $2::int8 ELSE period_used END,
  period_start_ms = greatest(period_start_ms, $3::int8)
WHERE no = $1::int`;

const updateKey = `
UPDATE key_sums SET
  spent = spent + $2::int8,
  day_spend = CASE WHEN $3::int = day THEN day_spend + $2::int8 WHEN $3::int > day THEN $2::int8 ELSE day_spend END,
  day = greatest(day, $3::int),
  requests = requests + $4::int,
  input_tokens = input_tokens + $5::int8,
  output_tokens = output_tokens + $6::int8,
  last_cost_nano = coalesce($7::int8, last_cost_nano)
WHERE key_no = $1::int`;
