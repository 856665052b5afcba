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
  const [row] = await query<BatchRow>(statement, [
    node,
    lane,
    sequence,
    lockMs,
    rowsText(ends, endRow),
    rowsText(orders, orderRow),
    outcomesOf(ends),
    responsesOf(ends),
    rowsText(notes, progressRow),
    rowsText(ends.flatMap(attemptsOf), attemptRow),
    turnsOf(ends),
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

/** Attempts with the index of their hold's end in the batch, and their day. */
function attemptsOf({ attempts = [], charge }: HoldEnd, index: number) {
  return attempts.map((attempt) => [index + 1, utcDay(charge?.at ?? 0), attempt] as const);
}

/** The rates that a batch refers to. */
export function ratesIn(items: readonly MoneyItem[]): readonly KeptRates[] {
  return items.flatMap((item) => {
    if (item.kind === "progress") return Array.from(item.notes.values(), ({ rates }) => rates);
    return item.kind === "end" && item.end.charge !== null ? [item.end.charge.rates] : [];
  });
}

/** Outcomes of charged requests, `n` being the index in the batch; null if there are none, as in nearly all batches. */
function outcomesOf(ends: readonly HoldEnd[]): string | null {
  const outcomes = ends.flatMap(({ outcomeRecord }, index) =>
    outcomeRecord === null ? [] : [{ ...outcomeRecord, n: index + 1 }],
  );
  return outcomes.length === 0 ? null : storableJson(outcomes);
}

function responsesOf(ends: readonly HoldEnd[]): string | null {
  const responses = ends.flatMap(({ response }) => (response === null ? [] : [response]));
  return responses.length === 0 ? null : storableJson(responses);
}

function turnsOf(ends: readonly HoldEnd[]): string | null {
  const turns = ends.flatMap(({ turns: kept = [] }) => kept);
  return turns.length === 0 ? null : storableJson(turns);
}
