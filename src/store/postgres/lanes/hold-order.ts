import { assert } from "../../../base/assert.ts";
import type { HoldDecision, HoldOrder, HoldVerdict } from "../../node.ts";
import { figureAt } from "./figure-at.ts";
import { textField } from "./row-text.ts";

/** A row of `sluice_hold_order`. */
export function orderRow({ holdId, keyId, amount, nowMs, model, askedModel }: HoldOrder): string {
  return `(${textField(holdId)},${textField(keyId)},${amount},${nowMs},${textField(model)},${textField(askedModel)})`;
}

/** By the numbers that `sluice_open_holds` gives, from 1 on. */
const decisions: readonly HoldDecision[] = [
  "held",
  "too_little",
  "reserved",
  "used_up",
  "disabled",
  "suspended",
  "revoked",
  "expired",
];

const figuresPerVerdict = 5;
/** A budget without a limit has so much, in SQL. */
const withoutLimit = 2 ** 62;

const unknownKey: HoldVerdict = { decision: "unknown_key", balance: 0, remaining: 0, periodStartMs: 0 };

/** In the order in which they were asked for. The database says nothing about an order whose key there is not. */
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
  const balance = figureAt(figures, at + 2);
  const isLimited = balance < withoutLimit;
  return {
    decision,
    balance: isLimited ? balance : Number.POSITIVE_INFINITY,
    remaining: isLimited ? Math.max(0, figureAt(figures, at + 3)) : Number.POSITIVE_INFINITY,
    periodStartMs: figureAt(figures, at + 4),
  };
}
