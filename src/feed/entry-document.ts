import { createHash } from "node:crypto";
import { exactCredits } from "../base/money/money.ts";
import { readRates, unitsOf } from "../base/money/rates.ts";
import { type RatesInUsd, ratesInUsd } from "../base/money/rates-in-usd.ts";
import { readLabels } from "../base/requests/labels.ts";
import type { Entry, FeedEntry } from "../store/store.ts";

/** An entry as readers get it. Amounts are text, because many readers turn JSON numbers into binary fractions. */
export interface FeedDocument {
  readonly id: number;
  readonly cursor: string;
  readonly at: string;
  readonly kind: FeedEntry["kind"];
  readonly amount: string;
  readonly unit: "credits" | "tokens";
  readonly credits: string | null;
  readonly account_id: string;
  readonly account_label: string | null;
  readonly key_id: string | null;
  readonly key_label: string | null;
  readonly owner: string | null;
  readonly user: string | null;
  readonly tags: Record<string, string>;
  readonly request_id: string | null;
  readonly model: string | null;
  readonly requested_model: string | null;
  readonly provider: string | null;
  readonly basis: FeedEntry["basis"];
  readonly outcome: FeedEntry["outcome"];
  readonly period_start: string | null;
  readonly quantities: Record<string, number> | null;
  readonly units: { readonly kind: string; readonly amount: number } | null;
  readonly rates: RatesInUsd | null;
  readonly list_cost: string | null;
  readonly reference: string | null;
  readonly note: string | null;
  readonly hash: string | null;
}

export function feedDocument(entry: FeedEntry): FeedDocument {
  const { quantities, model } = entry;
  const isCredit = entry.mode === "credit";
  const amount = isCredit ? exactCredits(entry.amount) : String(entry.amount);
  const { owner, user, tags, fallbackFrom, steppedDownFrom } = readLabels(entry.labels);
  return {
    id: entry.id,
    cursor: cursorOf(entry),
    at: new Date(entry.atMs).toISOString(),
    kind: entry.kind,
    amount,
    unit: isCredit ? "credits" : "tokens",
    credits: isCredit ? amount : null,
    account_id: entry.accountId,
    account_label: entry.accountLabel,
    key_id: entry.keyId,
    key_label: entry.keyLabel,
    owner,
    user,
    tags: { ...tags },
    request_id: entry.exchangeId,
    model,
    requested_model: entry.requestedModel ?? steppedDownFrom ?? fallbackFrom ?? model,
    provider: entry.provider,
    basis: entry.basis,
    outcome: entry.outcome,
    period_start: entry.periodStartMs === 0 ? null : new Date(entry.periodStartMs).toISOString(),
    quantities: quantities === null ? null : { ...quantities },
    units: quantities === null ? null : unitsOf(quantities),
    rates: entry.rates === null ? null : ratesInUsd(readRates(entry.rates)),
    list_cost: entry.listCostNano === null ? null : exactCredits(entry.listCostNano),
    reference: entry.reference,
    note: entry.note,
    hash: entry.hash,
  };
}

/**
 * A place in the feed: an entry's id, and a hash of what never changes about it, which covers what its account had before, too. So a cursor stays valid in a copy of the
 * database, and in a restored one that still has the entry. It is invalid where the id belongs to another entry.
 */
export function cursorOf(entry: ChainedFeedEntry): string {
  return `${entry.id}.${(entry.hash ?? hashOf(entry)).slice(0, hashLength)}`;
}

/** Whether a cursor is this entry's. During an upgrade the older gateways form cursors without the entry's hash. */
export function isCursorOf(cursor: string, entry: ChainedFeedEntry): boolean {
  return cursor === cursorOf(entry) || cursor === cursorOf({ ...entry, hash: null });
}

/** An entry with its whole hash, as statements show it; null if it is from before the chain. */
export function entryText({ id, hash }: Pick<ChainedFeedEntry, "id" | "hash">): string | null {
  return hash === null ? null : `${id}.${hash}`;
}

type ChainedFeedEntry = Entry & Pick<FeedEntry, "hash">;

const hashLength = 16;

export const cursorPattern = "^[1-9]\\d{0,14}\\.[\\w-]{16}$";

/** The id in a cursor that has the right form. */
export function entryIdOf(cursor: string): number {
  return Number.parseInt(cursor, 10);
}

/** For an entry from before the chain. */
function hashOf({ id, accountId, keyId, kind, amount, atMs, exchangeId }: Entry): string {
  const facts = JSON.stringify([id, accountId, keyId, kind, amount, atMs, exchangeId]);
  return createHash("sha256").update(facts).digest("base64url");
}
