import { assert } from "../../../base/assert.ts";
import { utcDay } from "../../../base/clock.ts";
import type { KeptRates } from "../../../base/money/rates.ts";
import type { HoldOrder, HoldVerdict, ProducedSoFar } from "../../node.ts";
import type { Query } from "../client.ts";
import { storableJson } from "../text.ts";
import { attemptRow, chargesOf, type EndResult, endRow, type HoldEnd, nothingCharged } from "./hold-end.ts";
import { orderRow, verdictsOf } from "./hold-order.ts";
import { rowsText, rowText } from "./row-text.ts";

/** The progress of holds. Can be added to until it is first sent. */
export interface HoldProgressItem {
  readonly kind: "progress";
  readonly notes: ReadonlyMap<string, ProducedSoFar>;
}

export type MoneyItem =
  | { readonly kind: "hold"; readonly order: HoldOrder }
  | { readonly kind: "end"; readonly end: HoldEnd }
  | HoldProgressItem;

export type MoneyAnswer = HoldVerdict | EndResult;

interface BatchRow {
  readonly charges: ArrayLike<number> | null;
  readonly verdicts: ArrayLike<number> | null;
}

const statement = `SELECT charges, verdicts FROM sluice_do_batch($1, $2, $3, $4, $5::sluice_hold_end[], $6::sluice_hold_order[],
  $7::text::json, $8::text::json, $9::sluice_progress[], $10::sluice_attempt[], $11::text::json)`;

const defaultLockMs = 500;

/** Ends holds before opening others, so that these can use what was reserved. Waits for locked accounts up to `lockMs`. */
export async function sendMoney(
  query: Query,
  [node, lane, sequence]: readonly [number, number, number],
  items: readonly MoneyItem[],
  lockMs = defaultLockMs,
): Promise<readonly MoneyAnswer[]> {
  const ends: HoldEnd[] = [];
  const orders: HoldOrder[] = [];
  const notes: (readonly [string, ProducedSoFar])[] = [];
  for (const item of items) {
    if (item.kind === "hold") orders.push(item.order);
    else if (item.kind === "end") ends.push(item.end);
    else notes.push(...item.notes);
  }
  const { attempts, outcomes, responses, turns } = recordsOf(ends);
  const [row] = await query<BatchRow>(statement, [
    node,
    lane,
    sequence,
    lockMs,
    rowsText(ends, endRow),
    rowsText(orders, orderRow),
    jsonText(outcomes),
    jsonText(responses),
    rowsText(notes, progressRow),
    rowsText(attempts, attemptRow),
    jsonText(turns),
  ]);
  assert(row !== undefined, "sluice_do_batch returns a row");
  const charges = chargesOf(ends.length, row.charges);
  const verdicts = verdictsOf(orders.length, row.verdicts);
  let [nextCharge, nextVerdict] = [0, 0];
  return items.map(({ kind }) => {
    if (kind === "progress") return nothingCharged;
    const answer = kind === "hold" ? verdicts[nextVerdict++] : charges[nextCharge++];
    assert(answer !== undefined, "the database answers every item of a batch");
    return answer;
  });
}

/** A row of `sluice_progress`. */
function progressRow([id, { cost, rates, quantities, served }]: readonly [string, ProducedSoFar]): string {
  const by = served === undefined ? null : JSON.stringify(served);
  return rowText([id, cost, rates.id, JSON.stringify(quantities), by]);
}

/** What the ends of a batch write besides their charges. `n` is an end's index in the batch, from 1. */
function recordsOf(ends: readonly HoldEnd[]) {
  const attempts: Parameters<typeof attemptRow>[0][] = [];
  const outcomes: object[] = [];
  const responses: object[] = [];
  const turns: object[] = [];
  let n = 0;
  for (const end of ends) {
    n += 1;
    if (end.attempts !== undefined) {
      const day = utcDay(end.charge?.at ?? 0);
      for (const attempt of end.attempts) attempts.push([n, day, attempt]);
    }
    if (end.outcomeRecord !== null) outcomes.push({ ...end.outcomeRecord, n });
    if (end.response !== null) responses.push(end.response);
    if (end.turns !== undefined) turns.push(...end.turns);
  }
  return { attempts, outcomes, responses, turns };
}

/** Null if there are none, as in nearly all batches. */
function jsonText(records: readonly object[]): string | null {
  return records.length === 0 ? null : storableJson(records);
}

/** The rates that a batch refers to. */
export function ratesIn(items: readonly MoneyItem[]): readonly KeptRates[] {
  const all: KeptRates[] = [];
  for (const item of items) {
    if (item.kind === "progress") for (const { rates } of item.notes.values()) all.push(rates);
    else if (item.kind === "end" && item.end.charge !== null) all.push(item.end.charge.rates);
  }
  return all;
}
