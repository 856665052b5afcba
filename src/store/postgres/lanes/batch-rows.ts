import { type AttemptSums, attemptTotalNames } from "../../attempt-sums.ts";
import type { ProducedSoFar } from "../../node.ts";
import type { UsageRecord } from "../../records.ts";
import { columnOf } from "../../reporting/total-columns.ts";
import type { BookedCharge, OpenedHold } from "../../shared-batch.ts";
import { msColumn, quantitiesColumn, savingsColumn } from "../../stored-columns.ts";
import { outcomeRow } from "../../written-rows.ts";

/** The rows of a batch, by column name. What is undefined is not sent, and NULL. */
type Row = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** A charge, and what is owed above caps or was not charged. */
export function entryRows(booked: BookedCharge): readonly Row[] {
  const { item, keyNo, accountNo, openedAtMs, late } = booked;
  const { charge, record } = item;
  const about: Row = {
    month: monthOf(openedAtMs),
    account_no: accountNo,
    key_no: keyNo,
    at_ms: charge.atMs,
    period_start_ms: charge.periodStartMs,
    counted_at_ms: charge.countedAtMs,
    exchange_id: charge.exchangeId,
    basis: charge.basis,
    outcome: charge.outcome,
    route: record?.route ?? null,
    model: record?.model ?? charge.model,
    provider: record?.provider ?? charge.provider,
    labels: charge.labels ?? undefined,
  };
  const rows: Row[] = [
    {
      ...about,
      kind: "charge",
      amount: charge.owed - charge.charged,
      list_cost_nano: charge.listCostNano ?? undefined,
      asked_model: charge.requestedModel ?? undefined,
      rates_id: charge.rates?.id ?? null,
      quantities: quantitiesColumn(charge.quantities, record?.usage ?? null) ?? undefined,
      ...(record && recordRow(record)),
      cache_savings_nano: (record && savingsColumn(charge.rates, charge.quantities)) ?? undefined,
      ...(late && { note: "charged late: the node had been taken over", completes: late.completes }),
    },
  ];
  if (charge.owed > 0) rows.push({ ...about, kind: "overrun", amount: -charge.owed });
  if (charge.overrun > 0) rows.push({ ...about, kind: "overrun", amount: charge.overrun });
  return rows;
}

function recordRow(record: UsageRecord): Row {
  const { usage } = record;
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

/** How a charged exchange ended; none for one that simply completed. For a late charge, the takeover wrote it. */
export function endingRows({ item, keyNo, openedAtMs, late }: BookedCharge): readonly Row[] {
  const { outcomeRecord } = item;
  if (outcomeRecord === null || late !== undefined) return [];
  return [{ ...outcomeRow(outcomeRecord), key_no: keyNo, entry_month: monthOf(openedAtMs) }];
}

export function holdRow(hold: OpenedHold): Row {
  return {
    id: hold.id,
    account_no: hold.accountNo,
    key_no: hold.keyNo,
    amount: hold.amount,
    period_start_ms: hold.periodStartMs,
    counted_at_ms: hold.countedAtMs,
    opened_at_ms: hold.openedAtMs,
    model: hold.model,
    asked_model: hold.requestedModel ?? undefined,
    labels: hold.labels ?? undefined,
    is_in_flight: hold.isInFlight,
  };
}

export function progressRow([id, soFar]: readonly [string, ProducedSoFar]): Row {
  const { cost, rates, quantities, served } = soFar;
  return {
    id,
    charge_so_far: cost,
    rates_id: rates.id,
    quantities: JSON.stringify(quantities),
    served: served === undefined ? null : JSON.stringify(served),
  };
}

export function attemptRow(sums: AttemptSums): Row {
  const { provider, day, credential, upstreamModel, outcome } = sums;
  const totals = attemptTotalNames.map((name) => [columnOf(name), sums[name]] as const);
  return {
    provider,
    day,
    credential,
    upstream_model: upstreamModel,
    ending: outcome,
    ...Object.fromEntries(totals),
  };
}

/** Months since 1970, UTC, as `sluice_month`. */
function monthOf(ms: number): number {
  const date = new Date(ms);
  return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth();
}
