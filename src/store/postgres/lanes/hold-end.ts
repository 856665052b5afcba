import { totalInput } from "../../../base/usage.ts";
import type { Charged, ChargeOrder } from "../../node.ts";
import type { ExchangeEnding, StoredResponse, UsageRecord } from "../../records.ts";
import { figureAt } from "./figure-at.ts";
import type { Field } from "./row-text.ts";

/** What ends a hold, as the database takes it. Plain JSON, because it may have to be kept in a file. */
export interface HoldEnd {
  readonly id: string;
  /** Null for a release. */
  readonly charge: Columns | null;
  readonly ending: Columns | null;
  readonly response: Columns | null;
}

interface Columns {
  readonly [name: string]: Field;
}

/** The columns of `sluice_hold_end`, in their order. */
const columnsOfEnd = [
  "id",
  "key",
  "opened",
  "period",
  "cost",
  "at",
  "basis",
  "outcome",
  "list_cost",
  "model",
  "provider",
  "recorded",
  "route",
  "upstream_model",
  "stream",
  "status",
  "uncached",
  "cached",
  "cache_write",
  "input",
  "output",
  "reasoning",
  "first_byte",
  "total",
  "attempts",
] as const;

export function fieldsOfEnd({ id, charge }: HoldEnd): readonly Field[] {
  const columns: Columns = charge ?? { id };
  return columnsOfEnd.map((name) => columns[name] ?? null);
}

const figuresPerCharge = 3;
/** For progress and releases, which charge nothing. */
export const nothingCharged: Charged = { charged: 0, overrun: 0 };

/** In the order in which they were sent. The database says nothing about a release. */
export function chargesOf(count: number, figures: ArrayLike<number> | null): Charged[] {
  const charges = new Array<Charged>(count).fill(nothingCharged);
  const end = figures?.length ?? 0;
  for (let at = 0; figures !== null && at < end; at += figuresPerCharge) {
    const place = figureAt(figures, at) - 1;
    charges[place] = { charged: figureAt(figures, at + 1), overrun: figureAt(figures, at + 2) };
  }
  return charges;
}

export function releaseOf(holdId: string): HoldEnd {
  return { id: holdId, charge: null, ending: null, response: null };
}

export function endOf(order: ChargeOrder): HoldEnd {
  const { holdId, record, ending, response } = order;
  return {
    id: holdId,
    charge: {
      id: holdId,
      key: order.keyId,
      opened: order.openedAtMs,
      period: order.periodStartMs,
      cost: order.cost,
      at: order.atMs,
      basis: order.basis,
      outcome: order.outcome,
      list_cost: order.listCostNano,
      model: record?.model ?? order.model,
      provider: record?.provider ?? order.provider,
      ...(record === null ? {} : columnsOf(record)),
    },
    ending: ending && endingOf(ending),
    response: response && responseOf(holdId, response),
  };
}

function columnsOf(record: UsageRecord) {
  const { usage } = record;
  return {
    recorded: record.atMs,
    route: record.route,
    upstream_model: record.upstreamModel,
    stream: record.stream,
    status: record.status,
    uncached: usage.inputTokens,
    cached: usage.cachedInputTokens,
    cache_write: usage.cacheWriteTokens,
    input: totalInput(usage),
    output: usage.outputTokens,
    reasoning: usage.reasoningTokens,
    first_byte: rounded(record.firstByteMs),
    total: rounded(record.totalMs),
    attempts: record.attempts,
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
  };
}

function responseOf(exchangeId: string, response: StoredResponse): Columns {
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

function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms);
}
