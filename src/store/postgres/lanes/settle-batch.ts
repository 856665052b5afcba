import { assert } from "../../../base/assert.ts";
import { totalInput } from "../../../base/usage.ts";
import type { Charged, ChargeOrder } from "../../node.ts";
import type { ExchangeEnding, StoredResponse, UsageRecord } from "../../records.ts";
import type { Query } from "../client.ts";
import { storableJson } from "../text.ts";
import { figureAt } from "./figure-at.ts";

/** What ends a hold, as the database takes it. Plain JSON, because it may have to be kept in a file. */
export interface HoldEnd {
  readonly id: string;
  /** Null for a release. */
  readonly charge: Numbered | null;
  readonly ending: Numbered | null;
  readonly response: Numbered | null;
}

/** What holds have produced so far. May be added to until it is first sent. */
export interface ProgressNotes {
  readonly kind: "progress";
  readonly notes: ReadonlyMap<string, number>;
}

export type SettleItem = ({ readonly kind: "end" } & HoldEnd) | ProgressNotes;

/** `n` is its place in the batch, from 1 on; set when the batch is put together. */
interface Numbered {
  n: number;
  readonly [name: string]: string | number | boolean | null;
}

interface SettleRow {
  readonly charges: ArrayLike<number>;
  readonly overruns: ArrayLike<number>;
}

/** For progress and releases, which charge nothing. */
const nothing: Charged = { charged: 0, overrun: 0 };

export async function sendEnds(
  query: Query,
  [node, lane, sequence]: readonly [number, number, number],
  items: readonly SettleItem[],
): Promise<readonly Charged[]> {
  const ends = items.filter((item) => item.kind === "end");
  const notes = items.flatMap((item) => (item.kind === "progress" ? [...item.notes] : []));
  const [row] = await query<SettleRow>(
    `SELECT charges, overruns FROM sluice_settle($1, $2, $3, $4::text[], $5::text::json, $6::text::json, $7::text::json,
      $8::text[], $9::int8[])`,
    [
      node,
      lane,
      sequence,
      ends.map(({ id }) => id),
      storableJson(ends.map(({ id, charge }, index) => numbered(charge ?? { n: 0, id }, index))),
      jsonOf(ends.map(({ ending }, index) => ending && numbered(ending, index))),
      jsonOf(ends.map(({ response }) => response)),
      notes.map(([id]) => id),
      notes.map(([, chargeSoFar]) => chargeSoFar),
    ],
  );
  assert(row !== undefined, "sluice_settle returns a row");
  const { charges, overruns } = row;
  let place = 0;
  return items.map((item) => {
    if (item.kind === "progress") return nothing;
    const charged = { charged: figureAt(charges, place), overrun: figureAt(overruns, place) };
    place += 1;
    return charged;
  });
}

function numbered(object: Numbered, index: number): Numbered {
  object.n = index + 1;
  return object;
}

/** Null if there is none, as in nearly all batches. */
function jsonOf(objects: readonly (Numbered | null)[]): string | null {
  const present = objects.filter((object) => object !== null);
  return present.length === 0 ? null : storableJson(present);
}

export function releaseOf(holdId: string): SettleItem {
  return { kind: "end", id: holdId, charge: null, ending: null, response: null };
}

export function endOf(order: ChargeOrder): SettleItem & { kind: "end" } {
  const { holdId, record, ending, response } = order;
  return {
    kind: "end",
    id: holdId,
    charge: {
      n: 0,
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

function endingOf(ending: ExchangeEnding): Numbered {
  return {
    n: 0,
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

function responseOf(exchangeId: string, response: StoredResponse): Numbered {
  return {
    n: 0,
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
