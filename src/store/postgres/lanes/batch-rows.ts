import { type AttemptSums, attemptTotalNames } from "../../attempt-sums.ts";
import type { ProducedSoFar } from "../../node.ts";
import { columnOf } from "../../reporting/total-columns.ts";
import type { BookedCharge, OpenedHold } from "../../shared-batch.ts";
import { entryRows, outcomeRow } from "../../written-rows.ts";

/** The rows of a batch, by column name. What is undefined is not sent, and NULL. */
type Row = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** A charge, and what was charged above the hold or not at all. */
export function entriesOf({ item, keyNo, accountNo, openedAtMs, late }: BookedCharge) {
  const place = { month: monthOf(openedAtMs), account_no: accountNo, key_no: keyNo };
  const [charge, ...overruns] = entryRows(item.charge, item.record);
  const note = late === undefined ? null : "charged late, after another node took over";
  return [{ ...charge, note, completes: late?.completes }, ...overruns].map((row) => ({ ...row, ...place }));
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
