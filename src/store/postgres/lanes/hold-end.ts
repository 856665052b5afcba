import { asBuffer } from "../../../base/bytes.ts";
import type { KeptRates } from "../../../base/money/rates.ts";
import { totalInput } from "../../../base/usage/usage.ts";
import { type AttemptCount, attemptTotalNames } from "../../attempt-sums.ts";
import type { ChargeOrder, ChargeResult } from "../../node.ts";
import type { StoredResponse, TurnRecord, UsageRecord } from "../../records.ts";
import { msColumn, quantitiesColumn, savingsColumn } from "../../stored-columns.ts";
import { outcomeRow, responseRow } from "../../written-rows.ts";
import { numberAt } from "./number-at.ts";
import { type Field, rowText } from "./row-text.ts";

/** The end of a hold, in the form that the database takes. Plain JSON, because it may be kept in a file. */
export interface HoldEnd {
  readonly id: string;
  readonly key: string;
  /** Null for a release. */
  readonly charge: HoldCharge | null;
  readonly outcomeRecord: Readonly<Record<string, Field>> | null;
  readonly response: ReturnType<typeof storedRow> | null;
  readonly attempts?: readonly AttemptCount[] | undefined;
  readonly turns?: readonly TurnColumns[] | undefined;
}

interface HoldCharge {
  readonly at: number;
  readonly rates: KeptRates;
  /** In the order of `sluice_hold_end`'s columns. */
  readonly columns: readonly Field[];
}

type TurnColumns = Readonly<Record<string, Field | readonly string[]>>;

/** The usage record. Only the waived part of the cost follows it in a row. */
const noRecord: readonly Field[] = new Array<Field>(15).fill(null);
/** A release has only its id. */
const noCharge: readonly Field[] = [...new Array<Field>(16).fill(null), ...noRecord, null];

/** A row of `sluice_hold_end`. */
export function endRow({ id, charge }: HoldEnd): string {
  return rowText(charge?.columns ?? [id, ...noCharge]);
}

/** A row of `sluice_attempt`. */
export function attemptRow([n, day, attempt]: readonly [number, number, AttemptCount]): string {
  const { provider, credential, upstreamModel, outcome } = attempt;
  const fields: Field[] = [n, provider, day, credential, upstreamModel, outcome];
  for (const name of attemptTotalNames) fields.push(attempt[name]);
  return rowText(fields);
}

const numbersPerCharge = 3;
/** The result for progress and releases, which charge nothing. */
export const nothingCharged: ChargeResult = { charged: 0, overrun: 0 };

/** The node was taken over, and another request has the claim now: this one is not charged and must not be delivered. */
export const superseded = { isSuperseded: true } as const;
export type EndResult = ChargeResult | typeof superseded;

/** In the order of sending. The database returns nothing for a release. */
export function chargesOf(count: number, numbers: ArrayLike<number> | null): EndResult[] {
  const charges = new Array<EndResult>(count).fill(nothingCharged);
  const end = numbers?.length ?? 0;
  for (let at = 0; numbers !== null && at < end; at += numbersPerCharge) {
    const place = numberAt(numbers, at) - 1;
    const charged = numberAt(numbers, at + 1);
    charges[place] = charged < 0 ? superseded : { charged, overrun: numberAt(numbers, at + 2) };
  }
  return charges;
}

export function releaseOf(holdId: string, keyId: string): HoldEnd {
  return { id: holdId, key: keyId, charge: null, outcomeRecord: null, response: null };
}

export function endOf(order: ChargeOrder): HoldEnd {
  const { holdId: id, keyId: key, record, outcomeRecord, response, rates, quantities } = order;
  return {
    id,
    key,
    charge: {
      at: order.atMs,
      rates: { id: rates.id, text: rates.text },
      columns: [
        ...[id, key, order.accountNo, order.openedAtMs, order.periodStartMs, order.countedAtMs],
        ...[order.cost, order.atMs],
        ...[order.basis, order.outcome, order.listCostNano],
        ...[record?.model ?? order.model, record?.provider ?? order.provider],
        ...[
          rates.id,
          quantitiesColumn(quantities, record?.usage ?? null),
          order.requestedModel,
          order.labels,
        ],
        ...(record === null ? noRecord : recordColumns(record, savingsColumn(rates, quantities))),
        order.waived ?? null,
      ],
    },
    outcomeRecord: outcomeRecord && outcomeRow(outcomeRecord),
    response: response && storedRow(id, response),
    attempts: order.attempts,
    turns: order.turns?.map(turnOf),
  };
}

function recordColumns(record: UsageRecord, savedNano: number | null): readonly Field[] {
  const { usage } = record;
  return [
    ...[record.atMs, record.route, record.upstreamModel, record.stream, record.status],
    ...[usage.inputTokens, usage.cachedInputTokens, usage.cacheWriteTokens, totalInput(usage)],
    ...[usage.outputTokens, usage.reasoningTokens],
    ...[msColumn(record.firstByteMs), msColumn(record.totalMs), record.attempts, savedNano],
  ];
}

/** Its first columns identify the claim that it ends. */
function storedRow(id: string, response: StoredResponse) {
  return { id, key: response.keyId, ...responseRow(response), body: base64(response.body) };
}

function base64(bytes: Uint8Array): string {
  return asBuffer(bytes).toString("base64");
}

/** A turn in the form that `sluice_keep_turns` takes. */
export function turnOf(turn: TurnRecord): TurnColumns {
  return {
    key: turn.keyId,
    id: turn.id,
    parent: turn.parentId,
    model: turn.model,
    provider: turn.provider,
    created: turn.createdAtMs,
    expires: turn.expiresAtMs,
    bytes: turn.bytes,
    items: turn.items,
    recording_id: turn.recording?.id ?? null,
    parts: turn.recording?.parts ?? 0,
    body: base64(turn.body),
    request: turn.request === undefined ? null : base64(turn.request),
    key_bytes: turn.keyBytes,
    replaces: turn.replaces ?? null,
  };
}
