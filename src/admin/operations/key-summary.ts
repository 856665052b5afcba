import { assert } from "../../base/assert.ts";
import { dateOfDay } from "../../base/clock.ts";
import { attributesOf, type KeyAttributes } from "../../base/key-attributes.ts";
import { creditsFromNano } from "../../base/money.ts";
import { effectiveStatus, type KeyStatus } from "../../keys/status.ts";
import type { AccountSummary } from "../../ledger/accounts.ts";
import { nextPeriodStart, periodStart } from "../../ledger/period.ts";
import { type BudgetPeriod, emptyTotals, type KeyRecord } from "../../store/store.ts";
import { iso, isoOrNull } from "../iso-time.ts";
import type { KeyView } from "../views.ts";
import type { OperationContext } from "./context.ts";
import { attributeDocument } from "./key-document.ts";

/** What the command line and the admin API show of a key: its derived status and its account. Never its hash. */
export interface KeySummary
  extends KeyAttributes,
    Pick<KeyRecord, "id" | "accountId" | "prefix" | "mode" | "createdAtMs"> {
  readonly status: KeyStatus;
  /** Until when the secret before the last rotation works; null if it does not. */
  readonly previousUntilMs: number | null;
  /** Null for token-budget keys. */
  readonly credit: CreditSummary | null;
  /** Null for credit keys. */
  readonly budget: BudgetSummary | null;
  readonly requests: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** The last day on which it was used, in days since 1970; null if it never was. */
  readonly lastUsedDay: number | null;
}

interface CreditSummary {
  readonly purchasedNano: number;
  readonly usedNano: number;
  readonly balanceNano: number;
}

interface BudgetSummary {
  /** Null if there is no limit. */
  readonly tokens: number | null;
  readonly period: BudgetPeriod;
  readonly used: number;
  readonly remaining: number | null;
  /** Null if the budget is never reset. */
  readonly resetsAtMs: number | null;
}

/** The part of an account that a summary shows. */
type KeyAccount = Pick<
  AccountSummary,
  | "purchased"
  | "used"
  | "posted"
  | "budgetTokens"
  | "budgetUsed"
  | "budgetRemaining"
  | "periodEndsMs"
  | "requests"
  | "inputTokens"
  | "outputTokens"
>;

export function summarizeKey(
  key: KeyRecord,
  account: KeyAccount,
  nowMs: number,
  lastUsedDay: number | null,
): KeySummary {
  const isCredit = key.mode === "credit";
  const graceLasts = key.previousUntilMs !== null && key.previousUntilMs > nowMs;
  return {
    ...attributesOf(key),
    id: key.id,
    accountId: key.accountId,
    prefix: key.prefix,
    mode: key.mode,
    status: effectiveStatus(key, nowMs),
    createdAtMs: key.createdAtMs,
    previousUntilMs: graceLasts ? key.previousUntilMs : null,
    credit: isCredit
      ? { purchasedNano: account.purchased, usedNano: account.used, balanceNano: account.posted }
      : null,
    budget: isCredit
      ? null
      : {
          tokens: account.budgetTokens,
          period: key.period,
          used: account.budgetUsed,
          remaining: account.budgetRemaining,
          resetsAtMs: account.periodEndsMs,
        },
    requests: account.requests,
    inputTokens: account.inputTokens,
    outputTokens: account.outputTokens,
    lastUsedDay,
  };
}

/** Summarizes a key from the store, for callers that have no ledger in memory. */
export async function readKeySummary(context: OperationContext, key: KeyRecord): Promise<KeySummary> {
  const [summary] = await readKeySummaries(context, [key]);
  assert(summary !== undefined, "every key has a summary");
  return summary;
}

export async function readKeySummaries(
  context: OperationContext,
  keys: readonly KeyRecord[],
): Promise<KeySummary[]> {
  const lastDays = await context.store.reports.keyLastDays(keys.map(({ id }) => id));
  const summaries: KeySummary[] = [];
  for (const key of keys) summaries.push(await summaryFrom(context, key, lastDays.get(key.id) ?? null));
  return summaries;
}

async function summaryFrom(
  { store, clock }: OperationContext,
  key: KeyRecord,
  lastUsedDay: number | null,
): Promise<KeySummary> {
  const totals = (await store.readTotals(key.id)) ?? emptyTotals(key.id);
  const nowMs = clock.wallMs();
  // The account remembers its latest period with a charge; in a newer one nothing has been used yet. A period that was made
  // longer since began before that, and what was used counts on.
  const budgetUsed = totals.periodStartMs >= periodStart(key.period, nowMs) ? totals.periodUsed : 0;
  const account = {
    ...totals,
    budgetTokens: key.budgetTokens,
    budgetUsed,
    budgetRemaining: key.budgetTokens === null ? null : Math.max(0, key.budgetTokens - budgetUsed),
    periodEndsMs: nextPeriodStart(key.period, nowMs),
  };
  return summarizeKey(key, account, nowMs, lastUsedDay);
}

/** The summary as JSON, with the wire's names and in credits. Only a running gateway knows what is held. */
export function keyDocument(summary: KeySummary): Omit<KeyView, "held"> {
  const { credit, budget } = summary;
  return {
    id: summary.id,
    account: summary.accountId,
    prefix: summary.prefix,
    mode: summary.mode,
    status: summary.status,
    ...attributeDocument(summary),
    created_at: iso(summary.createdAtMs),
    previous_secret_until: isoOrNull(summary.previousUntilMs),
    credit: credit && {
      purchased: creditsFromNano(credit.purchasedNano),
      used: creditsFromNano(credit.usedNano),
      balance: creditsFromNano(credit.balanceNano),
    },
    budget: budget && {
      tokens: budget.tokens,
      period: budget.period,
      used: budget.used,
      remaining: budget.remaining,
      resets_at: isoOrNull(budget.resetsAtMs),
    },
    requests: summary.requests,
    input_tokens: summary.inputTokens,
    output_tokens: summary.outputTokens,
    last_used_on: summary.lastUsedDay === null ? null : dateOfDay(summary.lastUsedDay),
  };
}
