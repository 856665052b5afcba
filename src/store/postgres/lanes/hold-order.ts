import { assert } from "../../../base/assert.ts";
import type { HoldDecision, HoldOrder, HoldVerdict, VerdictBound } from "../../node.ts";
import type { BudgetPeriod } from "../../records.ts";
import { numberAt } from "./number-at.ts";
import { rowText } from "./row-text.ts";

/** A row of `sluice_hold_order`. */
export function orderRow({ holdId, keyId, amount, nowMs, model, requestedModel, labels }: HoldOrder): string {
  return rowText([holdId, keyId, amount, nowMs, model, requestedModel, labels]);
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

const numbersPerVerdict = 14;
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
export function verdictsOf(count: number, numbers: ArrayLike<number> | null): HoldVerdict[] {
  const verdicts = new Array<HoldVerdict>(count).fill(unknownKey);
  const end = numbers?.length ?? 0;
  for (let at = 0; numbers !== null && at < end; at += numbersPerVerdict) {
    verdicts[numberAt(numbers, at) - 1] = verdictAt(numbers, at);
  }
  return verdicts;
}

function verdictAt(numbers: ArrayLike<number>, at: number): HoldVerdict {
  const decision = decisions[numberAt(numbers, at + 1) - 1];
  assert(decision !== undefined, "a verdict of sluice_open_holds has a name");
  return {
    decision,
    balance: limited(numberAt(numbers, at + 2)),
    remaining: Math.max(0, limited(numberAt(numbers, at + 3))),
    periodStartMs: numberAt(numbers, at + 4),
    countedAtMs: numberAt(numbers, at + 5),
    accountNo: numberAt(numbers, at + 6),
    openedAtMs: numberAt(numbers, at + 7),
    bound: boundAt(numbers, at + 8),
  };
}

/** Amounts near the marker mean "no limit": holds may have been subtracted from it. */
function limited(amount: number): number {
  return amount < withoutLimit / 2 ? amount : Number.POSITIVE_INFINITY;
}

function boundAt(numbers: ArrayLike<number>, at: number): VerdictBound {
  const limit = numberAt(numbers, at + 1);
  const period = periods[numberAt(numbers, at + 3)];
  assert(period !== undefined, "a period of sluice_open_holds has a name");
  const own = limit < 0 ? "balance" : "budget";
  return {
    kind: ([own, "key_cap", "account_cap"] as const)[numberAt(numbers, at)] ?? own,
    capNo: numberAt(numbers, at + 5),
    period,
    limit: limit < 0 ? null : limit,
    used: numberAt(numbers, at + 2),
    periodStartMs: numberAt(numbers, at + 4),
  };
}
