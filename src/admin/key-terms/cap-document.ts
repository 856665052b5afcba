import { creditsFromNano } from "../../base/money/money.ts";
import type { AccountSummary, BoundState } from "../../ledger/accounts.ts";
import { Cap } from "../../ledger/cap.ts";
import type { AccountRecord, CapRecord, CapTotals, KeyMode } from "../../store/store.ts";
import { isoOrNull } from "../moments.ts";
import type { CapView } from "./schema.ts";

/** Credits, or tokens of a budget. */
export function shown(amount: number, mode: KeyMode): number {
  return mode === "credit" ? creditsFromNano(amount) : amount;
}

export function creditDocument({
  purchased,
  used,
  posted,
}: Pick<AccountSummary, "purchased" | "used" | "posted">) {
  return {
    purchased: creditsFromNano(purchased),
    used: creditsFromNano(used),
    balance: creditsFromNano(posted),
  };
}

export function budgetDocument(
  { budgetTokens: tokens, period }: Pick<AccountRecord, "budgetTokens" | "period">,
  used: number,
  endsAtMs: number | null,
) {
  const remaining = tokens === null ? null : Math.max(0, tokens - used);
  return { tokens, period, used, remaining, resets_at: isoOrNull(endsAtMs) };
}

/** A cap as JSON, in credits or tokens. */
export function capDocument(cap: BoundState, mode: KeyMode): CapView {
  const { limit, extra, period, models, used, resetsAtMs } = cap;
  return {
    limit: shown(limit ?? 0, mode),
    raised_by: shown(extra ?? 0, mode),
    period: period ?? "month",
    models,
    used: shown(used, mode),
    resets_at: isoOrNull(resetsAtMs),
  };
}

/** Indexes totals by cap number: an account may have thousands of keys, each with caps. */
export function byNumber(totals: readonly CapTotals[]): ReadonlyMap<number, CapTotals> {
  return new Map(totals.map((each) => [each.no, each]));
}

/** The state of each cap. Amounts of an earlier period do not count. */
export function capStates(
  caps: readonly CapRecord[],
  counted: ReadonlyMap<number, CapTotals>,
  bound: "key_cap" | "account_cap",
  nowMs: number,
): readonly BoundState[] {
  return caps.map((record) => {
    const totals = counted.get(record.no) ?? { periodStartMs: 0, used: 0 };
    return new Cap(record, bound, totals).state(nowMs);
  });
}
