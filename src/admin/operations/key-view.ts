import { creditsFromNano } from "../../base/money.ts";
import { effectiveStatus, type KeyStatus } from "../../keys/status.ts";
import { nextPeriodStart, periodStart } from "../../ledger/period.ts";
import type { AccountTotals, BudgetPeriod, KeyMode, KeyRecord } from "../../store/store.ts";
import type { OperationContext } from "./context.ts";

/** A key as people see it: its derived status, and what its account says. Never its hash. */
export interface KeyView {
  readonly id: string;
  readonly prefix: string;
  readonly label: string | null;
  readonly mode: KeyMode;
  readonly status: KeyStatus;
  readonly scope: string;
  readonly models: readonly string[] | null;
  readonly rpmLimit: number | null;
  readonly createdAtMs: number;
  readonly expiresAtMs: number | null;
  /** Until when the secret before the last rotation works; null when it does not. */
  readonly previousUntilMs: number | null;
  /** Null for token-budget keys. */
  readonly credit: CreditStanding | null;
  /** Null for credit keys. */
  readonly budget: BudgetStanding | null;
  readonly requests: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

interface CreditStanding {
  readonly purchasedNano: number;
  readonly usedNano: number;
  readonly balanceNano: number;
}

interface BudgetStanding {
  /** Null: without limit. */
  readonly tokens: number | null;
  readonly period: BudgetPeriod;
  readonly used: number;
  readonly remaining: number | null;
  /** Null when the budget never starts anew. */
  readonly resetsAtMs: number | null;
}

export async function viewKey({ store, clock }: OperationContext, key: KeyRecord): Promise<KeyView> {
  const totals = await store.readTotals(key.id);
  const nowMs = clock.wallMs();
  const graceLasts = key.previousUntilMs !== null && key.previousUntilMs > nowMs;
  return {
    id: key.id,
    prefix: key.prefix,
    label: key.label,
    mode: key.mode,
    status: effectiveStatus(key, nowMs),
    scope: key.scope,
    models: key.models,
    rpmLimit: key.rpmLimit,
    createdAtMs: key.createdAtMs,
    expiresAtMs: key.expiresAtMs,
    previousUntilMs: graceLasts ? key.previousUntilMs : null,
    credit: key.mode === "credit" ? creditStanding(totals) : null,
    budget: key.mode === "token_budget" ? budgetStanding(key, totals, nowMs) : null,
    requests: totals?.requests ?? 0,
    inputTokens: totals?.inputTokens ?? 0,
    outputTokens: totals?.outputTokens ?? 0,
  };
}

function creditStanding(totals: AccountTotals | null): CreditStanding {
  return {
    purchasedNano: totals?.purchased ?? 0,
    usedNano: totals?.used ?? 0,
    balanceNano: totals?.posted ?? 0,
  };
}

function budgetStanding(key: KeyRecord, totals: AccountTotals | null, nowMs: number): BudgetStanding {
  const start = periodStart(key.period, nowMs);
  // The account remembers its latest period with a charge; in a newer one nothing has been used yet.
  const used = totals !== null && totals.periodStartMs === start ? totals.periodUsed : 0;
  return {
    tokens: key.budgetTokens,
    period: key.period,
    used,
    remaining: key.budgetTokens === null ? null : Math.max(0, key.budgetTokens - used),
    resetsAtMs: nextPeriodStart(key.period, nowMs),
  };
}

/** The view as JSON, in the wire's words and in credits: one form for `--json` and for the admin API. */
export function keyDocument(view: KeyView): Record<string, unknown> {
  return {
    id: view.id,
    prefix: view.prefix,
    label: view.label,
    mode: view.mode,
    status: view.status,
    scope: view.scope,
    models: view.models,
    rpm_limit: view.rpmLimit,
    created_at: iso(view.createdAtMs),
    expires_at: iso(view.expiresAtMs),
    previous_secret_until: iso(view.previousUntilMs),
    credit: view.credit && {
      purchased: creditsFromNano(view.credit.purchasedNano),
      used: creditsFromNano(view.credit.usedNano),
      balance: creditsFromNano(view.credit.balanceNano),
    },
    budget: view.budget && {
      tokens: view.budget.tokens,
      period: view.budget.period,
      used: view.budget.used,
      remaining: view.budget.remaining,
      resets_at: iso(view.budget.resetsAtMs),
    },
    requests: view.requests,
    input_tokens: view.inputTokens,
    output_tokens: view.outputTokens,
  };
}

function iso(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
