import type { StoredRates } from "../../../base/money/rates.ts";
import type { HoldOrder, HoldVerdict, ProducedSoFar } from "../../node.ts";
import type { BatchDecision, BatchReply, EndResult, LockedRows, MoneyRules } from "../../shared-batch.ts";
import type { PostgresClient } from "../client.ts";
import { storableJson, storableText } from "../text.ts";
import { attemptRow, endingRows, holdRow, progressRow } from "./batch-rows.ts";
import { type ChainedBatch, chainBatch } from "./chain-batch.ts";
import { RejectedBatch } from "./failure.ts";
import type { HoldEnd } from "./hold-end.ts";

/** The progress of holds. Can be added to until it is first sent. */
export interface HoldProgressItem {
  readonly kind: "progress";
  readonly notes: ReadonlyMap<string, ProducedSoFar>;
}

export type MoneyItem =
  | { readonly kind: "hold"; readonly order: HoldOrder }
  | { readonly kind: "end"; readonly end: HoldEnd }
  | HoldProgressItem;

export type MoneyResponse = HoldVerdict | EndResult;

/** The number of a batch. A takeover has none: repeating it changes nothing. */
export type BatchNumber = readonly [node: number, lane: number | null, sequence: number];

export interface MoneyConnection {
  readonly client: Pick<PostgresClient, "script">;
  readonly rules: Pick<MoneyRules, "decide">;
}

export const nothingCharged: EndResult = { charged: 0, overrun: 0 };
const defaultLockMs = 500;

interface Batch {
  readonly number: BatchNumber;
  readonly ends: readonly HoldEnd[];
  readonly orders: readonly HoldOrder[];
  readonly notes: readonly (readonly [string, ProducedSoFar])[];
}

/**
 * One transaction of two round trips: the first locks and reads the rows that the batch needs, the second writes the
 * decisions. Ends holds before opening others, so that these can use the released amounts. Waits for locked accounts up
 * to `lockMs`.
 */
export async function sendMoney(
  { client, rules }: MoneyConnection,
  number: BatchNumber,
  items: readonly MoneyItem[],
  lockMs = defaultLockMs,
): Promise<readonly MoneyResponse[]> {
  const batch = batchOf(number, items);
  try {
    const read = await lock(client, batch, lockMs);
    if ("charges" in read) {
      await client.script("ROLLBACK");
      return answersOf(items, read);
    }
    const decision = decide(rules, read, batch);
    const chained = await chainBatch(client, read, decision);
    await client.script(`${writing(read.transaction, batch, decision, chained)}; COMMIT`);
    return answersOf(items, decision.reply);
  } catch (error) {
    // The transaction may still be open. If its connection is gone, so is the transaction.
    await client.script("ROLLBACK").catch(() => {});
    throw error;
  }
}

function batchOf(number: BatchNumber, items: readonly MoneyItem[]): Batch {
  const ends: HoldEnd[] = [];
  const orders: HoldOrder[] = [];
  const notes: (readonly [string, ProducedSoFar])[] = [];
  for (const item of items) {
    if (item.kind === "hold") orders.push(item.order);
    else if (item.kind === "end") ends.push(item.end);
    else notes.push(...item.notes);
  }
  if (new Set(ends.map(({ id }) => id)).size < ends.length) {
    throw new RejectedBatch("A hold is ended twice in one batch.");
  }
  return { number, ends, orders, notes };
}

async function lock(
  client: MoneyConnection["client"],
  { number: [node, lane, sequence], ends, orders }: Batch,
  lockMs: number,
): Promise<LockedRows | BatchReply> {
  const orderKeys = new Set(orders.map(({ keyId }) => keyId));
  const replaced = orders.filter(({ replaces }) => replaces === true);
  const responses = ends.flatMap(({ response }) => response ?? []);
  const claims = responses.map(({ id, key, route, idempotency_key, body_hash }) => ({
    id,
    key,
    route,
    idempotency_key,
    body_hash,
  }));
  const call = functionCall("sluice_lock_batch", {
    p_node: node,
    p_lane: lane,
    p_seq: sequence,
    p_lock_ms: lockMs,
    p_ends: arrayText([...ends.map(({ id }) => id), ...replaced.map(({ holdId }) => holdId)]),
    p_accounts: arrayText([
      ...ends.map(({ charge }) => charge?.accountNo ?? null),
      ...replaced.map(() => null),
    ]),
    p_orders: arrayText([...orderKeys]),
    p_keys: arrayText([...new Set([...orderKeys, ...ends.map(({ key }) => key)])]),
    p_claims: jsonText(claims),
  });
  const labels = [
    ...orders.map((order) => order.labels),
    ...ends.map(({ charge }) => charge?.labels ?? null),
  ];
  const kept = [...new Set(labels)].filter((text) => text !== null);
  const [row] = await client.script<{ reply: string }>(
    `BEGIN; SELECT sluice_lock_values(${call}, ${literal(arrayText(kept) ?? "{}")}) AS reply`,
  );
  // Safe cast: one of the two forms of the function's reply.
  const read = JSON.parse(row?.reply ?? "") as LockedRows | BatchReply;
  return "charges" in read ? revived(read) : read;
}

function decide(rules: MoneyConnection["rules"], rows: LockedRows, { ends, orders }: Batch): BatchDecision {
  const locked = new Set(rows.accounts.map(({ no }) => no));
  const ordered = new Set(orders.map(({ keyId }) => keyId));
  const moved = rows.keys.find(({ id, accountNo }) => ordered.has(id) && !locked.has(accountNo));
  if (moved !== undefined) throw new Error(`Key ${moved.id} was just moved to a different account.`);
  try {
    return rules.decide(rows, ends, orders);
  } catch (cause) {
    throw new RejectedBatch(String(cause), { cause });
  }
}

/** The statement that writes a decision. It fails in any other transaction than the one that has the locks. */
function writing(
  transaction: string,
  { number: [node, lane, sequence], ends, notes }: Batch,
  decision: BatchDecision,
  { accounts, entries }: ChainedBatch,
): string {
  const call = functionCall("sluice_write_batch", {
    p_transaction: transaction,
    p_node: node,
    p_lane: lane,
    p_seq: sequence,
    p_reply: storableJson(decision.reply),
    p_responses: jsonText(ends.flatMap(({ response }) => response ?? [])),
    p_turns: jsonText(ends.flatMap(({ turns = [] }) => turns)),
    p_ended: arrayText(decision.ended),
    p_accounts: jsonText(accounts),
    p_keys: jsonText(decision.keys),
    p_caps: jsonText(decision.caps),
    p_entries: jsonText(entries),
    p_endings: jsonText(decision.charges.flatMap(endingRows)),
    p_progress: jsonText(notes.map(progressRow)),
    p_opened: jsonText(decision.opened.map(holdRow)),
    p_attempts: jsonText(decision.attempts.map(attemptRow)),
  });
  const { capValues } = decision;
  if (capValues.length === 0) return `SELECT ${call}`;
  return `SELECT ${call}; SELECT sluice_write_values(${literal(storableJson(capValues))})`;
}

function answersOf(items: readonly MoneyItem[], { charges, verdicts }: BatchReply): readonly MoneyResponse[] {
  let [nextCharge, nextVerdict] = [0, 0];
  return items.map(({ kind }) => {
    if (kind === "progress") return nothingCharged;
    // Safe casts: there is a result for each end and each order.
    return kind === "hold" ? (verdicts[nextVerdict++] as HoldVerdict) : (charges[nextCharge++] as EndResult);
  });
}

/** JSON has no infinity. */
function revived({ charges, verdicts }: BatchReply): BatchReply {
  const revive = (verdict: HoldVerdict): HoldVerdict =>
    verdict.decision === "held"
      ? { ...verdict, remaining: verdict.remaining ?? Number.POSITIVE_INFINITY }
      : verdict;
  return { charges, verdicts: verdicts.map(revive) };
}

/** Null if there are none, as in nearly all batches. */
function jsonText(rows: readonly object[]): string | null {
  return rows.length === 0 ? null : storableJson(rows);
}

/** The text of an array. */
function arrayText(values: readonly (string | number | null)[]): string | null {
  return values.length === 0 ? null : `{${values.map((value) => JSON.stringify(value)).join(",")}}`;
}

/** With its arguments in the text: two statements in one round trip take no parameters. */
function functionCall(name: string, args: Readonly<Record<string, string | number | null>>): string {
  const given = Object.entries(args).filter(([, value]) => value !== null);
  return `${name}(${given.map(([argument, value]) => `${argument} => ${literal(value)}`).join(", ")})`;
}

function literal(value: string | number | null): string {
  if (typeof value !== "string") return String(value);
  const quoted = `'${storableText(value).replaceAll("'", "''")}'`;
  // Right whatever `standard_conforming_strings` is.
  return quoted.includes("\\") ? `E${quoted.replaceAll("\\", "\\\\")}` : quoted;
}

/** The rates that a batch refers to. */
export function ratesIn(items: readonly MoneyItem[]): readonly StoredRates[] {
  const all: StoredRates[] = [];
  for (const item of items) {
    if (item.kind === "progress") for (const { rates } of item.notes.values()) all.push(rates);
    else if (item.kind === "end" && item.end.charge?.rates != null) all.push(item.end.charge.rates);
  }
  return all;
}
