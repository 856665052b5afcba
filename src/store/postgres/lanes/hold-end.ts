import type { KeptRates } from "../../../base/rates.ts";
import { totalInput } from "../../../base/usage.ts";
import { type AttemptCount, attemptFigureNames } from "../../attempt-sums.ts";
import type { Charged, ChargeOrder } from "../../node.ts";
import type { ExchangeEnding, StoredResponse, TurnRecord } from "../../records.ts";
import { quantitiesColumn, savingsColumn } from "../../stored-quantities.ts";
import { figureAt } from "./figure-at.ts";
import { type Field, plainField, textField } from "./row-text.ts";

/** What ends a hold, as the database takes it. Plain JSON, because it may have to be kept in a file. */
export interface HoldEnd {
  readonly id: string;
  readonly key: string;
  /** Null for a release. */
  readonly charge: ChargeColumns | null;
  readonly ending: Columns | null;
  readonly response: ResponseColumns | null;
  /** Absent in what an earlier build has kept in its file. */
  readonly attempts?: readonly AttemptCount[] | undefined;
  readonly turns?: readonly TurnColumns[] | undefined;
}

interface Columns {
  readonly [name: string]: Field;
}

type TurnColumns = Readonly<Record<string, Field | readonly string[]>>;

/** The claim that it ends is found by these. */
interface ResponseColumns extends Columns {
  readonly key: string;
  readonly route: string;
  readonly idempotency_key: string;
}

/** By the names of `sluice_hold_end`'s columns. Those from `recorded` on are the usage record. */
interface ChargeColumns {
  readonly id: string;
  readonly key: string;
  readonly opened: number;
  readonly period: number;
  /** Absent in what an earlier build has kept in its file. */
  readonly counted?: number | undefined;
  readonly cost: number;
  readonly at: number;
  readonly basis: string;
  readonly outcome: string;
  readonly list_cost: number | null;
  readonly model: string;
  readonly provider: string;
  readonly rates: KeptRates;
  /** JSON; null where the usage record says the same. */
  readonly quantities: string | null;
  readonly asked: string | null;
  /** Absent in what an earlier build has kept in its file. */
  readonly labels?: string | null;
  readonly recorded?: number | undefined;
  readonly route?: string | undefined;
  readonly upstream_model?: string | undefined;
  readonly stream?: boolean | undefined;
  readonly status?: number | undefined;
  readonly uncached?: number | undefined;
  readonly cached?: number | undefined;
  readonly cache_write?: number | undefined;
  readonly input?: number | undefined;
  readonly output?: number | undefined;
  readonly reasoning?: number | undefined;
  readonly first_byte?: number | null | undefined;
  readonly total?: number | null | undefined;
  readonly attempts?: number | undefined;
  readonly saved?: number | null | undefined;
}

const columnsOfRecord = 15;
const columnsAfterId = 15 + columnsOfRecord;

/** A row of `sluice_hold_end`. */
export function endRow({ id, charge }: HoldEnd): string {
  if (charge === null) return `(${textField(id)}${",".repeat(columnsAfterId)})`;
  const {
    key,
    opened,
    period,
    counted = opened,
    cost,
    at,
    basis,
    outcome,
    list_cost,
    model,
    provider,
  } = charge;
  const { rates, quantities, asked, labels = null } = charge;
  const paid =
    `(${textField(id)},${textField(key)},${opened},${period},${counted},${cost},${at},${textField(basis)},${textField(outcome)},` +
    `${plainField(list_cost)},${textField(model)},${textField(provider)},` +
    `${rates.id},${textField(quantities)},${textField(asked)},${textField(labels)}`;
  return charge.recorded === undefined
    ? `${paid}${",".repeat(columnsOfRecord)})`
    : `${paid},${recordFields(charge)})`;
}

function recordFields(charge: ChargeColumns): string {
  const { recorded, route = "", upstream_model = "", stream, status, uncached, cached, cache_write } = charge;
  const { input, output, reasoning, first_byte, total, attempts, saved } = charge;
  return (
    `${recorded},${textField(route)},${textField(upstream_model)},${stream},${status},${uncached},${cached},${cache_write},` +
    `${input},${output},${reasoning},${plainField(first_byte)},${plainField(total)},${attempts},${plainField(saved)}`
  );
}

/** A row of `sluice_attempt`. */
export function attemptRow([n, day, attempt]: readonly [number, number, AttemptCount]): string {
  const { provider, credential, upstreamModel, ending } = attempt;
  const figures = attemptFigureNames.map((name) => attempt[name]).join(",");
  return `(${n},${quoted(provider)},${day},${quoted(credential)},${quoted(upstreamModel)},${ending},${figures})`;
}

/** Nothing at all would be NULL. */
function quoted(text: string): string {
  return text === "" ? '\\"\\"' : textField(text);
}

const figuresPerCharge = 3;
/** For progress and releases, which charge nothing. */
export const nothingCharged: Charged = { charged: 0, overrun: 0 };

/** The node was taken over, and another exchange answers what this one should have: it is not charged, and must not be delivered. */
export const superseded = { isSuperseded: true } as const;
export type Ended = Charged | typeof superseded;

/** In the order in which they were sent. The database says nothing about a release. */
export function chargesOf(count: number, figures: ArrayLike<number> | null): Ended[] {
  const charges = new Array<Ended>(count).fill(nothingCharged);
  const end = figures?.length ?? 0;
  for (let at = 0; figures !== null && at < end; at += figuresPerCharge) {
    const place = figureAt(figures, at) - 1;
    const charged = figureAt(figures, at + 1);
    charges[place] = charged < 0 ? superseded : { charged, overrun: figureAt(figures, at + 2) };
  }
  return charges;
}

export function releaseOf(holdId: string, keyId: string): HoldEnd {
  return { id: holdId, key: keyId, charge: null, ending: null, response: null };
}

export function endOf(order: ChargeOrder): HoldEnd {
  const { holdId, record, ending, response, turns } = order;
  const usage = record?.usage;
  return {
    id: holdId,
    key: order.keyId,
    charge: {
      id: holdId,
      key: order.keyId,
      opened: order.openedAtMs,
      period: order.periodStartMs,
      counted: order.countedAtMs,
      cost: order.cost,
      at: order.atMs,
      basis: order.basis,
      outcome: order.outcome,
      list_cost: order.listCostNano,
      model: record?.model ?? order.model,
      provider: record?.provider ?? order.provider,
      rates: { id: order.rates.id, text: order.rates.text },
      quantities: quantitiesColumn(order.quantities, usage ?? null),
      asked: order.askedModel,
      labels: order.labels,
      recorded: record?.atMs,
      route: record?.route,
      upstream_model: record?.upstreamModel,
      stream: record?.stream,
      status: record?.status,
      uncached: usage?.inputTokens,
      cached: usage?.cachedInputTokens,
      cache_write: usage?.cacheWriteTokens,
      input: usage && totalInput(usage),
      output: usage?.outputTokens,
      reasoning: usage?.reasoningTokens,
      first_byte: record && rounded(record.firstByteMs),
      total: record && rounded(record.totalMs),
      attempts: record?.attempts,
      saved: record && savingsColumn(order.rates, order.quantities),
    },
    ending: ending && endingOf(ending),
    response: response && responseOf(holdId, response),
    attempts: order.attempts,
    turns: turns?.map(turnOf),
  };
}

function endingOf(ending: ExchangeEnding): Columns {
  return {
    id: ending.exchangeId,
    at: ending.atMs,
    started: ending.startedAtMs,
    route: ending.route,
    model: ending.model,
    provider: ending.provider,
    upstream_model: ending.upstreamModel,
    stream: ending.stream,
    outcome: ending.outcome,
    status: ending.status,
    code: ending.code,
    message: ending.message,
    first_byte: rounded(ending.firstByteMs),
    total: rounded(ending.totalMs),
    attempts: ending.attempts,
    attempt_details: ending.attemptDetails.length === 0 ? null : JSON.stringify(ending.attemptDetails),
    alike: ending.alike,
    labels: ending.labels,
  };
}

function responseOf(exchangeId: string, response: StoredResponse): ResponseColumns {
  return {
    id: exchangeId,
    key: response.keyId,
    route: response.route,
    idempotency_key: response.idempotencyKey,
    body_hash: response.bodyHash,
    status: response.status,
    headers: JSON.stringify(response.headers),
    stored_at: response.storedAtMs,
    recording_id: response.recording?.id ?? null,
    parts: response.recording?.parts ?? 0,
    body: Buffer.from(response.body).toString("base64"),
  };
}

/** An item of what `sluice_keep_turns` takes. */
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
    body: Buffer.from(turn.body).toString("base64"),
    key_bytes: turn.keyBytes,
    replaces: turn.replaces ?? null,
  };
}

function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms);
}
