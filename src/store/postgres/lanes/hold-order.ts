import { assert } from "../../../base/assert.ts";
import type { HoldDecision, HoldOrder, HoldVerdict, VerdictBound } from "../../node.ts";
import type { BudgetPeriod } from "../../records.ts";
import { figureAt } from "./figure-at.ts";
import { rowText } from "./row-text.ts";

/** A row of `sluice_hold_order`. */
export function orderRow({ holdId, keyId, amount, nowMs, model, askedModel, labels }: HoldOrder): string {
  return rowText([holdId, keyId, amount, nowMs, model, askedModel, labels]);
}

/** Indexed by the number that `sluice_open_holds` returns, minus 1. */
const decisions: readonly HoldDecision[] = [
  "held",
  "too_little",
  "reserved",
  "used_up",
  "disabled",
  "suspended",
  "revoked",
  "expired",
  "closed",
  "too_many",
];

const periods: readonly BudgetPeriod[] = ["none", "day", "week", "month"];

const figuresPerVerdict = 14;
/** What SQL uses for a budget without a limit. */
const withoutLimit = 2 ** 62;

const unknownKey: HoldVerdict = {
  decision: "unknown_key",
  balance: 0,
  remaining: 0,
  periodStartMs: 0,
  countedAtMs: 0,
  accountNo: 0,
  openedAtMs: 0,
  bound: { kind: "balance", capNo: 0, period: "none", limit: null, used: 0, periodStartMs: 0 },
};

/** In the order of the requests. The database returns nothing for an unknown key. */
export function verdictsOf(count: number, figures: ArrayLike<number> | null): HoldVerdict[] {
  const verdicts = new Array<HoldVerdict>(count).fill(unknownKey);
  const end = figures?.length ?? 0;
  for (let at = 0; figures !== null && at < end; at += figuresPerVerdict) {
    verdicts[figureAt(figures, at) - 1] = verdictAt(figures, at);
  }
  return verdicts;
}

function verdictAt(figures: ArrayLike<number>, at: number): HoldVerdict {
  const decision = decisions[figureAt(figures, at + 1) - 1];
  assert(decision !== undefined, "a verdict of sluice_open_holds has a name");
  return {
    decision,
    balance: limited(figureAt(figures, at + 2)),
    remaining: Math.max(0, limited(figureAt(figures, at + 3))),
    periodStartMs: figureAt(figures, at + 4),
    countedAtMs: figureAt(figures, at + 5),
    accountNo: figureAt(figures, at + 6),
    openedAtMs: figureAt(figures, at + 7),
    bound: boundAt(figures, at + 8),
  };
}

/** Amounts near the marker mean "no limit": holds may have been subtracted from it. */
function limited(figure: number): number {
  return figure < withoutLimit / 2 ? figure : Number.POSITIVE_INFINITY;
}

function boundAt(figures: ArrayLike<number>, at: number): VerdictBound {
  const limit = figureAt(figures, at + 1);
  const period = periods[figureAt(figures, at + 3)];
  assert(period !== undefined, "a period of sluice_open_holds has a name");
  const own = limit < 0 ? "balance" : "budget";
  return {
    kind: ([own, "key_cap", "account_cap"] as const)[figureAt(figures, at)] ?? own,
    capNo: figureAt(figures, at + 5),
    period,
    limit: limit < 0 ? null : limit,
    used: figureAt(figures, at + 2),
    periodStartMs: figureAt(figures, at + 4),
  };
}
